// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"sync"
	"sync/atomic"
)

// parking holds the waiting Gets.
type parking[K comparable] struct {
	// stack holds them, last in, first out: the warmest worker comes first.
	stack []*waiter[K]
	pool  sync.Pool
	// parked is the length of stack. A Get counts itself before it looks for the
	// last time whether something was left in pending; whoever leaves something
	// there looks at parked afterwards.
	parked atomic.Int32
	// waking: a woken Get is on its way and has not run yet. Meanwhile no other
	// is woken; it wakes the next itself if more is set.
	waking, more atomic.Bool
}

// handover is what a woken Get returns.
type handover[K comparable] struct {
	key      K
	priority int
	shutdown bool
}

type waiter[K comparable] struct{ ch chan handover[K] }

// push parks the calling Get.
func (p *parking[K]) push() *waiter[K] {
	w, ok := p.pool.Get().(*waiter[K])
	if !ok {
		w = &waiter[K]{ch: make(chan handover[K], 1)}
	}
	p.stack = append(p.stack, w)
	p.parked.Add(1)
	return w
}

func (p *parking[K]) pop() *waiter[K] {
	p.parked.Add(-1)
	n := len(p.stack) - 1
	w := p.stack[n]
	p.stack[n] = nil
	p.stack = shrunk(p.stack[:n])
	return w
}

// leaveToWoken reports whether a woken Get is on its way that will take the lock
// for whatever there is now.
func (p *parking[K]) leaveToWoken() bool {
	if !p.waking.Load() {
		return false
	}
	if !p.more.Load() {
		p.more.Store(true)
	}
	// The woken Get clears waking before it reads more: if it is still set,
	// that Get has yet to read what was just stored.
	return p.waking.Load()
}

// handOver takes the next key for the last Get that parked, of which there is
// one. It returns nil if there is no key, or if another call waits for the lock or a
// woken Get is on its way: they will see to it. The caller holds the lock and sends
// after giving it back.
func (q *Queue[K]) handOver(now int64) (*waiter[K], handover[K]) {
	p := &q.park
	if q.core.ready == 0 && len(q.core.due) == 0 {
		return nil, handover[K]{}
	}
	if q.waiting.Load() > 0 || p.leaveToWoken() {
		return nil, handover[K]{}
	}
	key, priority, ok := q.core.pop(now)
	if !ok {
		return nil, handover[K]{}
	}
	p.waking.Store(true)
	w := p.pop()
	if q.core.ready > 0 && len(p.stack) > 0 && !p.more.Load() {
		p.more.Store(true)
	}
	return w, handover[K]{key: key, priority: priority}
}

// passOn ends a Get's way from being woken, and wakes the next if there was
// reason to while it was on its way.
func (q *Queue[K]) passOn() {
	q.park.waking.Store(false)
	if !q.park.more.Load() {
		return
	}
	q.lock()
	q.park.more.Store(false)
	q.release()
}
