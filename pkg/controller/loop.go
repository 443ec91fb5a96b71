// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	"github.com/slipway-dev/slipway/pkg/priorityqueue"
	"github.com/slipway-dev/slipway/pkg/priorityqueue/exposition"
)

// Loop is a controller built by Builder: a queue, its workers and the functions that run with them. The type that adds
// keys to the queue embeds it.
type Loop[K comparable] struct {
	// Keys is the queue.
	Keys       *priorityqueue.Queue[K]
	controller *Controller[K]
	informers  []Informers
	sources    []Source
	synced     []cache.InformerSynced
	before     []func(ctx context.Context) (end func(), err error)
	parallel   []func(ctx context.Context)
}

// Informers is a set of informers that can be started. Starting it again has no effect on informers that are running.
type Informers interface {
	StartWithContext(ctx context.Context)
}

// Queue returns the queue for inspection.
func (l *Loop[K]) Queue() priorityqueue.Snapshotter { return l.Keys }

// Collectors returns the collectors of the metrics of the queue and the controller.
func (l *Loop[K]) Collectors() []prometheus.Collector {
	return []prometheus.Collector{exposition.Collector(l.Keys), l.controller.Collector()}
}

// RecordTo sets the recorder of events about writes that are limited. It must be called before Run.
func (l *Loop[K]) RecordTo(recorder events.EventRecorder) { l.controller.recorder = recorder }

// EnqueueAfter queues a key after a delay, because of an event of another object or of vCenter.
func (l *Loop[K]) EnqueueAfter(key K, after time.Duration) {
	l.Keys.AddWithOpts(priorityqueue.AddOpts{Priority: PriorityDefaultGeneric, After: after}, key)
}

// EnqueueIndexed queues the objects that an index of a store has under value, with the delay Settle. If filter is not
// nil, only objects for which it returns true are queued.
func EnqueueIndexed[T Object](l *Loop[types.NamespacedName], s Store[T], index, value string, filter func(T) bool) {
	found, err := s.ByIndex(index, value)
	if err != nil {
		return // only for an index that does not exist
	}
	for _, o := range found {
		if filter == nil || filter(o) {
			l.EnqueueAfter(KeyOf(o), Settle)
		}
	}
}

// Run starts the informers and reconciles until ctx is done. It returns when everything that it started has ended,
// except the informers, which others may use and which end with ctx. It returns an error if the caches could not be
// filled. It must be called at most once.
func (l *Loop[K]) Run(ctx context.Context) error {
	running, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	var ends []func()
	defer func() {
		cancel()
		for _, end := range slices.Backward(ends) {
			end()
		}
		all.Wait()
	}()
	synced, err := l.register(ctx)
	if err != nil {
		return err
	}
	for _, begin := range l.before {
		end, err := begin(running)
		if err != nil {
			return err
		}
		ends = append(ends, end)
	}
	if err := l.waitForSync(ctx, synced); err != nil {
		return err
	}
	for _, f := range l.parallel {
		all.Go(func() { f(running) })
	}
	l.controller.Run(running)
	return nil
}

// Sync starts the informers, registers the event handlers and returns when these have processed the initial lists. Run
// does the same before it reconciles.
func (l *Loop[K]) Sync(ctx context.Context) error {
	synced, err := l.register(ctx)
	if err != nil {
		return err
	}
	return l.waitForSync(ctx, synced)
}

// register starts the informers and registers the event handlers.
func (l *Loop[K]) register(ctx context.Context) ([]cache.InformerSynced, error) {
	for _, f := range l.informers {
		f.StartWithContext(ctx)
	}
	return Register(l.sources...)
}

// waitForSync returns when the caches and the handlers have the initial lists.
func (l *Loop[K]) waitForSync(ctx context.Context, synced []cache.InformerSynced) error {
	if !cache.WaitForCacheSync(ctx.Done(), slices.Concat(synced, l.synced)...) {
		return fmt.Errorf("controller %s stopped before its caches were filled: %w", l.controller.options.Name, context.Cause(ctx))
	}
	return nil
}
