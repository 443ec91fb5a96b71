// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// Queue is a priority workqueue. The package documentation lists what it
// guarantees. Make it with New; it must not be copied.
type Queue[K comparable] struct {
	name    string
	limiter workqueue.TypedRateLimiter[K]
	// now returns nanoseconds since the queue was made.
	now func() int64
	// timed: every call takes the time, for metrics or aging. Otherwise only
	// calls that meet delayed keys do.
	timed bool

	// group and ages are WithFairness and Aging.Applies; both run without mu.
	group func(K) string
	ages  func(priority int) bool

	mu sync.Mutex
	// waiting counts the calls that wait for mu.
	waiting atomic.Int32
	// pending is what callers left who did not take mu. Every holder of mu
	// applies it before anything else.
	pending pending[K]
	core    *core[K]
	park    parking[K]
	wake    alarm
	// latest is the latest time that the core was told; time does not go back
	// for it.
	latest int64
	// closed: adds are ignored, and a Get that finds nothing returns.
	closed bool
	// drained is closed when a draining queue is empty and nothing is in
	// process; nil while nobody waits for that.
	drained chan struct{}
}

var _ Interface[string] = (*Queue[string])(nil)

// New returns an empty queue that needs no goroutine. The name is the metrics'
// label "name".
func New[K comparable](name string, options ...Option[K]) *Queue[K] {
	c := config[K]{}
	for _, o := range options {
		o(&c)
	}
	if c.limiter == nil {
		c.limiter = workqueue.DefaultTypedControllerRateLimiter[K]()
	}
	var s *stats
	if c.metrics {
		s = newStats()
	}
	q := &Queue[K]{
		name:    name,
		limiter: c.limiter,
		now:     elapsed(c.clock),
		timed:   c.metrics || c.aging != nil,
		core:    newCore[K](c.aging, s),
		group:   c.group,
	}
	if c.aging != nil {
		q.ages = c.aging.Applies
	}
	q.wake.init(c.clock, q.onAlarm)
	return q
}

// elapsed returns a function that tells the nanoseconds since this call.
func elapsed(cl clock.WithDelayedExecution) func() int64 {
	if cl == nil {
		start := time.Now()
		return func() int64 { return int64(time.Since(start)) }
	}
	start := cl.Now()
	return func() int64 { return int64(cl.Since(start)) }
}

// time returns the time for a call of the core, or 0 if nothing needs it.
// The caller holds the lock.
func (q *Queue[K]) time() int64 {
	if q.timed || len(q.core.due) > 0 {
		return q.notBefore(q.now())
	}
	return 0
}

// notBefore returns a time that was taken without the lock, or the latest that
// the core was told.
func (q *Queue[K]) notBefore(now int64) int64 {
	q.latest = max(q.latest, now)
	return q.latest
}

// Add queues a key at priority 0, ready at once.
func (q *Queue[K]) Add(key K) { q.add(key, 0, 0, false) }

// AddAfter queues a key at priority 0, ready when the delay has passed.
func (q *Queue[K]) AddAfter(key K, delay time.Duration) {
	q.AddWithOpts(AddOpts{After: delay}, key)
}

// AddRateLimited queues a key at priority 0, ready when the rate limiter says.
func (q *Queue[K]) AddRateLimited(key K) {
	q.AddWithOpts(AddOpts{RateLimited: true}, key)
}

// AddWithOpts queues keys; see Interface.
func (q *Queue[K]) AddWithOpts(o AddOpts, keys ...K) {
	for _, key := range keys {
		after := o.After
		if o.RateLimited {
			if limit := q.limiter.When(key); after <= 0 || limit < after {
				after = limit
			}
		}
		q.add(key, o.Priority, after, after > 0 || o.RateLimited)
	}
}

// add queues one key. It leaves that to others if the lock is taken, or many wait
// for it.
func (q *Queue[K]) add(key K, priority int, after time.Duration, retry bool) {
	o := operation[K]{key: key, hash: q.core.slots.hash(key), priority: priority, retry: retry}
	if q.group != nil {
		o.group = q.group(key)
	}
	o.ages = q.ages == nil || q.ages(priority)
	if after > 0 {
		o.at = q.now()
		if o.due = o.at + int64(after); o.due < 0 {
			o.due = math.MaxInt64
		}
	}
	if q.waiting.Load() > herd || !q.mu.TryLock() {
		if after <= 0 {
			o.at = q.now()
		}
		q.leave(&o)
		return
	}
	q.applyPending()
	if after <= 0 {
		o.at = q.time()
	}
	q.unlock(q.apply(&o))
}

// Get waits for a key and hands it out; the caller must call Done with it.
// shutdown tells that the queue was shut down and has nothing left.
func (q *Queue[K]) Get() (key K, shutdown bool) {
	key, _, shutdown = q.GetWithPriority()
	return key, shutdown
}

// GetWithPriority is Get with the priority that the key was queued with.
func (q *Queue[K]) GetWithPriority() (key K, priority int, shutdown bool) {
	q.lock()
	now := q.time()
	key, priority, ok := q.core.pop(now)
	if ok || q.closed {
		q.unlock(now)
		return key, priority, !ok
	}
	w := q.park.push()
	q.setAlarm(now)
	q.mu.Unlock()
	q.serve()

	h := <-w.ch
	q.park.pool.Put(w)
	q.passOn()
	return h.key, h.priority, h.shutdown
}

// Done ends the processing of a key that Get returned. If the key was added
// meanwhile, it can be handed out again from now on, in the place of that Add.
// For any other key Done does nothing.
func (q *Queue[K]) Done(key K) {
	h := q.core.slots.hash(key)
	q.lock()
	now := q.time()
	q.core.done(h, key, now)
	if q.drained != nil {
		q.checkDrained()
	}
	q.unlock(now)
}

// Len returns the number of ready keys; those in process that were added again
// count.
func (q *Queue[K]) Len() int {
	q.lock()
	defer q.release()
	q.core.promote(q.time())
	return q.core.ready
}

// Yield ends the turn of a group that is next, if others of its priority wait for theirs.
// Without fairness there are none.
func (q *Queue[K]) Yield(group string) {
	q.lock()
	defer q.release()
	q.core.promote(q.time())
	q.core.yield(group)
}

// Remove takes a key out of the queue, ready or delayed, and reports whether it
// was queued. A worker that holds the key keeps it until Done; the rate limiter
// keeps what it knows of it until Forget.
func (q *Queue[K]) Remove(key K) bool {
	h := q.core.slots.hash(key)
	q.lock()
	defer q.release()
	removed := q.core.remove(h, key)
	if q.drained != nil {
		q.checkDrained()
	}
	return removed
}

// Forget makes the rate limiter forget the failures of a key.
func (q *Queue[K]) Forget(key K) { q.limiter.Forget(key) }

// NumRequeues returns how often the rate limiter was asked about a key since it
// was last told to forget it.
func (q *Queue[K]) NumRequeues(key K) int { return q.limiter.NumRequeues(key) }

// ShuttingDown reports whether ShutDown or ShutDownWithDrain was called.
func (q *Queue[K]) ShuttingDown() bool {
	q.lock()
	defer q.release()
	return q.closed
}

// ShutDown makes the queue ignore adds and drop its delayed keys. Ready keys
// are still handed out; then every Get, waiting or new, returns shutdown. It
// also ends the wait of ShutDownWithDrain. Calling it again does nothing.
func (q *Queue[K]) ShutDown() {
	q.lock()
	q.close()
	q.endDrain()
	q.release()
}

// ShutDownWithDrain is ShutDown, and returns when all ready keys have been
// handed out and Done was called for everything in process. Workers that stop
// early must be followed by a ShutDown, which ends the wait.
func (q *Queue[K]) ShutDownWithDrain() {
	q.lock()
	q.close()
	if q.drained == nil && !q.empty() {
		q.drained = make(chan struct{})
	}
	drained := q.drained
	q.release()
	if drained != nil {
		<-drained
	}
}

// close shuts the queue down. The caller holds the lock. Waiting Gets divide what
// is left among them; the others would wait for ever, as nothing can be added.
// A key in process that was added again is left to the worker that holds it.
func (q *Queue[K]) close() {
	if q.closed {
		return
	}
	q.closed = true
	now := q.time()
	q.core.promote(now)
	q.core.dropDelayed()
	q.wake.stop()
	for len(q.park.stack) > 0 {
		key, priority, ok := q.core.pop(now)
		q.park.pop().ch <- handover[K]{key: key, priority: priority, shutdown: !ok}
	}
}

func (q *Queue[K]) empty() bool { return q.core.ready == 0 && len(q.core.procs) == 0 }

// checkDrained ends the wait of ShutDownWithDrain if all is done.
func (q *Queue[K]) checkDrained() {
	if q.empty() {
		q.endDrain()
	}
}

func (q *Queue[K]) endDrain() {
	if q.drained != nil {
		close(q.drained)
		q.drained = nil
	}
}
