// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"sync"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// spot is a location of a cache.
type spot struct {
	part
	datastore, policy string
}

// work is what an operation does. It tells how far it is.
type work func(ctx context.Context, progress func(percent int32)) ([]vmv1alpha1.VirtualMachineImageCacheFile, error)

// operation is the work on one directory, as it is at a time.
type operation struct {
	directory string
	// ended is true when files and err are what came of it; until then progress is how far
	// it is, in percent.
	ended    bool
	progress int32
	files    []vmv1alpha1.VirtualMachineImageCacheFile
	err      error
	cancel   context.CancelFunc
}

// operations are those that run or have ended and were not looked at: at most one for each
// location. How many copies are made at the same time the provider bounds.
type operations struct {
	// over is called when one has ended.
	over func(part)

	mu sync.Mutex
	// derive makes the context of an operation from that of start.
	derive  func() (context.Context, context.CancelFunc)
	all     map[spot]*operation
	running sync.WaitGroup
}

func newOperations(over func(part)) *operations {
	return &operations{over: over, all: map[spot]*operation{}}
}

// start lets operations run until ctx is done; end waits until they have ended.
func (o *operations) start(ctx context.Context) (end func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.derive = func() (context.Context, context.CancelFunc) { return context.WithCancel(ctx) }
	return o.running.Wait, nil
}

// get is the operation of a location, nil for none.
func (o *operations) get(s spot) *operation {
	o.mu.Lock()
	defer o.mu.Unlock()
	if op := o.all[s]; op != nil {
		now := *op
		return &now
	}
	return nil
}

// about is true if an operation is about a directory.
func (o *operations) about(directory string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, op := range o.all {
		if op.directory == directory {
			return true
		}
	}
	return false
}

// forget forgets one that has ended.
func (o *operations) forget(s spot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if op := o.all[s]; op != nil && op.ended {
		delete(o.all, s)
	}
}

// begin starts work on a directory, unless something runs for the location.
func (o *operations) begin(s spot, directory string, do work) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ctx, cancel := o.derive()
	if op := o.all[s]; op != nil && !op.ended || ctx.Err() != nil {
		cancel()
		return
	}
	op := &operation{directory: directory, cancel: cancel}
	o.all[s] = op
	o.running.Go(func() {
		defer cancel()
		files, err := do(ctx, func(percent int32) {
			o.mu.Lock()
			defer o.mu.Unlock()
			op.progress = percent
		})
		o.mu.Lock()
		op.ended, op.files, op.err = true, files, err
		o.mu.Unlock()
		o.over(s.part)
	})
}

// cancel ends what runs for a location; what came of it is told as ever.
func (o *operations) cancel(s spot) {
	if op := o.get(s); op != nil {
		op.cancel()
	}
}

// drop ends what runs for a part whose cache is gone, and forgets it.
func (o *operations) drop(p part) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for s, op := range o.all {
		if s.part != p {
			continue
		}
		if op.cancel(); op.ended {
			delete(o.all, s)
		}
	}
}
