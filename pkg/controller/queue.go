// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

// retryBase and retryMax bound the growing delay of a key that fails.
const (
	retryBase = 50 * time.Millisecond
	retryMax  = 5 * time.Minute
)

// agesBelow is the priority of what is to be created, the highest of virtual machines and Machines.
const agesBelow = 100

// QueueOptions say in which order the keys of a queue are handed out, beside their
// priorities. The zero value is the strict order.
type QueueOptions struct {
	// Aging limits how long all priorities but the highest can starve; with 0 they can for ever.
	Aging time.Duration
	// Fairness lets the namespaces take turns within one priority.
	Fairness bool
}

// NewQueue makes the queue of a controller of that name.
func NewQueue(name string, o QueueOptions) *priorityqueue.Queue[types.NamespacedName] {
	type key = types.NamespacedName
	options := []priorityqueue.Option[key]{priorityqueue.WithRateLimiter(NewRateLimiter[key]())}
	if o.Aging > 0 {
		options = append(options, priorityqueue.WithAging[key](priorityqueue.Aging{After: o.Aging, Below: agesBelow}))
	}
	if o.Fairness {
		options = append(options, priorityqueue.WithFairness(func(k key) string { return k.Namespace }))
	}
	return priorityqueue.New(name, options...)
}

// NewRateLimiter makes the growing delay of the keys of a queue that fail.
func NewRateLimiter[K comparable]() workqueue.TypedRateLimiter[K] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[K](retryBase, retryMax)
}
