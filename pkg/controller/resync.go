// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"hash/fnv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// DefaultResyncPeriod is how often every object is looked at although no event tells to.
const DefaultResyncPeriod = 10 * time.Minute

// resyncSlots is how many parts the periodic resync is spread over.
const resyncSlots = 60

// Resync queues every object once per period, as a generic event and spread evenly over
// the period, until ctx is done. It finds what an event should have told.
func (e *Enqueuer[T]) Resync(ctx context.Context, period time.Duration) {
	ticker := time.NewTicker(max(period/resyncSlots, time.Millisecond))
	defer ticker.Stop()
	for slot := uint32(0); ; slot = (slot + 1) % resyncSlots {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, text := range e.Objects.informed.ListKeys() {
			if slotOf(text) != slot {
				continue
			}
			namespace, name, err := cache.SplitMetaNamespaceKey(text)
			if err == nil {
				e.Generic(types.NamespacedName{Namespace: namespace, Name: name})
			}
		}
	}
}

// slotOf is the part of the period in which a key is queued; always the same one,
// so that a key waits one whole period between two resyncs.
func slotOf(key string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return h.Sum32() % resyncSlots
}
