// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"sync"
)

// Hints delivers events to all watchers. Events that are sent while there is no watcher are stored, once per object,
// and delivered to the first watcher.
type Hints struct {
	mu          sync.Mutex
	next        int
	watchers    map[int]func(Hint)
	undelivered map[Key]struct{}
}

// Watch calls changed for every event until ctx is done.
func (h *Hints) Watch(ctx context.Context, changed func(Hint)) {
	h.mu.Lock()
	if h.watchers == nil {
		h.watchers = map[int]func(Hint){}
	}
	id := h.next
	h.next++
	h.watchers[id] = changed
	for key := range h.undelivered {
		changed(Hint{Key: key})
	}
	h.undelivered = nil
	h.mu.Unlock()
	<-ctx.Done()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers, id)
}

// Send sends an event for key to all watchers.
func (h *Hints) Send(key Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.watchers) == 0 {
		if h.undelivered == nil {
			h.undelivered = map[Key]struct{}{}
		}
		h.undelivered[key] = struct{}{}
	}
	for _, changed := range h.watchers {
		changed(Hint{Key: key})
	}
}
