// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import "hash/maphash"

// none is the number that names nothing: no slot, lane, level or record.
const none int32 = -1

const (
	chunkBits = 8
	chunkSize = 1 << chunkBits
	// keptChunks is how many chunks without an entry a table keeps, so that a
	// small queue that fills and drains does not allocate.
	keptChunks = 8
)

// table finds entries by key and by number. An entry stays where it is, and keeps
// its number, until it is removed: pointers to it hold as long. Entries live in
// chunks, so that growing neither copies nor stalls and an entry costs no
// allocation of its own. A chunk is given back with its last entry.
type table[K comparable, V any] struct {
	seed   maphash.Seed
	index  index
	chunks []*chunk[K, V]
	// open lists the numbers of the chunks that are not full; the last is filled
	// first. Those that were given back are among them.
	open []int32
	// spare counts the chunks without an entry that are kept.
	spare int
	// used counts the entries.
	used int
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

type chunk[K comparable, V any] struct {
	entry [chunkSize]entry[K, V]
	// free[used:] are the free entries.
	free [chunkSize]uint8
	used int
}

func newTable[K comparable, V any]() table[K, V] { return table[K, V]{seed: maphash.MakeSeed()} }

// hash panics if K is an interface type and the key's dynamic type is not
// comparable.
func (t *table[K, V]) hash(key K) uint64 { return maphash.Comparable(t.seed, key) }

func (t *table[K, V]) entry(i int32) *entry[K, V] {
	return &t.chunks[uint32(i)>>chunkBits].entry[uint32(i)%chunkSize]
}

func (t *table[K, V]) at(i int32) *V { return &t.entry(i).value }

func (t *table[K, V]) key(i int32) K { return t.entry(i).key }

// find returns the number of a key with its hash, or none.
func (t *table[K, V]) find(h uint64, key K) int32 {
	s := t.index.of(h)
	if s.used == 0 {
		return none
	}
	mask := uint32(len(s.refs) - 1)
	for i := uint32(h) & mask; ; i = (i + 1) & mask {
		r := s.refs[i]
		if r.number == 0 {
			return none
		}
		if r.hash == uint32(h) && t.entry(int32(r.number-1)).key == key {
			return int32(r.number - 1)
		}
	}
}

// insert adds a key that is not in the table.
func (t *table[K, V]) insert(h uint64, key K, value V) int32 {
	if len(t.open) == 0 {
		t.open = append(t.open, int32(len(t.chunks)))
		t.chunks = append(t.chunks, nil)
	}
	n := t.open[len(t.open)-1]
	c := t.chunks[n]
	switch {
	case c == nil:
		c = &chunk[K, V]{}
		for i := range c.free {
			c.free[i] = uint8(i)
		}
		t.chunks[n] = c
	case c.used == 0:
		t.spare--
	}
	i := c.free[c.used]
	c.entry[i] = entry[K, V]{key, value}
	c.used++
	if c.used == chunkSize {
		t.open = t.open[:len(t.open)-1]
	}
	t.used++
	number := n<<chunkBits | int32(i)
	t.index.insert(h, number)
	return number
}

// remove takes out an entry that is in the table; h is its key's hash.
func (t *table[K, V]) remove(h uint64, number int32) {
	t.index.remove(h, number)
	t.used--
	n := number >> chunkBits
	c := t.chunks[n]
	if c.used == chunkSize {
		t.open = append(t.open, n)
	}
	i := uint8(number % chunkSize)
	c.entry[i] = entry[K, V]{}
	c.used--
	c.free[c.used] = i
	switch {
	case c.used > 0:
	case t.spare < keptChunks:
		t.spare++
	default:
		t.chunks[n] = nil
	}
}
