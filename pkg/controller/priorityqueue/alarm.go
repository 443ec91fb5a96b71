// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"math"
	"runtime"
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
	if at, ok := q.core.nextDue(); ok && at < q.wake.at {
		q.wake.at = at
		q.wake.start(time.Duration(max(at-now, 0)))
	}
}

// onAlarm makes due keys ready, in batches that let go of the lock, wakes a Get
// and sets the timer for the next key.
func (q *Queue[K]) onAlarm() {
	for {
		q.lock()
		q.wake.at = math.MaxInt64
		if q.closed {
			q.release()
			return
		}
		now := q.notBefore(q.now())
		all := q.core.promote(now, promoteBatch)
		again := !all && len(q.park.stack) > 0
		if again {
			// Nobody else needs to set the timer.
			q.wake.at = math.MinInt64
		}
		q.unlock(now)
		if !again {
			return
		}
		runtime.Gosched()
	}
}
