// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"math/bits"
	"strconv"
	"time"
)

const (
	// statPriorities is the number of distinct priorities that are counted one
	// by one. It bounds the number of series that one queue exposes.
	statPriorities = 25
	// OtherPriorities is where Stats counts the priorities beyond the first 25
	// that were used.
	OtherPriorities = "other"
	// HistogramBuckets is the number of a histogram's buckets that have a bound.
	HistogramBuckets = 15
)

// HistogramBound returns the upper bound of a bucket: 1.024 µs for bucket 0, and
// four times the last for each further one, up to about 275 s.
func HistogramBound(bucket int) time.Duration { return 1 << (10 + 2*bucket) }

// Histogram counts durations by size.
type Histogram struct {
	// Count[i] is the number of durations up to HistogramBound(i) that are in no
	// bucket before; the last bucket has no bound.
	Count [HistogramBuckets + 1]uint64
	Sum   time.Duration
}

func (h *Histogram) observe(ns int64) {
	ns = max(ns, 0)
	h.Sum += time.Duration(ns)
	// The smallest k with ns <= 2^k is the bit length of ns-1.
	k := bits.Len64(uint64(max(ns, 1) - 1))
	h.Count[min(max(k-9, 0)/2, HistogramBuckets)]++
}

// PriorityStats are the counts of one priority.
type PriorityStats struct {
	// Depth is the number of ready keys.
	Depth int
	// Waits counts the times from ready to hand-out.
	Waits Histogram
}

// Stats are the counts of a queue that was made with WithMetrics.
type Stats struct {
	// Name is that of the queue.
	Name string
	// Adds counts keys that became ready, and Retries the adds with a delay or a
	// rate limit.
	Adds, Retries uint64
	// Work counts the times from hand-out to Done.
	Work Histogram
	// Unfinished is the age of what is in process, summed; Longest that of the
	// oldest of it.
	Unfinished, Longest time.Duration
	// Priorities holds what is counted by priority; those beyond the first 25 that
	// were used are counted as OtherPriorities.
	Priorities map[string]PriorityStats
}

// Stats returns the counts of the queue at this moment. Of a queue made without
// WithMetrics only the name is set.
func (q *Queue[K]) Stats() Stats {
	q.lock()
	defer q.release()
	r := Stats{Name: q.name}
	c, s := q.core, q.core.stats
	if s == nil {
		return r
	}
	now := q.time()
	c.promote(now)
	r.Adds, r.Retries, r.Work = s.adds, s.retries, s.work
	for _, p := range c.procs {
		age := time.Duration(now - p.since)
		r.Unfinished += age
		r.Longest = max(r.Longest, age)
	}
	r.Priorities = make(map[string]PriorityStats, len(s.byPriority)+1)
	for priority, p := range s.byPriority {
		r.Priorities[strconv.Itoa(priority)] = *p
	}
	if len(s.byPriority) == statPriorities {
		r.Priorities[OtherPriorities] = s.others
	}
	for v := range c.level.index.all {
		label := OtherPriorities
		if priority := c.level.key(v); s.byPriority[priority] != nil {
			label = strconv.Itoa(priority)
		}
		p := r.Priorities[label]
		p.Depth += int(c.level.at(v).depth)
		r.Priorities[label] = p
	}
	return r
}

// stats counts what Stats shows, as plain integers under the queue's lock. All
// methods of a nil *stats do nothing.
type stats struct {
	adds, retries uint64
	work          Histogram
	byPriority    map[int]*PriorityStats
	// others counts the priorities beyond the first statPriorities.
	others PriorityStats
}

func newStats() *stats { return &stats{byPriority: map[int]*PriorityStats{}} }

// forPriority returns where a priority is counted, always the same place; nil if
// nothing is counted.
func (s *stats) forPriority(priority int) *PriorityStats {
	if s == nil {
		return nil
	}
	if p, ok := s.byPriority[priority]; ok {
		return p
	}
	if len(s.byPriority) >= statPriorities {
		return &s.others
	}
	p := &PriorityStats{}
	s.byPriority[priority] = p
	return p
}

// added counts a key that became ready.
func (s *stats) added() {
	if s != nil {
		s.adds++
	}
}

// retriedIf counts an add with a delay or a rate limit.
func (s *stats) retriedIf(retry bool) {
	if retry && s != nil {
		s.retries++
	}
}

// waited counts a hand-out.
func (p *PriorityStats) waited(ns int64) {
	if p != nil {
		p.Waits.observe(ns)
	}
}

// worked counts a done.
func (s *stats) worked(ns int64) {
	if s != nil {
		s.work.observe(ns)
	}
}
