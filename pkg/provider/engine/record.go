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

// record is the in-memory state of one object. An empty state is removed. A virtual machine that matches its desired
// state needs none.
type record struct {
	// uid is the UID of the object. The state does not apply to another object of the same name.
	uid types.UID
	// running is the operation that runs.
	running *running
	// last are the outcomes of earlier operations by kind, since a reconcile had nothing to do. It is replaced, never
	// modified.
	last plan.Outcomes
	// recorded is the time when a reconfiguration last wrote the object record. It is cleared when it is older than
	// RecordPause.
	recorded time.Time
	// checked is the last result of the prerequisite checks. It is cleared after it was written to status.
	checked *checked
	// absent is what is known about a missing virtual machine.
	absent *absence
	// gone is true after a deletion has ended, until a reconcile has seen it.
	gone bool
	// published is the item that was created for a publish request, until a reconcile has seen it.
	published *provider.Published
	// awaits is true if the object needs an event after the hypervisor is read.
	awaits bool
}

// running is a running operation.
type running struct {
	// of and uid are the key and the UID of the object for which the operation runs.
	of  provider.Key
	uid types.UID
	op  driver.Operation
	// fingerprint of op.
	fingerprint uint64
	// records is true if op writes the object record.
	records bool
	// interrupt cancels the operation.
	interrupt context.CancelCauseFunc
	// progress is the progress in percent.
	progress int32
}

// absence is what is known about a missing virtual machine.
type absence struct {
	// since is when a reconcile first found it missing.
	since time.Time
	// proved is the time of the last search in the hypervisor; zero if there was none.
	proved time.Time
	// destroyed is true if the hypervisor reports that it was destroyed. needsEnd is true if the search included that
	// question.
	destroyed, needsEnd bool
	// copies are the copies that were known at the time of the search. elsewhere describes a copy in another
	// hypervisor.
	copies    []string
	elsewhere string
}

func (r *record) empty() bool {
	return r.running == nil && r.last == nil && r.recorded.IsZero() && r.checked == nil && r.absent == nil && !r.gone && r.published == nil && !r.awaits
}

// snapshot returns a copy of an object's state. It removes the state of an earlier object of the same name.
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

// change calls f with the object's state if it still belongs to the same UID.
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

// tidy removes an empty state. The caller holds the lock.
func (e *Engine) tidy(key provider.Key, rec *record) {
	if rec.empty() {
		delete(e.records, key)
	}
}

// await records that an object needs an event after the hypervisor is read.
func (e *Engine) await(key provider.Key, uid types.UID) {
	e.change(key, uid, func(r *record) { r.awaits = true })
	if e.driver.Synced() && e.Unreachable() == nil {
		e.wakeAwaiting() // the read ended in the meantime
	}
}

// forget removes the state of a deleted object. A running operation continues.
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
