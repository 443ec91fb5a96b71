// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fastcollector

import (
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

type refSet map[types.ManagedObjectReference]struct{}

func (s refSet) has(ref types.ManagedObjectReference) bool {
	_, ok := s[ref]
	return ok
}

// batch contains the changes since the last read.
type batch struct {
	touched map[types.ManagedObjectReference]bool // added or changed; true: also its configuration
	gone    refSet
	entered bool // an object other than a task was added
	all     bool // any object may look different
}

func newBatch() batch {
	return batch{touched: map[types.ManagedObjectReference]bool{}, gone: refSet{}}
}

// feed collects, for one collector, which objects have changed. It keeps
// references only, so that its size is bounded by the number of objects.
type feed struct {
	mu      sync.Mutex
	pending batch
	used    time.Time
	waiting bool
	wake    chan struct{}
}

func newFeed() *feed {
	return &feed{pending: newBatch(), used: time.Now(), wake: make(chan struct{}, 1)}
}

func (f *feed) added(ref types.ManagedObjectReference) {
	f.mu.Lock()
	f.pending.touched[ref] = true
	f.pending.entered = f.pending.entered || ref.Type != "Task"
	f.mu.Unlock()
	f.signal()
}

func (f *feed) changed(ref types.ManagedObjectReference, configuration bool) {
	f.mu.Lock()
	f.pending.touched[ref] = f.pending.touched[ref] || configuration
	f.mu.Unlock()
	f.signal()
}

func (f *feed) everything() {
	f.mu.Lock()
	f.pending.all = true
	f.mu.Unlock()
	f.signal()
}

func (f *feed) removed(ref types.ManagedObjectReference) {
	f.mu.Lock()
	delete(f.pending.touched, ref)
	f.pending.gone[ref] = struct{}{}
	f.mu.Unlock()
	f.signal()
}

func (f *feed) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *feed) hasPending() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pending.all || len(f.pending.touched) != 0 || len(f.pending.gone) != 0
}

func (f *feed) take() batch {
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := f.pending
	f.pending = newBatch()
	return taken
}

func (f *feed) setWaiting(waiting bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting, f.used = waiting, time.Now()
}

func (f *feed) idleSince(now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting {
		return 0
	}
	return now.Sub(f.used)
}
