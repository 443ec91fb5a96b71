// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// AddOpts are the options of AddWithOpts.
type AddOpts struct {
	// Priority is the priority of the keys: higher values are handed out first. The
	// default is 0.
	Priority int
	// After delays the keys, starting with the call. If it is not positive, there is no
	// delay.
	After time.Duration
	// RateLimited delays each key by the time that the rate limiter returns for it. If
	// After is also set, the shorter delay is used.
	RateLimited bool
}

// Interface is a rate-limited, delaying workqueue with priorities. It can be used in
// place of client-go's workqueue.
type Interface[K comparable] interface {
	workqueue.TypedRateLimitingInterface[K]

	// AddWithOpts queues keys. A key that is already queued keeps the higher priority
	// and the earlier ready time.
	AddWithOpts(o AddOpts, keys ...K)
	// GetWithPriority is Get, and also returns the priority of the key.
	GetWithPriority() (key K, priority int, shutdown bool)
}

// Option configures a queue.
type Option[K comparable] func(*config[K])

type config[K comparable] struct {
	limiter workqueue.TypedRateLimiter[K]
	aging   *Aging
	group   func(K) string
}

// WithRateLimiter sets the rate limiter. The default is client-go's
// DefaultTypedControllerRateLimiter: 5 ms to 1000 s for each key, and 10 per second
// with bursts of 100 for all keys.
func WithRateLimiter[K comparable](l workqueue.TypedRateLimiter[K]) Option[K] {
	return func(c *config[K]) { c.limiter = l }
}

// WithAging limits the starvation of low priorities. The default is strict order.
func WithAging[K comparable](a Aging) Option[K] {
	return func(c *config[K]) { c.aging = &a }
}

// WithFairness divides the keys of a priority into groups that take turns, one key at a
// time. The keys of a group keep their order. group must always return the same for a
// key. The default is one group.
func WithFairness[K comparable](group func(K) string) Option[K] {
	return func(c *config[K]) { c.group = group }
}
