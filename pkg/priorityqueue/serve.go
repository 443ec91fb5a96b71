// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

// lock takes the lock, waiting for it, and applies what others left.
func (q *Queue[K]) lock() {
	if !q.mu.TryLock() {
		q.waiting.Add(1)
		q.mu.Lock()
		q.waiting.Add(-1)
	}
	q.applyPending()
}

// leave leaves an operation to whoever takes the lock next; if too many have
// been left, it waits for the lock.
func (q *Queue[K]) leave(o *operation[K]) {
	if q.pending.push(o) {
		q.serve()
		return
	}
	q.lock()
	q.unlock(q.apply(o))
}

func (q *Queue[K]) applyPending() {
	if q.pending.empty() {
		return
	}
	for o := q.pending.take(); o != nil; o = q.pending.drop(o) {
		q.apply(o)
	}
}

// apply adds to the core as the operation says, and returns the time. The caller
// holds the lock.
func (q *Queue[K]) apply(o *operation[K]) (now int64) {
	if q.timed || o.due > 0 || len(q.core.due) > 0 {
		now = q.notBefore(o.at)
	}
	if !q.closed {
		q.core.stats.retriedIf(o.retry)
		q.core.add(o, now)
	}
	return now
}

// unlock gives the lock back, and wakes a waiting Get if there is a key for it.
func (q *Queue[K]) unlock(now int64) {
	if len(q.park.stack) > 0 {
		q.unlockAndWake(now)
	} else {
		q.mu.Unlock()
	}
	if !q.pending.empty() {
		q.serve()
	}
}

// release is unlock for calls that did not take the time.
func (q *Queue[K]) release() { q.unlock(q.time()) }

func (q *Queue[K]) unlockAndWake(now int64) {
	w, h := q.handOver(now)
	if len(q.park.stack) > 0 {
		q.setAlarm(now)
	}
	q.mu.Unlock()
	if w != nil {
		w.ch <- h
	}
}

// serve sees to it that what was left is applied if a Get is parked that may be
// waiting for it. It follows every push, and every giving back of the lock: if
// another has the lock by now, that one gives it back later.
func (q *Queue[K]) serve() {
	for range maxRounds {
		if !q.needed() || !q.mu.TryLock() {
			return
		}
		q.applyPending()
		if len(q.park.stack) > 0 {
			q.unlockAndWake(q.time())
		} else {
			q.mu.Unlock()
		}
	}
	if q.needed() {
		go q.serve()
	}
}

// needed reports whether what was left must be applied now. With no Get parked
// the next call does it, and with one on its way from there, that one.
func (q *Queue[K]) needed() bool {
	return !q.pending.empty() && q.park.parked.Load() > 0 && !q.park.leaveToWoken()
}
