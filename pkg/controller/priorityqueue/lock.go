// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import "sync/atomic"

// spins is how often a call tries the lock before it parks: about as long as
// another call holds it.
const spins = 30

// lock is a mutex that is never handed over: who gives it back runs on, and who
// waits for it competes with those who come. sync.Mutex, once somebody has
// waited for a millisecond, gives itself and the processor of the one who
// unlocks to the one who waits; an Add beside a thousand workers then takes as
// long as the workers in front of it run.
type lock struct {
	// held is 1 while somebody has the lock, otherwise 0.
	held atomic.Uint32
	// workers are the calls of Get and Done that wait, and producers that outrun
	// them; others are the rest, who do not wait behind a thousand workers. One of
	// each is woken at a time.
	workers, others waiters
}

// waiters are calls that wait for a lock, first in, first out.
type waiters struct {
	// count is the number of calls that are parked or about to be. They are
	// counted before they try for the last time; who unlocks looks after letting
	// go.
	count atomic.Int32
	// woken: one of them is on its way to try again. It clears this first.
	woken atomic.Bool
	// sema holds a token while woken is set and nobody has taken it yet.
	sema chan struct{}
}

func (l *lock) init() {
	l.workers.sema = make(chan struct{}, 1)
	l.others.sema = make(chan struct{}, 1)
}

// TryLock takes the lock if it is free.
func (l *lock) TryLock() bool { return l.held.Load() == 0 && l.held.CompareAndSwap(0, 1) }

func (l *lock) spin() bool {
	for range spins {
		if l.TryLock() {
			return true
		}
	}
	return false
}

// Lock waits for the lock.
func (l *lock) Lock() { l.wait(&l.others) }

// LockAsWorker waits for the lock among the workers.
func (l *lock) LockAsWorker() { l.wait(&l.workers) }

func (l *lock) wait(among *waiters) {
	if l.spin() {
		return
	}
	among.count.Add(1)
	for !l.spin() {
		<-among.sema
		among.woken.Store(false)
	}
	among.count.Add(-1)
}

// Unlock gives the lock back.
func (l *lock) Unlock() {
	l.held.Store(0)
	if l.workers.count.Load()|l.others.count.Load() != 0 {
		l.wake()
	}
}

// wake wakes one call of each kind, if there is one and none is on its way.
func (l *lock) wake() {
	for _, w := range [...]*waiters{&l.others, &l.workers} {
		if w.count.Load() > 0 && !w.woken.Load() && w.woken.CompareAndSwap(false, true) {
			w.sema <- struct{}{}
		}
	}
}
