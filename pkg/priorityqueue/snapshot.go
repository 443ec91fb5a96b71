// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// snapshotLevels is the largest number of levels in a Snapshot.
const snapshotLevels = 200

// Snapshot is the state of a queue, for debugging.
type Snapshot struct {
	Name string `json:"name"`
	// Ready, Delayed and InProcess count keys. A key in process that was added again
	// counts twice.
	Ready     int `json:"ready"`
	Delayed   int `json:"delayed"`
	InProcess int `json:"inProcess"`
	// IdleWorkers is the number of waiting Gets.
	IdleWorkers  int  `json:"idleWorkers"`
	ShuttingDown bool `json:"shuttingDown,omitempty"`
	// Levels has the 200 highest priorities with ready keys, the highest first.
	Levels []LevelSnapshot `json:"levels"`
	// Held has the keys in process, the longest first.
	Held []HeldSnapshot `json:"held"`
}

// LevelSnapshot is the state of one priority.
type LevelSnapshot struct {
	Priority int `json:"priority"`
	// Depth is the number of ready keys, including those in process.
	Depth int `json:"depth"`
	// Oldest is the next key. With fairness, it is the one of the groups' next keys that
	// has waited longest. It is empty if all keys are in process.
	Oldest string `json:"oldest,omitempty"`
	// OldestSeconds is how long that key has been ready.
	OldestSeconds float64 `json:"oldestSeconds"`
	// Groups is the number of groups that take turns, if fairness is on.
	Groups int `json:"groups,omitempty"`
	// Starving is true if aging serves the level out of order.
	Starving bool `json:"starving,omitempty"`
}

// HeldSnapshot is a key in process.
type HeldSnapshot struct {
	Key string `json:"key"`
	// Priority is the priority that the key was handed out with.
	Priority int `json:"priority"`
	// Seconds is how long the key has been in process.
	Seconds float64 `json:"seconds"`
	// Queued is true if the key was added again in the meantime.
	Queued bool `json:"queued,omitempty"`
}

// Snapshotter is a queue of any key type.
type Snapshotter interface {
	Snapshot() Snapshot
}

// Snapshot returns the state of the queue. The time under the lock depends on the
// numbers of priorities, groups and keys in process, not on the number of queued keys.
func (q *Queue[K]) Snapshot() Snapshot {
	s, oldest, held := q.snapshot()
	for i, key := range oldest {
		if key != nil {
			s.Levels[i].Oldest = fmt.Sprint(*key)
		}
	}
	for i, key := range held {
		s.Held[i].Key = fmt.Sprint(key)
	}
	slices.SortFunc(s.Levels, func(a, b LevelSnapshot) int { return cmp.Compare(b.Priority, a.Priority) })
	s.Levels = s.Levels[:min(len(s.Levels), snapshotLevels)]
	slices.SortStableFunc(s.Held, func(a, b HeldSnapshot) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return s
}

// snapshot copies the state under the lock, and leaves formatting the keys to the caller.
func (q *Queue[K]) snapshot() (s Snapshot, oldest []*K, held []K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c, now := q.core, q.now()
	c.promote(now)
	since := func(at int64) float64 { return time.Duration(now - at).Seconds() }
	s = Snapshot{
		Name: q.name, Ready: c.ready, Delayed: len(c.due), InProcess: len(c.working),
		IdleWorkers: len(q.waiting), ShuttingDown: q.closed,
		Levels: []LevelSnapshot{}, Held: []HeldSnapshot{},
	}
	for priority, lv := range c.all.entries {
		if lv.depth == 0 {
			continue
		}
		l := LevelSnapshot{Priority: priority, Depth: lv.depth, Starving: lv.age.starving}
		var key *K
		for _, n := range lv.turns {
			ln := n.handle.value
			if ln.group != "" {
				l.Groups++
			}
			first := ln.items.first()
			if waited := since(first.at); key == nil || waited > l.OldestSeconds {
				key, l.OldestSeconds = &first.key, waited
			}
		}
		s.Levels = append(s.Levels, l)
		oldest = append(oldest, key)
	}
	for _, it := range c.working {
		s.Held = append(s.Held, HeldSnapshot{
			Priority: it.workPriority, Seconds: since(it.workSince), Queued: it.state != notQueued,
		})
		held = append(held, it.key)
	}
	return s, oldest, held
}
