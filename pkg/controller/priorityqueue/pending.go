// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"sync"
	"sync/atomic"
)

// maxPending bounds the operations left to the holder of the lock; beyond, a
// caller waits for the lock like everybody.
const maxPending = 128

// maxRounds bounds how often a call that gives the lock back takes it again for
// what others left meanwhile.
const maxRounds = 8

// operation is an Add whose caller found the lock taken and left it to the
// holder instead of waiting.
type operation[K comparable] struct {
	next     *operation[K]
	key      K
	group    string
	hash     uint64
	priority int
	// due is when an add is ready; 0 is at once.
	due int64
	// retry: the add counts as one.
	retry bool
}

// pending is a list of operations that callers push without the lock, and that
// every holder of the lock applies before it does anything else, and once more
// before it goes. So an operation takes effect before any call that starts
// after it returned.
type pending[K comparable] struct {
	// last is the operation pushed last; next leads to those before it.
	last  atomic.Pointer[operation[K]]
	count atomic.Int32
	pool  sync.Pool
}

// push leaves an operation to the holder of the lock. It returns false if too
// many wait there already.
func (p *pending[K]) push(o operation[K]) bool {
	if p.count.Add(1) > maxPending {
		p.count.Add(-1)
		return false
	}
	n, ok := p.pool.Get().(*operation[K])
	if !ok {
		n = new(operation[K])
	}
	*n = o
	for {
		n.next = p.last.Load()
		if p.last.CompareAndSwap(n.next, n) {
			return true
		}
	}
}

// take returns all operations, linked in the order in which they were pushed.
func (p *pending[K]) take() *operation[K] {
	var first *operation[K]
	for o := p.last.Swap(nil); o != nil; {
		o.next, first, o = first, o, o.next
	}
	return first
}

// drop gives an applied operation back and returns the one after it.
func (p *pending[K]) drop(o *operation[K]) *operation[K] {
	next := o.next
	*o = operation[K]{}
	p.pool.Put(o)
	p.count.Add(-1)
	return next
}

// leave leaves an operation to the holder of the lock, of which there was one a
// moment ago. It returns false if the caller must take the lock itself.
func (q *Queue[K]) leave(o operation[K]) bool {
	if !q.pending.push(o) {
		return false
	}
	// A holder that went without seeing the operation has left the lock free;
	// one that is there now will see it.
	q.serve()
	return true
}

// lock takes the lock and applies what others left.
func (q *Queue[K]) lock() {
	q.mu.Lock()
	q.applyPending()
}

func (q *Queue[K]) applyPending() {
	if q.pending.last.Load() == nil {
		return
	}
	for o := q.pending.take(); o != nil; o = q.pending.drop(o) {
		q.apply(o)
	}
}

// apply adds to the core as the operation says. The caller holds the lock.
func (q *Queue[K]) apply(o *operation[K]) {
	if q.closed {
		return
	}
	if o.retry {
		q.core.stats.retried()
	}
	var now int64
	if o.due > 0 {
		now = q.now()
	} else {
		now = q.time()
	}
	q.core.add(o.hash, o.key, o.group, o.priority, max(o.due, now), now)
}

// unlock gives the lock back, and wakes a waiting Get if there is a key for it.
func (q *Queue[K]) unlock(now int64) {
	if len(q.park.stack) > 0 {
		q.unlockAndWake(now)
	} else {
		q.mu.Unlock()
	}
	if q.pending.last.Load() != nil {
		q.serve()
	}
}

// serve applies what others left too late for the one that gave the lock back.
func (q *Queue[K]) serve() {
	for rounds := 1; q.again(); rounds++ {
		if rounds == maxRounds {
			// Others keep leaving operations: make them wait for the lock
			// until this call has returned.
			q.pending.count.Add(maxPending)
			defer q.pending.count.Add(-maxPending)
		}
		q.unlockAndWake(q.time())
	}
}

func (q *Queue[K]) unlockAndWake(now int64) {
	if len(q.park.stack) == 0 {
		q.mu.Unlock()
		return
	}
	q.setAlarm(now)
	w, h := q.handOver(now)
	q.mu.Unlock()
	if w != nil {
		w.ch <- h
	}
}

// again follows every giving back of the lock. If an operation was left too
// late to be seen, it takes the lock and applies the operation, and returns
// true; if another has the lock by now, that one sees to it.
func (q *Queue[K]) again() bool {
	if q.pending.last.Load() == nil || !q.mu.TryLock() {
		return false
	}
	q.applyPending()
	return true
}

// release is unlock for calls that did not take the time.
func (q *Queue[K]) release() { q.unlock(q.time()) }
