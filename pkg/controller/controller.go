// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

// Result is the result of a successful reconcile. The zero value means that the key is reconciled again after the next
// event.
type Result struct {
	// RequeueAfter, if positive, queues the key again after that time. It takes precedence over Requeue.
	RequeueAfter time.Duration
	// Requeue queues the key again immediately and without backoff. It is set by a reconcile that changed something and
	// must check the result.
	Requeue bool
}

// Reconciler moves the object of a key closer to its desired state.
type Reconciler[K comparable] interface {
	// Reconcile handles one key. If it returns an error, the result is ignored and the key is queued again with
	// backoff.
	Reconcile(ctx context.Context, key K) (Result, error)
}

// ReconcilerFunc is a function that is a Reconciler.
type ReconcilerFunc[K comparable] func(ctx context.Context, key K) (Result, error)

// Reconcile calls f.
func (f ReconcilerFunc[K]) Reconcile(ctx context.Context, key K) (Result, error) { return f(ctx, key) }

// DefaultWorkers is the number of workers if Options.Workers is not positive.
const DefaultWorkers = 1

// Options describes a controller.
type Options[K comparable] struct {
	// Name is used in logs and metrics.
	Name string
	// Workers is the number of keys reconciled at the same time.
	Workers int
	// Queue holds the keys. If it is nil, a queue in strict order of priority is created.
	Queue priorityqueue.Interface[K]
	// Reconciler does the work. It is required.
	Reconciler Reconciler[K]
	// Priority returns a key's priority when it is queued again after a reconcile. If it is nil, the key keeps the
	// priority that it had.
	Priority func(key K) int
}

// Controller runs a Reconciler on the keys of a queue.
type Controller[K comparable] struct {
	options  Options[K]
	counts   counts
	recorder events.EventRecorder
	// reported has the keys whose objects have the WritesWithinLimit condition.
	reported sync.Map
}

// New returns a controller that does nothing until Run is called. It panics if Options has no Reconciler.
func New[K comparable](o Options[K]) *Controller[K] {
	if o.Reconciler == nil {
		panic(fmt.Sprintf("controller %q has no reconciler", o.Name))
	}
	if o.Workers <= 0 {
		o.Workers = DefaultWorkers
	}
	if o.Queue == nil {
		o.Queue = priorityqueue.New[K](o.Name)
	}
	return &Controller[K]{options: o}
}

// Queue returns the queue that event handlers add keys to.
func (c *Controller[K]) Queue() priorityqueue.Interface[K] { return c.options.Queue }

// Run reconciles until ctx is done, shuts the queue down and returns when all workers have ended. It must be called at
// most once.
func (c *Controller[K]) Run(ctx context.Context) {
	logger := klog.FromContext(ctx).WithValues("controller", c.options.Name)
	ctx = klog.NewContext(ctx, logger)
	logger.Info("Starting", "workers", c.options.Workers)
	stop := context.AfterFunc(ctx, c.Queue().ShutDown)
	defer stop()
	var workers sync.WaitGroup
	for range c.options.Workers {
		workers.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	workers.Wait()
	logger.Info("Stopped")
}

// next handles one key and reports whether the worker must continue.
func (c *Controller[K]) next(ctx context.Context) bool {
	key, priority, shutdown := c.Queue().GetWithPriority()
	if shutdown {
		return false
	}
	defer c.Queue().Done(key)
	if ctx.Err() != nil {
		return false
	}
	logger := klog.FromContext(ctx).WithValues("key", key)
	result, err := c.reconcile(klog.NewContext(ctx, logger), key)
	if err != nil && ctx.Err() != nil {
		// A reconcile that was interrupted by the end of ctx has not failed.
		logger.V(2).Info("Reconcile was interrupted", "err", err)
		return false
	}
	var limited *LimitedError
	switch {
	case errors.As(err, &limited):
		c.reportLimited(logger, key, limited)
		result, err = Result{RequeueAfter: limited.After}, nil
	case err == nil && !result.Requeue:
		if _, shown := c.reported.LoadAndDelete(key); shown && (result.RequeueAfter == 0 || result.RequeueAfter > reportAfter) {
			result.RequeueAfter = reportAfter // the next reconcile removes the condition
		}
	}
	if err != nil {
		logger.Error(err, "Reconcile failed", "failures", c.Queue().NumRequeues(key)+1)
	}
	c.requeue(key, priority, result, err)
	return true
}

// reportLimited counts a refused write. If writes have been refused for long enough, it logs that and records an event.
func (c *Controller[K]) reportLimited(logger klog.Logger, key K, limited *LimitedError) {
	c.counts.limited.Add(1)
	if !limited.Report {
		return
	}
	c.reported.Store(key, true)
	logger.Info("Writes are limited", "reason", limited.Error())
	if c.recorder != nil {
		c.recorder.Eventf(limited.Object, nil, corev1.EventTypeWarning, conditions.ReasonTooManyWrites, "Write", "%s", conditions.Note("%s", limited.Error()))
	}
}

// reconcile calls the Reconciler, counts the call and turns a panic into an error.
func (c *Controller[K]) reconcile(ctx context.Context, key K) (result Result, err error) {
	start := time.Now()
	c.counts.active.Add(1)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("reconciler %q panicked on %v: %v\n%s", c.options.Name, key, r, debug.Stack())
			c.counts.panics.Add(1)
		}
		c.counts.active.Add(-1)
		c.counts.observe(result, err, time.Since(start))
	}()
	return c.options.Reconciler.Reconcile(ctx, key)
}

// requeue queues a key again according to the outcome of its reconcile. It is called before Done, so that the key is
// ahead of keys that are added later.
func (c *Controller[K]) requeue(key K, priority int, result Result, err error) {
	o := priorityqueue.AddOpts{Priority: priority}
	switch {
	case err != nil:
		o.RateLimited = true
	case result.RequeueAfter > 0:
		o.After = result.RequeueAfter
		c.Queue().Forget(key)
	case result.Requeue:
		c.Queue().Forget(key)
	default:
		c.Queue().Forget(key)
		return
	}
	if c.options.Priority != nil {
		o.Priority = c.options.Priority(key)
	}
	c.Queue().AddWithOpts(o, key)
}
