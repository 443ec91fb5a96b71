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

// heap is a 4-ary heap. Entries carry their keys, so that sifting stays inside one
// slice. moved is told where each id stands, so that it can be removed from there.
type heap []heapEntry

func (h *heap) push(e heapEntry, moved func(id, i int32)) {
	*h = append(*h, e)
	h.up(len(*h)-1, e, moved)
}

// remove takes out the entry at i.
func (h *heap) remove(i int32, moved func(id, i int32)) {
	n := len(*h) - 1
	e := (*h)[n]
	*h = shrunk((*h)[:n])
	if int(i) < n {
		h.up(h.down(int(i), e, moved), e, moved)
	}
}

// up puts e at i, or moves what must stand behind e down and puts e above it.
func (h heap) up(i int, e heapEntry, moved func(id, i int32)) {
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		moved(h[i].id, int32(i))
		i = parent
	}
	h[i] = e
	moved(e.id, int32(i))
}

// down moves what must stand before e up into i, and returns where that leaves
// room.
func (h heap) down(i int, e heapEntry, moved func(id, i int32)) int {
	for {
		child := 4*i + 1
		if child >= len(h) {
			return i
		}
		least := child
		for c := child + 1; c < min(child+4, len(h)); c++ {
			if h[c].before(&h[least]) {
				least = c
			}
		}
		if !h[least].before(&e) {
			return i
		}
		h[i] = h[least]
		moved(h[i].id, int32(i))
		i = least
	}
}

// shrunk returns s, in less memory if it uses less than a quarter of much.
func shrunk[T any](s []T) []T {
	if cap(s) <= 64 || 4*len(s) > cap(s) {
		return s
	}
	return append(make([]T, 0, cap(s)/2), s...)
}
