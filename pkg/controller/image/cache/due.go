// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"maps"
	"sync"
	"time"

	"github.com/slipway-dev/slipway/pkg/controller"
)

const (
	// checkInterval is when a location is checked again without an event: vCenter sends none for
	// new content, or when files were removed.
	checkInterval = controller.DefaultResyncPeriod
	// waitingVMInterval is when a location is checked at the latest after a VM began to wait for its copies. Users can cause
	// that by labels and annotations, so the check is not immediate.
	waitingVMInterval = 15 * time.Second
)

// due holds when locations are checked again that have no operation.
type due struct {
	mu   sync.Mutex
	next map[locationKey]time.Time
}

// in returns the time until a location has to be checked.
func (d *due) in(at locationKey, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(d.next[at].Sub(now), 0)
}

func (d *due) set(at locationKey, next time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next[at] = next
}

// noLaterThan moves checks of the locations of a part forward.
func (d *due) noLaterThan(p part, latest time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for at, next := range d.next {
		if at.part == p && next.After(latest) {
			d.next[at] = latest
		}
	}
}

func (d *due) forget(at locationKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.next, at)
}

// drop forgets the locations of a part.
func (d *due) drop(p part) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.next, func(at locationKey, _ time.Time) bool { return at.part == p })
}
