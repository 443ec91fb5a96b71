// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

// ShuttingDown reports whether ShutDown or ShutDownWithDrain was called.
func (q *Queue[K]) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// ShutDown makes the queue ignore adds and drops the delayed keys. Ready keys are still
// handed out; after them, every Get returns shutdown. ShutDown also ends the wait of
// ShutDownWithDrain. More calls do nothing.
func (q *Queue[K]) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.close()
	q.endDrain()
}

// ShutDownWithDrain is ShutDown, and returns when all ready keys were handed out and
// Done was called for all keys in process. If workers stop before that, call ShutDown
// to end the wait.
func (q *Queue[K]) ShutDownWithDrain() {
	if drained := q.startDrain(); drained != nil {
		<-drained
	}
}

// startDrain shuts the queue down and returns a channel that is closed when the queue is
// drained, or nil if it is already drained.
func (q *Queue[K]) startDrain() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.close()
	if q.drained == nil && !q.isEmpty() {
		q.drained = make(chan struct{})
	}
	return q.drained
}

// close shuts the queue down and ends the waiting Gets, because no key can be added from now
// on. A key in process that was added again is left to the worker that has it. The caller
// holds mu.
func (q *Queue[K]) close() {
	if q.closed {
		return
	}
	q.closed = true
	now := q.now()
	q.core.promote(now)
	q.core.dropDelayed()
	q.serveWaiting(now)
	for len(q.waiting) > 0 {
		q.respond(handOut[K]{shutdown: true})
	}
	if q.timer != nil {
		q.timer.Stop()
	}
}

func (q *Queue[K]) isEmpty() bool { return q.core.ready == 0 && len(q.core.working) == 0 }

// checkDrained ends the wait of ShutDownWithDrain if the queue is drained.
func (q *Queue[K]) checkDrained() {
	if q.drained != nil && q.isEmpty() {
		q.endDrain()
	}
}

func (q *Queue[K]) endDrain() {
	if q.drained != nil {
		close(q.drained)
		q.drained = nil
	}
}
