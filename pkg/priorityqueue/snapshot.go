// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// snapshotLevels is the number of levels that a Snapshot lists at most.
const snapshotLevels = 200

// Snapshot is the state of a queue at one moment, for people who debug. Times
// are in seconds, and zero in a queue without metrics and aging.
type Snapshot struct {
	Name string `json:"name"`
	// Ready, Delayed and InProcess count keys; one that is in process and was
	// added again counts twice.
	Ready     int `json:"ready"`
	Delayed   int `json:"delayed"`
	InProcess int `json:"inProcess"`
	// IdleWorkers counts the Gets that wait.
	IdleWorkers  int  `json:"idleWorkers"`
	ShuttingDown bool `json:"shuttingDown,omitempty"`
	// Levels lists the priorities that have ready keys, highest first, but not
	// more than 200 of them.
	Levels []LevelSnapshot `json:"levels"`
	// Held lists the keys in process, the longest held first.
	Held []HeldSnapshot `json:"held"`
}

// LevelSnapshot is the state of one priority.
type LevelSnapshot struct {
	Priority int `json:"priority"`
	// Depth counts the ready keys, those in process too.
	Depth int `json:"depth"`
	// Oldest is the next key in order, or with fairness the one of the groups'
	// next keys that waits longest. It is empty if all keys are in process.
	Oldest string `json:"oldest,omitempty"`
	// OldestSeconds is how long that key has been ready.
	OldestSeconds float64 `json:"oldestSeconds"`
	// Groups counts the groups that take turns.
	Groups int `json:"groups,omitempty"`
	// Starving tells that aging gives the level hand-outs out of order.
	Starving bool `json:"starving,omitempty"`
}

// HeldSnapshot is a key in process.
type HeldSnapshot struct {
	Key string `json:"key"`
	// Priority is the one it was handed out with.
	Priority int `json:"priority"`
	// Seconds is how long it has been in process.
	Seconds float64 `json:"seconds"`
	// Queued tells that it was added again meanwhile.
	Queued bool `json:"queued,omitempty"`
}

// Snapshotter is a queue of any key type.
type Snapshotter interface {
	Snapshot() Snapshot
}

// Snapshot returns the state of the queue. It holds the lock for a time that
// grows with the numbers of priorities, groups and keys in process, not with
// the number of queued keys.
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

// snapshot copies the state and leaves the keys to be formatted without lock.
func (q *Queue[K]) snapshot() (s Snapshot, oldest []*K, held []K) {
	q.lock()
	defer q.release()
	c := q.core
	now := q.time()
	c.promote(now)
	since := func(at int64) float64 {
		if !q.timed {
			return 0
		}
		return time.Duration(now - at).Seconds()
	}
	s = Snapshot{
		Name: q.name, Ready: c.ready, Delayed: len(c.due), InProcess: len(c.procs),
		IdleWorkers: len(q.park.stack), ShuttingDown: q.closed,
		Levels: []LevelSnapshot{}, Held: []HeldSnapshot{},
	}
	for v := range c.level.index.all {
		lv := c.level.at(v)
		if lv.depth == 0 {
			continue
		}
		l := LevelSnapshot{Priority: c.level.key(v), Depth: int(lv.depth), Starving: lv.age.starving}
		var key *K
		for i := lv.first; i != none; i = c.lane.at(i).next {
			first := c.first(c.lane.at(i))
			if q.group != nil {
				l.Groups++
			}
			if waited := since(c.slots.at(first).at); key == nil || waited > l.OldestSeconds {
				key, l.OldestSeconds = new(c.slots.key(first)), waited
			}
		}
		s.Levels = append(s.Levels, l)
		oldest = append(oldest, key)
	}
	for _, p := range c.procs {
		s.Held = append(s.Held, HeldSnapshot{
			Priority: p.priority, Seconds: since(p.since), Queued: c.slots.at(p.slot).lane != none,
		})
		held = append(held, c.slots.key(p.slot))
	}
	return s, oldest, held
}
