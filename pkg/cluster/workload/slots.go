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

// listSlots limits the number of concurrent lists.
type listSlots struct {
	all chan struct{}

	mu sync.Mutex
	// byNamespace has an entry for each namespace that has a slot. The channel is closed when the slot is released.
	byNamespace map[string]chan struct{}
}

func newListSlots() *listSlots {
	return &listSlots{all: make(chan struct{}, maxLists), byNamespace: map[string]chan struct{}{}}
}

// reserve waits for a free slot and reserves it.
func (s *listSlots) reserve(ctx context.Context, namespace string) (done func(), err error) {
	for {
		others := s.reserveNamespace(namespace)
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
		return func() { <-s.all; s.releaseNamespace(namespace) }, nil
	case <-ctx.Done():
		s.releaseNamespace(namespace)
		return nil, ctx.Err()
	}
}

// tryReserve reserves a slot. It returns nil if none is free.
func (s *listSlots) tryReserve(namespace string) (done func()) {
	if s.reserveNamespace(namespace) != nil {
		return nil
	}
	select {
	case s.all <- struct{}{}:
		return func() { <-s.all; s.releaseNamespace(namespace) }
	default:
		s.releaseNamespace(namespace)
		return nil
	}
}

// reserveNamespace reserves the slot of a namespace. If it is already reserved, it returns the channel that is closed
// when the slot is released.
func (s *listSlots) reserveNamespace(namespace string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if others := s.byNamespace[namespace]; others != nil {
		return others
	}
	s.byNamespace[namespace] = make(chan struct{})
	return nil
}

func (s *listSlots) releaseNamespace(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.byNamespace[namespace])
	delete(s.byNamespace, namespace)
}
