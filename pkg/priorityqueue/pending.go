// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"sync"
	"sync/atomic"
)

// maxPending bounds the adds left to others; beyond, a caller waits for the lock
// like a worker, so that producers that outrun the workers do not hold them up. At
// 10,000 adds a second it lasts while a holder of the lock is without a processor
// for 50 ms.
const maxPending = 512

// herd is the number of calls that wait for the lock from which on an Add leaves
// its key to them even if the lock is free: with fewer, taking it costs less.
const herd = 8

// maxRounds bounds how often a call that gives the lock back takes it again for
// what others left meanwhile, before a goroutine goes on with that.
const maxRounds = 4

// operation is an Add.
type operation[K comparable] struct {
	next     *operation[K]
	key      K
	group    string
	hash     uint64
	priority int
	// at is the time of the call, and its place in the order if there are
	// delayed keys. due is when the key is ready; 0 is at once.
	at, due int64
	// ages: aging applies to the priority.
	ages bool
	// retry: the add counts as one.
	retry bool
}

// pending is a list of operations that callers push who do not have the lock. Every
// holder of the lock applies them before it does anything else, so that an operation
// takes effect before any call that starts after it returned.
type pending[K comparable] struct {
	// last is the operation pushed last; next leads to those before it.
	last  atomic.Pointer[operation[K]]
	count atomic.Int32
	pool  sync.Pool
}

// push adds a copy of an operation. It returns false if there are too many.
func (p *pending[K]) push(o *operation[K]) bool {
	if p.count.Add(1) > maxPending {
		p.count.Add(-1)
		return false
	}
	n, ok := p.pool.Get().(*operation[K])
	if !ok {
		n = new(operation[K])
	}
	*n = *o
	for {
		n.next = p.last.Load()
		if p.last.CompareAndSwap(n.next, n) {
			return true
		}
	}
}

func (p *pending[K]) empty() bool { return p.last.Load() == nil }

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
