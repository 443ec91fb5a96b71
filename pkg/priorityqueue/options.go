// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// AddOpts says how AddWithOpts queues.
type AddOpts struct {
	// Priority: higher values are handed out first. The default is 0.
	Priority int
	// After delays the keys, counted from the call. Zero or less is no delay.
	After time.Duration
	// RateLimited delays each key by what the rate limiter says of it; together
	// with After, the shorter of the two delays holds.
	RateLimited bool
}

// Interface is a rate-limited, delaying workqueue with priorities. It can stand
// wherever client-go's workqueue stands.
type Interface[K comparable] interface {
	workqueue.TypedRateLimitingInterface[K]

	// AddWithOpts queues keys. A key that is queued already keeps the higher
	// priority and the earlier ready time.
	AddWithOpts(o AddOpts, keys ...K)
	// GetWithPriority is Get, and also returns the priority that the key was
	// queued with.
	GetWithPriority() (key K, priority int, shutdown bool)
}

// Option configures a queue.
type Option[K comparable] func(*config[K])

type config[K comparable] struct {
	limiter workqueue.TypedRateLimiter[K]
	aging   *Aging
	group   func(K) string
	metrics bool
	clock   clock.WithDelayedExecution
}

// WithRateLimiter sets the rate limiter. The default is client-go's
// DefaultTypedControllerRateLimiter: 5 ms to 1000 s per key, 10 per second and
// bursts of 100 in total.
func WithRateLimiter[K comparable](l workqueue.TypedRateLimiter[K]) Option[K] {
	return func(c *config[K]) { c.limiter = l }
}

// WithAging bounds the starvation of low priorities. The default is strict order.
func WithAging[K comparable](a Aging) Option[K] {
	return func(c *config[K]) { c.aging = &a }
}

// WithFairness divides the keys of one priority into groups that take turns,
// one key each; keys of one group keep their order. group must be a pure
// function of the key. The default is one group.
func WithFairness[K comparable](group func(K) string) Option[K] {
	return func(c *config[K]) { c.group = group }
}

// WithMetrics makes the queue count what Collector shows, and take the times
// that a Snapshot shows.
func WithMetrics[K comparable]() Option[K] {
	return func(c *config[K]) { c.metrics = true }
}

// WithClock sets the clock. The default is the machine's monotonic clock.
func WithClock[K comparable](cl clock.WithDelayedExecution) Option[K] {
	return func(c *config[K]) { c.clock = cl }
}
