// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

// arity is the number of children of a node. With four, the children of a node are
// next to each other in memory and the heap has half the levels of a binary one.
const arity = 4

// rank is the sort key of a heap: lower major first, then lower minor.
type rank struct {
	major int64
	minor uint64
}

func (r rank) before(o rank) bool {
	return r.major < o.major || (r.major == o.major && r.minor < o.minor)
}

// heap is a min-heap of values by rank. Ranks are stored in the slice, so that a
// comparison does not follow a pointer.
type heap[T any] []node[T]

type node[T any] struct {
	rank   rank
	handle *handle[T]
}

// handle connects a value with its position in a heap, so that the value can be moved
// or removed. It is a field of the value, and is in at most one heap.
type handle[T any] struct {
	value T
	index int
}

// first returns the value with the lowest rank. The heap is not empty.
func (h heap[T]) first() T { return h[0].handle.value }

func (h *heap[T]) push(x *handle[T], r rank) {
	*h = append(*h, node[T]{r, x})
	h.up(len(*h)-1, node[T]{r, x})
}

// move changes the rank of a value that is in the heap.
func (h heap[T]) move(x *handle[T], r rank) {
	n := node[T]{r, x}
	h.up(h.down(x.index, n), n)
}

// remove removes a value that is in the heap.
func (h *heap[T]) remove(x *handle[T]) {
	last := len(*h) - 1
	n := (*h)[last]
	(*h)[last] = node[T]{}
	*h = shrunk((*h)[:last])
	if x.index < last {
		h.up(h.down(x.index, n), n)
	}
}

// up moves the hole at i up to the position of n, and stores n there.
func (h heap[T]) up(i int, n node[T]) {
	for i > 0 {
		parent := (i - 1) / arity
		if !n.rank.before(h[parent].rank) {
			break
		}
		h.set(i, h[parent])
		i = parent
	}
	h.set(i, n)
}

// down moves the hole at i down as long as a child precedes n, and returns its index.
func (h heap[T]) down(i int, n node[T]) int {
	for {
		least := arity*i + 1
		if least >= len(h) {
			return i
		}
		for c := least + 1; c < min(arity*i+1+arity, len(h)); c++ {
			if h[c].rank.before(h[least].rank) {
				least = c
			}
		}
		if !h[least].rank.before(n.rank) {
			return i
		}
		h.set(i, h[least])
		i = least
	}
}

func (h heap[T]) set(i int, n node[T]) {
	h[i] = n
	n.handle.index = i
}

// shrunk returns s, reallocated if it uses less than an eighth of its memory.
func shrunk[T any](s []T) []T {
	if cap(s) <= 64 || 8*len(s) > cap(s) {
		return s
	}
	return append(make([]T, 0, cap(s)/4), s...)
}
