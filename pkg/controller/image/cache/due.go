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
	// lookInterval is when a location is looked at again although nothing has happened here:
	// vCenter sends no event for new content, or for files that somebody has removed.
	lookInterval = controller.DefaultResyncPeriod
	// doubtInterval is how soon a location is looked at because a virtual machine says that it is
	// not as status has it. Users can write that, so it is not at once.
	doubtInterval = 15 * time.Second
)

// due says when locations are looked at again that nothing is done with.
type due struct {
	mu   sync.Mutex
	next map[spot]time.Time
}

// in is how long until a location is to be looked at.
func (d *due) in(at spot, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(d.next[at].Sub(now), 0)
}

func (d *due) set(at spot, next time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next[at] = next
}

// by lets the locations of a part be looked at by a time.
func (d *due) by(p part, latest time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for at, next := range d.next {
		if at.part == p && next.After(latest) {
			d.next[at] = latest
		}
	}
}

func (d *due) forget(at spot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.next, at)
}

// drop forgets a part.
func (d *due) drop(p part) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.next, func(at spot, _ time.Time) bool { return at.part == p })
}
