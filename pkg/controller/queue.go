// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

// retryBase and retryMax are the minimum and maximum of the backoff of a key that fails.
const (
	retryBase = 50 * time.Millisecond
	retryMax  = 5 * time.Minute
)

// agingBelow is the priority of objects that must be created. It is the highest priority of VirtualMachines and
// Machines.
const agingBelow = 100

// QueueOptions specifies the order of a queue's keys in addition to their priorities. The zero value is the strict
// order of priority.
type QueueOptions struct {
	// Aging limits how long keys of all priorities but the highest can starve. If it is 0, there is no limit.
	Aging time.Duration
	// Fairness lets namespaces alternate within one priority.
	Fairness bool
}

// NewQueue returns the queue of the named controller.
func NewQueue(name string, o QueueOptions) *priorityqueue.Queue[types.NamespacedName] {
	type key = types.NamespacedName
	options := []priorityqueue.Option[key]{priorityqueue.WithRateLimiter(NewRateLimiter[key]())}
	if o.Aging > 0 {
		options = append(options, priorityqueue.WithAging[key](priorityqueue.Aging{After: o.Aging, Below: agingBelow}))
	}
	if o.Fairness {
		options = append(options, priorityqueue.WithFairness(func(k key) string { return k.Namespace }))
	}
	return priorityqueue.New(name, options...)
}

// NewRateLimiter returns the backoff of the keys of a queue.
func NewRateLimiter[K comparable]() workqueue.TypedRateLimiter[K] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[K](retryBase, retryMax)
}
