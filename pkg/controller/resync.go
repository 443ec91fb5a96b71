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

// DefaultResyncPeriod is the interval in which every object is reconciled without an event.
const DefaultResyncPeriod = 10 * time.Minute

// resyncSlots is the number of parts that a resync period is divided into.
const resyncSlots = 60

// Resync queues every object once per period until ctx is done, as generic events that are spread evenly over the
// period. It detects changes whose events were missed.
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
				e.EnqueueGeneric(types.NamespacedName{Namespace: namespace, Name: name})
			}
		}
	}
}

// slotOf returns the part of the period in which a key is queued. It is always the same, so a key waits one whole
// period between two resyncs.
func slotOf(key string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return h.Sum32() % resyncSlots
}
