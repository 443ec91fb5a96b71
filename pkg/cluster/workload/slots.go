// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"sync"
)

// maxLists is how many lists of workload clusters are read at once. A namespace has one of them at most.
const maxLists = 4

// slots are for lists that are being read.
type slots struct {
	all chan struct{}

	mu sync.Mutex
	// taken has a channel for each namespace that has a slot, which is closed when the slot is returned.
	taken map[string]chan struct{}
}

func newSlots() *slots {
	return &slots{all: make(chan struct{}, maxLists), taken: map[string]chan struct{}{}}
}

// wait waits for a slot.
func (s *slots) wait(ctx context.Context, namespace string) (done func(), err error) {
	for {
		others := s.mark(namespace)
		if others == nil {
			break
		}
		select {
		case <-others:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	select {
	case s.all <- struct{}{}:
		return func() { <-s.all; s.unmark(namespace) }, nil
	case <-ctx.Done():
		s.unmark(namespace)
		return nil, ctx.Err()
	}
}

// try takes a slot if one is free. Otherwise it returns nil.
func (s *slots) try(namespace string) (done func()) {
	if s.mark(namespace) != nil {
		return nil
	}
	select {
	case s.all <- struct{}{}:
		return func() { <-s.all; s.unmark(namespace) }
	default:
		s.unmark(namespace)
		return nil
	}
}

// mark notes that a namespace has a slot. If it had one, mark returns the channel that tells when it is returned.
func (s *slots) mark(namespace string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if others := s.taken[namespace]; others != nil {
		return others
	}
	s.taken[namespace] = make(chan struct{})
	return nil
}

func (s *slots) unmark(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.taken[namespace])
	delete(s.taken, namespace)
}
