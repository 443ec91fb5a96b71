// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"math"
	"time"

	"k8s.io/utils/clock"
)

// alarm is the timer that makes delayed keys ready while Gets wait for them.
// When no Get waits the next one looks by itself, and no timer runs.
type alarm struct {
	// at is when the timer fires, in the queue's time; math.MaxInt64 if it does
	// not run.
	at    int64
	timer interface {
		Stop() bool
		Reset(time.Duration) bool
	}
	start func(time.Duration)
}

func (a *alarm) init(cl clock.WithDelayedExecution, f func()) {
	a.at = math.MaxInt64
	a.start = func(d time.Duration) {
		switch {
		case a.timer != nil:
			a.timer.Reset(d)
		case cl == nil:
			a.timer = time.AfterFunc(d, f)
		default:
			// A clock may call back while it holds locks of its own.
			a.timer = cl.AfterFunc(d, func() { go f() })
		}
	}
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.at = math.MaxInt64
}

// setAlarm makes the timer fire when the first delayed key is due, if it would
// fire later or not at all. The caller holds the lock, and a Get waits.
func (q *Queue[K]) setAlarm(now int64) {
	if due := q.core.due; len(due) > 0 && due[0].key < q.wake.at {
		q.wake.at = due[0].key
		q.wake.start(time.Duration(max(q.wake.at-now, 0)))
	}
}

// onAlarm makes due keys ready, wakes a Get and sets the timer for the next key.
func (q *Queue[K]) onAlarm() {
	q.lock()
	q.wake.at = math.MaxInt64
	q.unlock(q.time())
}
