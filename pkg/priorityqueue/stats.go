// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"math/bits"
	"strconv"
	"time"
)

const (
	// statPriorities is the number of priorities that are counted separately. It limits
	// the number of series that a queue exposes.
	statPriorities = 25
	// OtherPriorities is the key in Stats.Priorities of all priorities after the first
	// 25 that were used.
	OtherPriorities = "other"
	// HistogramBuckets is the number of buckets of a histogram that have a bound.
	HistogramBuckets = 15
)

// HistogramBound returns the upper bound of a bucket: 1.024 µs for bucket 0, and four
// times the previous bound for each further bucket, up to about 275 s.
func HistogramBound(bucket int) time.Duration { return 1 << (10 + 2*bucket) }

// Histogram counts durations by size.
type Histogram struct {
	// Count[i] is the number of durations up to HistogramBound(i) that are not in an
	// earlier bucket. The last bucket has no bound.
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

// Stats are the counts of a queue.
type Stats struct {
	// Name is the name of the queue.
	Name string
	// Adds counts the keys that became ready. Retries counts the adds with a delay or a
	// rate limit.
	Adds, Retries uint64
	// Work counts the times from hand-out to Done.
	Work Histogram
	// Unfinished is the sum of the times for which the keys in process have been in
	// process. Longest is the longest of these times.
	Unfinished, Longest time.Duration
	// Priorities has the counts of each priority; see OtherPriorities.
	Priorities map[string]PriorityStats
}

// Stats returns the counts of the queue.
func (q *Queue[K]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	c, now := q.core, q.now()
	c.promote(now)
	r := Stats{
		Name: q.name, Adds: c.stats.adds, Retries: c.stats.retries, Work: c.stats.work,
		Priorities: make(map[string]PriorityStats, len(c.stats.priorities)+1),
	}
	for _, it := range c.working {
		age := time.Duration(now - it.workSince)
		r.Unfinished += age
		r.Longest = max(r.Longest, age)
	}
	for priority, p := range c.stats.priorities {
		r.Priorities[strconv.Itoa(priority)] = *p
	}
	if len(c.stats.priorities) == statPriorities {
		r.Priorities[OtherPriorities] = c.stats.others
	}
	for priority, lv := range c.all.entries {
		label := OtherPriorities
		if c.stats.priorities[priority] != nil {
			label = strconv.Itoa(priority)
		}
		p := r.Priorities[label]
		p.Depth += lv.depth
		r.Priorities[label] = p
	}
	return r
}

// stats holds the counts that are not derived from the queue's state.
type stats struct {
	adds, retries uint64
	work          Histogram
	// priorities has the first statPriorities priorities that were used.
	priorities map[int]*PriorityStats
	others     PriorityStats
}

func newStats() stats { return stats{priorities: map[int]*PriorityStats{}} }

// of returns the counts of a priority. It always returns the same pointer for a priority.
func (s *stats) of(priority int) *PriorityStats {
	p := s.priorities[priority]
	switch {
	case p != nil:
	case len(s.priorities) < statPriorities:
		p = &PriorityStats{}
		s.priorities[priority] = p
	default:
		p = &s.others
	}
	return p
}
