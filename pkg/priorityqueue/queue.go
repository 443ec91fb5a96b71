// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"math"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// Queue is a priority workqueue. The package documentation lists its guarantees.
// Create it with New; it must not be copied.
type Queue[K comparable] struct {
	name    string
	limiter workqueue.TypedRateLimiter[K]
	// group is the function of WithFairness. Like limiter, it is called without mu.
	group func(K) string
	// start is the zero of the queue's time.
	start time.Time

	// mu protects the fields below.
	mu   sync.Mutex
	core *core[K]
	// waiting holds the Gets that wait for a key, the latest last. While mu is not held
	// and a Get waits, core has no key to hand out.
	waiting []chan handOut[K]
	// timer fires at timerAt, which is never if that is math.MaxInt64. While a Get waits
	// and keys are delayed, timerAt is not later than the first ready time.
	timer   *time.Timer
	timerAt int64
	// closed is set by ShutDown and ShutDownWithDrain.
	closed bool
	// drained is closed when nothing is queued or in process. It is nil if no
	// ShutDownWithDrain waits.
	drained chan struct{}
}

var _ Interface[string] = (*Queue[string])(nil)

// New returns an empty queue. The name is used in metrics and snapshots. A queue has no
// goroutine and needs no shutdown to be collected.
func New[K comparable](name string, options ...Option[K]) *Queue[K] {
	c := config[K]{group: func(K) string { return "" }}
	for _, o := range options {
		o(&c)
	}
	if c.limiter == nil {
		c.limiter = workqueue.DefaultTypedControllerRateLimiter[K]()
	}
	return &Queue[K]{
		name: name, limiter: c.limiter, group: c.group,
		start: time.Now(), core: newCore[K](c.aging), timerAt: math.MaxInt64,
	}
}

// now returns the nanoseconds since start.
func (q *Queue[K]) now() int64 { return int64(time.Since(q.start)) }

// Add queues a key with priority 0, ready immediately.
func (q *Queue[K]) Add(key K) { q.AddWithOpts(AddOpts{}, key) }

// AddAfter queues a key with priority 0, ready after the delay.
func (q *Queue[K]) AddAfter(key K, delay time.Duration) {
	q.AddWithOpts(AddOpts{After: delay}, key)
}

// AddRateLimited queues a key with priority 0, ready after the rate limiter's delay.
func (q *Queue[K]) AddRateLimited(key K) { q.AddWithOpts(AddOpts{RateLimited: true}, key) }

// AddWithOpts queues keys; see Interface.
func (q *Queue[K]) AddWithOpts(o AddOpts, keys ...K) {
	for _, key := range keys {
		after, due := o.After, int64(0)
		if o.RateLimited {
			if limit := q.limiter.When(key); after <= 0 || limit < after {
				after = limit
			}
		}
		if after > 0 {
			if due = q.now() + int64(after); due < 0 {
				due = math.MaxInt64
			}
		}
		q.add(key, o.Priority, q.group(key), due, after > 0 || o.RateLimited)
	}
}

func (q *Queue[K]) add(key K, priority int, group string, due int64, retry bool) {
	q.mu.Lock()
	defer q.mu.Unlock() // also if key is of an interface type and cannot be compared
	if q.closed {
		return
	}
	now := q.now()
	q.core.add(key, priority, group, due, now)
	if retry {
		q.core.stats.retries++
	}
	q.serveWaiting(now)
}

// Get waits for a key and hands it out. The caller must call Done with the key. If
// shutdown is true there is no key, because the queue was shut down and is empty.
func (q *Queue[K]) Get() (key K, shutdown bool) {
	key, _, shutdown = q.GetWithPriority()
	return key, shutdown
}

// GetWithPriority is Get, and also returns the priority of the key.
func (q *Queue[K]) GetWithPriority() (key K, priority int, shutdown bool) {
	q.mu.Lock()
	now := q.now()
	key, priority, ok := q.core.pop(now)
	if ok || q.closed {
		q.mu.Unlock()
		return key, priority, !ok
	}
	h := q.addWaiting(now)
	q.mu.Unlock()
	got := <-h
	return got.key, got.priority, got.shutdown
}

// Done ends the processing of a key that Get returned. If the key was added in the
// meantime, it can be handed out from now on, at the position of that Add. For any
// other key, Done does nothing.
func (q *Queue[K]) Done(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	q.core.done(key, now)
	q.serveWaiting(now)
	q.checkDrained()
}

// Len returns the number of ready keys. It includes keys in process that were added again.
func (q *Queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.core.promote(q.now())
	return q.core.ready
}

// Remove removes a key from the queue, ready or delayed, and reports whether it was
// queued. If a worker has the key, the key stays in process. Remove does not call Forget.
func (q *Queue[K]) Remove(key K) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	removed := q.core.remove(key)
	q.checkDrained()
	return removed
}

// Yield ends the turn of a group if it is next at the highest priority and other groups
// of that priority wait for their turns.
func (q *Queue[K]) Yield(group string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.core.promote(q.now())
	q.core.yield(group)
}

// Forget resets the rate limiter's count of a key.
func (q *Queue[K]) Forget(key K) { q.limiter.Forget(key) }

// NumRequeues returns how many rate-limited adds of a key there were since Forget.
func (q *Queue[K]) NumRequeues(key K) int { return q.limiter.NumRequeues(key) }
