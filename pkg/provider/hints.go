// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"sync"
)

// EventBroadcaster delivers events to all watchers. Events that are sent while there is no watcher are stored, once per object,
// and delivered to the first watcher.
type EventBroadcaster struct {
	mu          sync.Mutex
	next        int
	watchers    map[int]func(Event)
	undelivered map[Key]struct{}
}

// Watch calls changed for every event until ctx is done.
func (h *EventBroadcaster) Watch(ctx context.Context, changed func(Event)) {
	h.mu.Lock()
	if h.watchers == nil {
		h.watchers = map[int]func(Event){}
	}
	id := h.next
	h.next++
	h.watchers[id] = changed
	for key := range h.undelivered {
		changed(Event{Key: key})
	}
	h.undelivered = nil
	h.mu.Unlock()
	<-ctx.Done()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers, id)
}

// Send sends an event for key to all watchers.
func (h *EventBroadcaster) Send(key Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.watchers) == 0 {
		if h.undelivered == nil {
			h.undelivered = map[Key]struct{}{}
		}
		h.undelivered[key] = struct{}{}
	}
	for _, changed := range h.watchers {
		changed(Event{Key: key})
	}
}
