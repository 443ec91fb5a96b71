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

// objectState is the in-memory state of one object. An empty state is removed. A virtual machine that matches its
// desired state needs none.
type objectState struct {
	// uid is the UID of the object. The state does not apply to another object of the same name.
	uid types.UID
	// running is the operation that runs.
	running *running
	// outcomes are the outcomes of the operations since the last reconcile that had nothing to do. It is replaced,
	// never modified.
	outcomes plan.Outcomes
	// recordedAt is the time when a reconfiguration last wrote the object record. It is cleared when it is older than
	// RecordPause.
	recordedAt time.Time
	// lastCheck is the last result of the prerequisite checks. It is cleared after it was written to status.
	lastCheck *checkResult
	// absence is set while the virtual machine is missing.
	absence *absence
	// deleted is true after a deletion has ended, until a reconcile has read it.
	deleted bool
	// published is the item that was created for a publish request, until a reconcile has read it.
	published *provider.Published
	// awaitsRead is true if the object needs an event after the hypervisor is read.
	awaitsRead bool
}

// running is a running operation.
type running struct {
	// owner and uid are the key and the UID of the object for which the operation runs.
	owner provider.Key
	uid   types.UID
	op    driver.Operation
	// fingerprint of op.
	fingerprint uint64
	// writesRecord is true if op writes the object record.
	writesRecord bool
	// interrupt cancels the operation.
	interrupt context.CancelCauseFunc
	// progress is the progress in percent.
	progress int32
}

// absence is the state of a missing virtual machine.
type absence struct {
	// since is when a reconcile first found the virtual machine missing.
	since time.Time
	// searchedAt is the time of the last search in the hypervisor; zero if there was none.
	searchedAt time.Time
	// destroyed is true if the hypervisor reports that the virtual machine was destroyed. needsEnd is true if the
	// search has checked this.
	destroyed, needsEnd bool
	// copies are the copies that were known at the time of the search. elsewhere describes a copy in another
	// hypervisor.
	copies    []string
	elsewhere string
}

func (r *objectState) isEmpty() bool {
	return r.running == nil && r.outcomes == nil && r.recordedAt.IsZero() && r.lastCheck == nil && r.absence == nil && !r.deleted && r.published == nil && !r.awaitsRead
}

// stateOf returns a copy of an object's state. It removes the state of an earlier object of the same name.
func (e *Engine) stateOf(key provider.Key, uid types.UID) objectState {
	e.mu.Lock()
	defer e.mu.Unlock()
	rec := e.states[key]
	if rec == nil {
		return objectState{uid: uid}
	}
	if rec.uid != uid {
		*rec = objectState{uid: uid, running: rec.running}
		e.dropIfEmpty(key, rec)
	}
	return *rec
}

// updateState calls f with the object's state if it still belongs to the same UID.
func (e *Engine) updateState(key provider.Key, uid types.UID, f func(*objectState)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	rec := e.states[key]
	if rec == nil {
		rec = &objectState{uid: uid}
		e.states[key] = rec
	}
	if rec.uid == uid {
		f(rec)
	}
	e.dropIfEmpty(key, rec)
}

// dropIfEmpty removes an empty state. The caller holds the lock.
func (e *Engine) dropIfEmpty(key provider.Key, rec *objectState) {
	if rec.isEmpty() {
		delete(e.states, key)
	}
}

// awaitRead records that an object needs an event after the hypervisor is read.
func (e *Engine) awaitRead(key provider.Key, uid types.UID) {
	e.updateState(key, uid, func(r *objectState) { r.awaitsRead = true })
	if e.driver.Synced() && e.Unreachable() == nil {
		e.wakeWaiting() // the read ended in the meantime
	}
}

// forget removes the state of a deleted object. A running operation continues.
func (e *Engine) forget(key provider.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if rec := e.states[key]; rec != nil {
		*rec = objectState{uid: rec.uid, running: rec.running}
		e.dropIfEmpty(key, rec)
	}
	e.breaker.clearMissing(key)
	for _, p := range e.slots {
		p.queue.Remove(key)
		e.wakeOffered(p.returnOffer(key, e.opts.Now()))
	}
}
