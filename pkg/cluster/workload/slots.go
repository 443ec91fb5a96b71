// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"sync"
)

// maxLists is the maximum number of lists that are read concurrently from all workload clusters. Each namespace has at
// most one.
const maxLists = 4

// slots limits the number of concurrent lists.
type slots struct {
	all chan struct{}

	mu sync.Mutex
	// taken has an entry for each namespace that has a slot. The channel is closed when the slot is returned.
	taken map[string]chan struct{}
}

func newSlots() *slots {
	return &slots{all: make(chan struct{}, maxLists), taken: map[string]chan struct{}{}}
}

// wait waits for a free slot and reserves it.
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

// try reserves a slot. It returns nil if none is free.
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

// mark reserves the slot of a namespace. If it is already reserved, mark returns the channel that is closed when it is
// returned.
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
