// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

// Builder assembles a controller from its parts. Its methods change and return it; Build reports their errors.
type Builder[K comparable] struct {
	options Options[K]
	loop    Loop[K]
	err     error
}

// For returns a Builder of a controller that reads from informers. By default the controller has one worker and a queue
// in strict order of priority.
func For[K comparable](name string, informers ...Informers) *Builder[K] {
	return &Builder[K]{options: Options[K]{Name: name}, loop: Loop[K]{informers: informers}}
}

// Queue sets the queue.
func (b *Builder[K]) Queue(q *priorityqueue.Queue[K]) *Builder[K] {
	b.loop.Keys = q
	return b
}

// Workers sets the number of keys that are reconciled at the same time.
func (b *Builder[K]) Workers(n int) *Builder[K] {
	b.options.Workers = n
	return b
}

// Reconciler sets the function that reconciles a key. It is required.
func (b *Builder[K]) Reconciler(r Reconciler[K]) *Builder[K] {
	b.options.Reconciler = r
	return b
}

// Priority sets the function that computes the priority of a key that is queued again after a reconcile.
func (b *Builder[K]) Priority(f func(K) int) *Builder[K] {
	b.options.Priority = f
	return b
}

// Index adds indexes to an informer, which must not have started.
func (b *Builder[K]) Index(informer cache.SharedIndexInformer, indexers cache.Indexers) *Builder[K] {
	if err := informer.AddIndexers(indexers); err != nil {
		b.err = errors.Join(b.err, fmt.Errorf("controller %s: adding indexes: %w", b.options.Name, err))
	}
	return b
}

// Watches registers event handlers of an informer. The controller reconciles no key before the handlers have processed
// the initial list.
func (b *Builder[K]) Watches(informer cache.SharedIndexInformer, handlers ...cache.ResourceEventHandler) *Builder[K] {
	for _, h := range handlers {
		b.loop.sources = append(b.loop.sources, Source{Informer: informer, Handler: h})
	}
	return b
}

// Reads adds informers whose events are not handled. The controller reconciles no key before they have the initial
// list.
func (b *Builder[K]) Reads(informers ...cache.SharedIndexInformer) *Builder[K] {
	for _, i := range informers {
		b.loop.synced = append(b.loop.synced, i.HasSynced)
	}
	return b
}

// Shard makes the controller call gained with each vCenter whose objects this replica begins to reconcile.
func (b *Builder[K]) Shard(s Shard, gained func(vcenter string)) *Builder[K] {
	return b.RunsInParallel(func(ctx context.Context) { s.Watch(ctx, gained) })
}

// BeforeSync adds a function that Run calls before it waits for the initial lists. The function returns end, which Run
// calls after the workers have ended and ctx is done.
func (b *Builder[K]) BeforeSync(f func(ctx context.Context) (end func(), err error)) *Builder[K] {
	b.loop.before = append(b.loop.before, f)
	return b
}

// RunsInParallel adds a function that runs in parallel with the workers until ctx is done.
func (b *Builder[K]) RunsInParallel(f func(ctx context.Context)) *Builder[K] {
	b.loop.parallel = append(b.loop.parallel, f)
	return b
}

// Build returns the controller, which does nothing until Run is called. Call Build before the informers are started.
func (b *Builder[K]) Build() (*Loop[K], error) {
	if b.err != nil {
		return nil, b.err
	}
	if b.loop.Keys == nil {
		b.loop.Keys = priorityqueue.New(b.options.Name, priorityqueue.WithRateLimiter(NewRateLimiter[K]()))
	}
	b.options.Queue = b.loop.Keys
	b.loop.controller = New(b.options)
	return &b.loop, nil
}

// CheckDeps returns an error that lists the fields of a struct that are nil, except the optional ones.
func CheckDeps(name string, deps any, optional ...string) error {
	var missing []string
	v := reflect.ValueOf(deps)
	for i := range v.NumField() {
		field := v.Type().Field(i).Name
		switch f := v.Field(i); f.Kind() {
		case reflect.Interface, reflect.Func, reflect.Pointer:
			if f.IsNil() && !slices.Contains(optional, field) {
				missing = append(missing, field)
			}
		default:
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("controller %s: missing %s", name, strings.Join(missing, ", "))
}

// Clock returns now, or time.Now if that is nil.
func Clock(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return now
}
