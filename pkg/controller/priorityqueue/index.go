// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

const (
	shardBits = 6
	shards    = 1 << shardBits
	// minTable is the first size of a shard's table.
	minTable = 8
	// keptTable is the largest table that a shard keeps when the queue empties.
	keptTable = 64
)

// indexEntry leads from a hash to a slot. slot is one more than the slot's
// index, so that the zero entry is a free one.
type indexEntry struct {
	hash uint32
	slot uint32
}

// indexShard is an open-addressing table with linear probing. Its length is a
// power of two and at most three quarters of it are in use.
type indexShard struct {
	entries []indexEntry
	used    int
}

// index finds the slot of a key by the key's hash. It holds no keys: those are
// in the slab, and core.find compares them there. It is cut into shards by the
// hash's high bits, so that growing rehashes a small part at a time.
type index struct {
	shard [shards]indexShard
}

func (x *index) of(h uint64) *indexShard { return &x.shard[h>>(64-shardBits)] }

// insert adds a slot that is not in the index.
func (x *index) insert(h uint64, slot int32) {
	t := x.of(h)
	if 4*(t.used+1) > 3*len(t.entries) {
		t.grow()
	}
	t.place(indexEntry{hash: uint32(h), slot: uint32(slot) + 1})
	t.used++
}

func (t *indexShard) place(e indexEntry) {
	mask := uint32(len(t.entries) - 1)
	i := e.hash & mask
	for t.entries[i].slot != 0 {
		i = (i + 1) & mask
	}
	t.entries[i] = e
}

func (t *indexShard) grow() {
	old := t.entries
	t.entries = make([]indexEntry, max(minTable, 2*len(old)))
	for _, e := range old {
		if e.slot != 0 {
			t.place(e)
		}
	}
}

// remove takes out a slot that is in the index. What stood behind it in the
// same probe sequence moves up, so that no tombstones gather.
func (x *index) remove(h uint64, slot int32) {
	t := x.of(h)
	mask := uint32(len(t.entries) - 1)
	i := uint32(h) & mask
	for t.entries[i].slot != uint32(slot)+1 {
		i = (i + 1) & mask
	}
	for j := i; ; {
		j = (j + 1) & mask
		e := t.entries[j]
		if e.slot == 0 {
			break
		}
		// e may move to i unless its home lies behind i, cyclically.
		if (j-e.hash)&mask >= (j-i)&mask {
			t.entries[i] = e
			i = j
		}
	}
	t.entries[i] = indexEntry{}
	t.used--
}

// shrink drops the large tables of an index that has become empty.
func (x *index) shrink() {
	for i := range x.shard {
		if len(x.shard[i].entries) > keptTable {
			x.shard[i].entries = nil
		}
	}
}
