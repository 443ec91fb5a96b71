// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/engine/plan"
)

// record is all that is remembered of one object. One that holds nothing is dropped:
// a virtual machine that is as desired needs none.
type record struct {
	// uid is that of the object; what is known of an earlier one of the name says
	// nothing about a later one.
	uid types.UID
	// running is the operation that runs.
	running *running
	// last is how operations ended, by kind, since there was nothing to do. It is
	// replaced and never changed.
	last plan.Outcomes
	// recorded is when a reconfiguration last wrote the record of the object, until a pass
	// finds that long ago.
	recorded time.Time
	// checked is what was found out about prerequisites, until a status has it.
	checked *checked
	// absent is what is known of a virtual machine that is not shown.
	absent *absence
	// gone: a deletion has ended, and no pass has seen it yet.
	gone bool
	// published is what was made for a request to publish, until a pass has seen it.
	published *provider.Published
	// awaits: the object wants a hint when the hypervisor was read.
	awaits bool
}

// running is an operation under way.
type running struct {
	// of is the object that it runs for, with its UID.
	of  provider.Key
	uid types.UID
	op  driver.Operation
	// fingerprint of op.
	fingerprint uint64
	// records: op writes the record.
	records bool
	// interrupt ends it.
	interrupt context.CancelCauseFunc
	// progress is how far it has come, in percent.
	progress int32
}

// absence is what is known of a virtual machine that is not shown.
type absence struct {
	// since is when a pass first missed it.
	since time.Time
	// proved is when the hypervisor itself last said so, zero if it never did.
	proved time.Time
	// destroyed is true when the hypervisor knows of its end, needsEnd when it was asked for it.
	destroyed, needsEnd bool
	// copies are those that memory had when the hypervisor was asked, and elsewhere is one in
	// another hypervisor.
	copies    []string
	elsewhere string
}

func (r *record) empty() bool {
	return r.running == nil && r.last == nil && r.recorded.IsZero() && r.checked == nil && r.absent == nil && !r.gone && r.published == nil && !r.awaits
}

// snapshot returns a copy of the record of an object, and forgets what is known of an
// earlier one of its name.
func (e *Engine) snapshot(key provider.Key, uid types.UID) record {
	e.mu.Lock()
	defer e.mu.Unlock()
	rec := e.records[key]
	if rec == nil {
		return record{uid: uid}
	}
	if rec.uid != uid {
		*rec = record{uid: uid, running: rec.running}
		e.tidy(key, rec)
	}
	return *rec
}

// change changes the record of an object, if it is still the object's.
func (e *Engine) change(key provider.Key, uid types.UID, f func(*record)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	rec := e.records[key]
	if rec == nil {
		rec = &record{uid: uid}
		e.records[key] = rec
	}
	if rec.uid == uid {
		f(rec)
	}
	e.tidy(key, rec)
}

// tidy drops a record that holds nothing. The caller holds the lock.
func (e *Engine) tidy(key provider.Key, rec *record) {
	if rec.empty() {
		delete(e.records, key)
	}
}

// await remembers that an object wants a hint when the hypervisor was read.
func (e *Engine) await(key provider.Key, uid types.UID) {
	e.change(key, uid, func(r *record) { r.awaits = true })
	if e.driver.Synced() && e.Unreachable() == nil {
		e.wakeAwaiting() // It was read in between.
	}
}

// forget drops what is known of an object that is gone. What runs goes on.
func (e *Engine) forget(key provider.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if rec := e.records[key]; rec != nil {
		*rec = record{uid: rec.uid, running: rec.running}
		e.tidy(key, rec)
	}
	e.brake.found(key)
	for _, p := range e.places {
		p.line.Remove(key)
		e.offer(p.decline(key, e.opts.Now()))
	}
}
