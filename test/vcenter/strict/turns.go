// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import "sync"

// turns limits the number of concurrent tasks on a host. Other tasks are queued ("when there are too many tasks for
// threads to handle", API, TaskInfoState). The test sets the number. vCenter's own limits depend on operation, host,
// datastore and network, and are not published as one number.
type turns struct {
	mu      sync.Mutex
	limit   int
	used    map[string]int
	changed chan struct{}
}

func newTurns() *turns { return &turns{used: map[string]int{}, changed: make(chan struct{})} }

func (t *turns) limited() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.limit > 0
}

// LimitTasks limits the number of concurrent tasks on a host. 0 means no limit.
func (g *Gate) LimitTasks(perHost int) {
	g.turns.mu.Lock()
	defer g.turns.mu.Unlock()
	g.turns.limit = perHost
	g.turns.wake()
}

// take takes a slot. If none is free it waits as w specifies, or does not wait if w is nil.
func (t *turns) take(host string, w *wait) bool {
	for {
		t.mu.Lock()
		if t.limit == 0 || t.used[host] < t.limit {
			t.used[host]++
			t.mu.Unlock()
			return true
		}
		changed := t.changed
		t.mu.Unlock()
		if w == nil {
			return false
		}
		select {
		case <-changed:
		case <-w.cancelled:
			return false
		case <-w.ended:
			return false
		}
	}
}

func (t *turns) give(host string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.used[host]--; t.used[host] == 0 {
		delete(t.used, host)
	}
	t.wake()
}

// wake must be called with the lock held.
func (t *turns) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}
