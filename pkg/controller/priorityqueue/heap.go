// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

// heapEntry is ordered by key, then by tie, lowest first.
type heapEntry struct {
	key int64
	tie uint64
	id  int32
}

func (e *heapEntry) before(o *heapEntry) bool {
	return e.key < o.key || (e.key == o.key && e.tie < o.tie)
}

// heap is a 4-ary heap. Entries carry their keys, so that sifting stays inside
// one slice; nothing knows its position, and whoever removes an element from
// the middle leaves its entry behind as a stale one.
type heap []heapEntry

func (h *heap) push(e heapEntry) {
	*h = append(*h, e)
	a := *h
	i := len(a) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&a[parent]) {
			break
		}
		a[i] = a[parent]
		i = parent
	}
	a[i] = e
}

// pop removes the first entry of a heap that has one.
func (h *heap) pop() heapEntry {
	a := *h
	first := a[0]
	n := len(a) - 1
	e := a[n]
	*h = a[:n]
	if n > 0 {
		a[:n].sift(0, e)
	} else if cap(a) > keptHeap {
		*h = nil
	}
	return first
}

// keptHeap is the largest capacity that an emptied heap keeps.
const keptHeap = 1024

// sift puts e at i or below it.
func (h heap) sift(i int, e heapEntry) {
	for {
		child := 4*i + 1
		if child >= len(h) {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, len(h)); c++ {
			if h[c].before(&h[least]) {
				least = c
			}
		}
		if !h[least].before(&e) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
}

// keep drops the entries that fail the test and restores the order.
func (h *heap) keep(test func(heapEntry) bool) {
	a := (*h)[:0]
	for _, e := range *h {
		if test(e) {
			a = append(a, e)
		}
	}
	for i := (len(a) - 2) / 4; i >= 0 && len(a) > 1; i-- {
		a.sift(i, a[i])
	}
	*h = a
}
