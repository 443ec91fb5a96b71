// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"sync"
	"time"

	"github.com/slipway-dev/slipway/pkg/controller"
)

const (
	// lookInterval is when a location is looked at again although nothing has happened here:
	// vCenter tells nobody of new content, or of files that somebody has removed.
	lookInterval = controller.DefaultResyncPeriod
	// firstPause and lastPause are those after what has failed.
	firstPause, lastPause = 2 * time.Second, 10 * time.Minute
	// doubtInterval is how often a location is looked at because somebody says that it is
	// not as status has it.
	doubtInterval = 15 * time.Second
)

// schedule says when locations are looked at again.
type schedule struct {
	mu  sync.Mutex
	all map[spot]turn
	// doubted are the parts that somebody waits for.
	doubted map[part]bool
}

// turn is when the next look is due, and how many have failed, the last one among them.
type turn struct {
	last, next time.Time
	failures   int
	// cramped is true if the last look has failed for want of room.
	cramped bool
}

func newSchedule() *schedule {
	return &schedule{all: map[spot]turn{}, doubted: map[part]bool{}}
}

// in is how long until a location is to be looked at.
func (s *schedule) in(at spot, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.all[at]
	next := t.next
	if s.doubted[at.part] && t.failures == 0 && !t.last.IsZero() && next.After(t.last.Add(doubtInterval)) {
		next = t.last.Add(doubtInterval)
	}
	return max(next.Sub(now), 0)
}

// failing is how long until what has failed at last is tried again.
func (s *schedule) failing(at spot, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.all[at]; t.failures > 0 {
		return max(t.next.Sub(now), 0)
	}
	return 0
}

// doubt lets all locations of a part be looked at.
func (s *schedule) doubt(p part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubted[p] = true
}

// looked notes a look, and returns how long until the next one.
func (s *schedule) looked(at spot, now time.Time, failed bool) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, pause := s.all[at], lookInterval
	if t.failures++; !failed {
		t.failures = 0
		delete(s.doubted, at.part)
	} else {
		pause = min(firstPause<<min(t.failures-1, 20), lastPause)
	}
	t.last, t.next, t.cramped = now, now.Add(pause), false
	s.all[at] = t
	return pause
}

// cramped notes that a look has failed for want of room.
func (s *schedule) cramped(at spot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.all[at]
	t.cramped = true
	s.all[at] = t
}

// roomier lets the locations of a vCenter be looked at now that had no room, and returns
// their parts.
func (s *schedule) roomier(vcenter string, now time.Time) (parts []part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, t := range s.all {
		if at.vcenter == vcenter && t.cramped {
			t.next, t.cramped = now, false
			s.all[at] = t
			parts = append(parts, at.part)
		}
	}
	return parts
}

// forget forgets a location.
func (s *schedule) forget(at spot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, at)
}

// drop forgets a part.
func (s *schedule) drop(p part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.doubted, p)
	for at := range s.all {
		if at.part == p {
			delete(s.all, at)
		}
	}
}
