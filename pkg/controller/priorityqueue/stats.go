// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import "math/bits"

const (
	// statPriorities is the number of distinct priorities that are counted one
	// by one; further ones share the series otherPriorities. It bounds the
	// number of series that one queue exposes.
	statPriorities = 25
	// otherPriorities is the label of those that share.
	otherPriorities = "other"
	// firstBucket and bucketBits shape the histograms: upper bounds are
	// 2^firstBucket ns (about 1 µs) and then each 2^bucketBits times the last.
	firstBucket = 10
	bucketBits  = 2
	// buckets is their number, without the one that has no bound; the last
	// bound is 2^38 ns, about 275 s.
	buckets = 15
)

// histogram counts durations in nanoseconds.
type histogram struct {
	count [buckets + 1]uint64
	sum   int64
}

func (h *histogram) observe(ns int64) {
	ns = max(ns, 0)
	h.sum += ns
	// The smallest k with ns <= 2^k is the bit length of ns-1.
	k := bits.Len64(uint64(max(ns, 1) - 1))
	b := 0
	if k > firstBucket {
		b = min((k-firstBucket+bucketBits-1)/bucketBits, buckets)
	}
	h.count[b]++
}

// priorityStats is what is counted of one priority.
type priorityStats struct {
	waits histogram
}

// stats counts what the metrics show, as plain integers under the queue's lock.
// All methods of a nil *stats do nothing.
type stats struct {
	adds, retries uint64
	work          histogram
	byPriority    map[int]*priorityStats
	// others counts the priorities beyond the first statPriorities.
	others priorityStats
}

func newStats() *stats { return &stats{byPriority: map[int]*priorityStats{}} }

// forPriority returns where a priority is counted, always the same place.
func (s *stats) forPriority(priority int) *priorityStats {
	if s == nil {
		return nil
	}
	if p, ok := s.byPriority[priority]; ok {
		return p
	}
	if len(s.byPriority) >= statPriorities {
		return &s.others
	}
	p := &priorityStats{}
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

// waited counts a hand-out; p is nil only if s is.
func (s *stats) waited(p *priorityStats, ns int64) {
	if s != nil {
		p.waits.observe(ns)
	}
}

// worked counts a done.
func (s *stats) worked(ns int64) {
	if s != nil {
		s.work.observe(ns)
	}
}
