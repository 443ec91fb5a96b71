// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"math"
	"time"
)

// handOut is what a Get that waited returns.
type handOut[K comparable] struct {
	key      K
	priority int
	shutdown bool
}

// addWaiting adds a waiting Get and returns the channel of its hand-out. The
// caller holds mu.
func (q *Queue[K]) addWaiting(now int64) <-chan handOut[K] {
	w := make(chan handOut[K], 1)
	q.waiting = append(q.waiting, w)
	q.setTimer(now)
	return w
}

// serveWaiting hands out keys to waiting Gets as long as there are both. The caller
// holds mu. The Get that started to wait last is served first: its goroutine and stack are the most
// likely to be in a cache.
func (q *Queue[K]) serveWaiting(now int64) {
	for len(q.waiting) > 0 {
		key, priority, ok := q.core.pop(now)
		if !ok {
			q.setTimer(now)
			return
		}
		q.respond(handOut[K]{key: key, priority: priority})
	}
}

// respond sends a hand-out to the Get that started to wait last.
func (q *Queue[K]) respond(h handOut[K]) {
	last := len(q.waiting) - 1
	q.waiting[last] <- h // The channel has room for it.
	q.waiting[last] = nil
	q.waiting = q.waiting[:last]
}

// setTimer sets the timer to the first ready time of a delayed key, unless it fires
// before that. The caller holds mu, and a Get waits.
func (q *Queue[K]) setTimer(now int64) {
	if len(q.core.due) == 0 || q.core.due[0].rank.major >= q.timerAt {
		return
	}
	q.timerAt = q.core.due[0].rank.major
	if d := time.Duration(q.timerAt - now); q.timer == nil {
		q.timer = time.AfterFunc(d, q.onTimer)
	} else {
		q.timer.Reset(d)
	}
}

// onTimer hands out keys that have become ready.
func (q *Queue[K]) onTimer() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.timerAt = math.MaxInt64
	q.serveWaiting(q.now())
}
