// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrClosed means that it is not proved that this process still holds the Lease.
var ErrClosed = errors.New("the Lease was not renewed in time: another process may hold it")

// Fence says whether this process may act.
type Fence struct {
	limit time.Duration
	now   func() reading

	mu sync.Mutex
	// proved is when the last request that succeeded was about to be sent, zero before
	// the first.
	proved reading
	// changed is closed by the next renewal, and when the Fence is closed for good.
	changed chan struct{}
	// ended is true once another holder was seen, or the Lease is about to be given back.
	ended bool
}

// New returns a Fence that is closed, and that every renewal opens for limit: the time
// after which a holder stops to act, which is less than the one after which others take
// the Lease.
func New(limit time.Duration) *Fence {
	return &Fence{limit: limit, now: read, changed: make(chan struct{})}
}

// Check returns ErrClosed unless the process may act now.
func (f *Fence) Check() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.check()
}

func (f *Fence) check() error {
	if f.ended || f.proved.monotonic.IsZero() || elapsed(f.proved, f.now()) >= f.limit {
		return ErrClosed
	}
	return nil
}

// Wait returns nil as soon as the process may act, ErrClosed when it never may again, and
// the error of ctx when that is done before.
func (f *Fence) Wait(ctx context.Context) error {
	if f == nil {
		return nil
	}
	for {
		f.mu.Lock()
		err, ended, changed := f.check(), f.ended, f.changed
		f.mu.Unlock()
		if err == nil || ended {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// renew notes that a request which was about to be sent at that moment has renewed the
// Lease.
func (f *Fence) renew(asked reading) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.proved = asked
	f.wake()
}

// Close closes the Fence for good, and tells whether it was not closed so before. It is for
// who is about to give the Lease back.
func (f *Fence) Close() (first bool) {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	first = !f.ended
	f.ended = true
	f.wake()
	return first
}

// wake lets those look again who wait. mu is held.
func (f *Fence) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// reading is one of both clocks.
type reading struct{ monotonic, wall time.Time }

func read() reading {
	now := time.Now()
	return reading{monotonic: now, wall: now.Round(0)} // Rounding takes the monotonic clock away.
}

// elapsed is the time between two readings.
func elapsed(from, to reading) time.Duration {
	return max(to.monotonic.Sub(from.monotonic), to.wall.Sub(from.wall))
}
