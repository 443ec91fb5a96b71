// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// hints delivers hints to those that watch. What is sent while nobody does is kept,
// once for each object, for the first that watches.
type hints struct {
	mu       sync.Mutex
	next     int
	watchers map[int]func(provider.Hint)
	kept     map[provider.Key]struct{}
}

// watch delivers to changed until ctx is done.
func (h *hints) watch(ctx context.Context, changed func(provider.Hint)) {
	h.mu.Lock()
	if h.watchers == nil {
		h.watchers = map[int]func(provider.Hint){}
	}
	id := h.next
	h.next++
	h.watchers[id] = changed
	for key := range h.kept {
		changed(provider.Hint{Key: key})
	}
	h.kept = nil
	h.mu.Unlock()
	<-ctx.Done()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers, id)
}

func (h *hints) send(key provider.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.watchers) == 0 {
		if h.kept == nil {
			h.kept = map[provider.Key]struct{}{}
		}
		h.kept[key] = struct{}{}
	}
	for _, changed := range h.watchers {
		changed(provider.Hint{Key: key})
	}
}
