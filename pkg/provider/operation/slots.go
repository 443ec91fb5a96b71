// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// waiter is a virtual machine that was refused a create slot.
type waiter struct {
	priority int
	seq      uint64
}

// slots counts creates. It has no lock and no clock of its own.
type slots struct {
	total   int
	timeout time.Duration
	used    int
	seq     uint64
	waiting map[types.NamespacedName]waiter
	offers  map[types.NamespacedName]time.Time
}

func newSlots(total int, timeout time.Duration) slots {
	return slots{
		total:   total,
		timeout: timeout,
		waiting: map[types.NamespacedName]waiter{},
		offers:  map[types.NamespacedName]time.Time{},
	}
}

// take takes a slot for key, or queues key and returns false.
func (s *slots) take(key types.NamespacedName, priority int, now time.Time) bool {
	s.expire(now)
	_, offered := s.offers[key]
	if offered || s.used+len(s.offers) < s.total {
		delete(s.offers, key)
		delete(s.waiting, key)
		s.used++
		return true
	}
	w, ok := s.waiting[key]
	if !ok {
		s.seq++
		w.seq = s.seq
	}
	w.priority = priority
	s.waiting[key] = w
	return false
}

// release gives a slot back and returns those to offer slots to.
func (s *slots) release(now time.Time) []types.NamespacedName {
	s.used--
	return s.offer(now)
}

// decline withdraws the offer to key and returns those to offer slots to.
func (s *slots) decline(key types.NamespacedName, now time.Time) []types.NamespacedName {
	if _, ok := s.offers[key]; !ok {
		return nil
	}
	delete(s.offers, key)
	return s.offer(now)
}

// forget drops key from those that wait.
func (s *slots) forget(key types.NamespacedName) { delete(s.waiting, key) }

// offer offers every free slot to the first that waits.
func (s *slots) offer(now time.Time) []types.NamespacedName {
	s.expire(now)
	var out []types.NamespacedName
	for s.used+len(s.offers) < s.total && len(s.waiting) > 0 {
		key := s.first()
		delete(s.waiting, key)
		s.offers[key] = now
		out = append(out, key)
	}
	return out
}

// first is the waiter of the highest priority that waits the longest.
func (s *slots) first() types.NamespacedName {
	var best types.NamespacedName
	var bw waiter
	found := false
	for k, w := range s.waiting {
		if !found || w.priority > bw.priority || (w.priority == bw.priority && w.seq < bw.seq) {
			best, bw, found = k, w, true
		}
	}
	return best
}

// expire drops offers that nobody took in time.
func (s *slots) expire(now time.Time) {
	for k, at := range s.offers {
		if now.Sub(at) >= s.timeout {
			delete(s.offers, k)
		}
	}
}
