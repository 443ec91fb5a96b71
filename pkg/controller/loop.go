// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	"github.com/slipway-dev/slipway/pkg/priorityqueue"
	"github.com/slipway-dev/slipway/pkg/priorityqueue/exposition"
)

// Loop is a queue and the Controller that reconciles its keys, to be embedded by what adds
// keys to it.
type Loop[K comparable] struct {
	// Keys is the queue.
	Keys       *priorityqueue.Queue[K]
	controller *Controller[K]
}

// NewLoop makes a Loop that does nothing until Run. The queue of o is keys.
func NewLoop[K comparable](keys *priorityqueue.Queue[K], o Options[K]) Loop[K] {
	o.Queue = keys
	return Loop[K]{Keys: keys, controller: New(o)}
}

// Queue returns the queue, for looking into it.
func (l Loop[K]) Queue() priorityqueue.Snapshotter { return l.Keys }

// Collectors expose what queue and loop count.
func (l Loop[K]) Collectors() []prometheus.Collector {
	return []prometheus.Collector{exposition.Collector(l.Keys), l.controller.Collector()}
}

// RecordTo sets the recorder of events about writes that are limited. It must be called before Run.
func (l Loop[K]) RecordTo(recorder events.EventRecorder) { l.controller.recorder = recorder }

// Look has a key looked at after a time, for something that happened elsewhere.
func (l Loop[K]) Look(key K, after time.Duration) {
	l.Keys.AddWithOpts(priorityqueue.AddOpts{Priority: PriorityDefaultGeneric, After: after}, key)
}

// Run reconciles as Controller does.
func (l Loop[K]) Run(ctx context.Context) { l.controller.Run(ctx) }

// Informers can be started, those that were before included.
type Informers interface {
	StartWithContext(ctx context.Context)
}

// Fill starts informers and returns when all handlers have seen the initial lists. Its
// error names the controller of which they are.
func Fill(ctx context.Context, name string, informers Informers, sources ...Source) error {
	informers.StartWithContext(ctx)
	synced, err := Register(sources...)
	if err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("controller %s stopped before its caches were filled: %w", name, context.Cause(ctx))
	}
	return nil
}
