// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrClosed is returned if this process may no longer hold the Lease.
var ErrClosed = errors.New("the Lease was not renewed in time: another process may hold it")

// Fence reports whether this process may act.
type Fence struct {
	limit time.Duration
	now   func() reading

	mu sync.Mutex
	// renewedAt is the time before the last successful renewal was sent, or zero.
	renewedAt reading
	// changed is closed by the next renewal and by Close.
	changed chan struct{}
	// ended is set after another holder was observed, and before the Lease is released.
	ended bool
}

// New returns a closed Fence, which each renewal opens for limit. limit must be shorter than the time after which other
// processes acquire the Lease.
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
	if f.ended || f.renewedAt.monotonic.IsZero() || elapsed(f.renewedAt, f.now()) >= f.limit {
		return ErrClosed
	}
	return nil
}

// Wait returns nil as soon as the process may act, ErrClosed if the Fence is closed for good, and the error of ctx when
// ctx is done.
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

// renew records that a request has renewed the Lease. sent is the time before it was sent.
func (f *Fence) renew(sent reading) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewedAt = sent
	f.wake()
}

// Close closes the Fence for good and reports whether this was the first call. It is called before the Lease is
// released.
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

// wake wakes the waiting callers. mu is held.
func (f *Fence) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// reading has the times of both clocks.
type reading struct{ monotonic, wall time.Time }

func read() reading {
	now := time.Now()
	return reading{monotonic: now, wall: now.Round(0)} // rounding removes the monotonic clock
}

// elapsed returns the longer time of both clocks between two readings.
func elapsed(from, to reading) time.Duration {
	return max(to.monotonic.Sub(from.monotonic), to.wall.Sub(from.wall))
}
