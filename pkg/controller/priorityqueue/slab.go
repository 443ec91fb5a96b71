// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

// none is the index that names nothing: no slot, lane, level or record.
const none int32 = -1

// Marks that slot.next carries while the slot is queued but in no lane list.
const (
	// markDelayed: the slot waits in the heap for its ready time.
	markDelayed int32 = -2
	// markPassed: the slot is ready but was reached while its key was in
	// process; done puts it back where it stood.
	markPassed int32 = -3
)

// slot is everything the queue holds of one key. It is 32 bytes beyond the key.
type slot[K comparable] struct {
	key K
	// at, in nanoseconds of the queue's clock: when a delayed key becomes
	// ready, or since when a ready key has been ready. A raise keeps it.
	at int64
	// seq grows with every entry into a lane or into the heap. The slots of a
	// lane are always sorted by it; a heap entry with another seq is stale.
	seq uint64
	// next and prev link the slots of a lane. next also holds the marks above,
	// and links the free slots.
	next, prev int32
	// lane is where the key is queued, none while it is not queued.
	lane int32
	// proc is the key's record in core.procs, none while not in process.
	proc int32
}

// linked tells whether the slot stands in its lane's list.
func (s *slot[K]) linked() bool { return s.lane != none && s.next >= none }

const (
	chunkBits = 8
	chunkSize = 1 << chunkBits
	// keptChunks is what an emptied slab keeps, so that a small queue that
	// fills and drains does not allocate.
	keptChunks = 8
)

// slab stores slots in chunks that never move, so that growing neither copies
// nor stalls, and a slot costs no allocation of its own.
type slab[K comparable] struct {
	chunks []*[chunkSize]slot[K]
	// free heads the list of slots that were used and given back.
	free int32
	// top is the number of slots ever taken since the slab was last empty.
	top int32
	// used is the number of slots in use.
	used int32
}

// at returns the slot with an index handed out by take.
func (b *slab[K]) at(i int32) *slot[K] {
	return &b.chunks[uint32(i)>>chunkBits][uint32(i)%chunkSize]
}

// take returns a slot for key that is neither queued nor in process.
func (b *slab[K]) take(key K) int32 {
	i := b.free
	if i != none {
		b.free = b.at(i).next
	} else {
		i = b.top
		if int(i)>>chunkBits == len(b.chunks) {
			b.chunks = append(b.chunks, new([chunkSize]slot[K]))
		}
		b.top++
	}
	b.used++
	s := b.at(i)
	s.key = key
	s.next, s.prev, s.lane, s.proc = none, none, none, none
	return i
}

// give takes a slot back and reports whether the slab is now empty. The key is
// cleared, so that what it points to can be collected. Emptied, the slab drops
// its memory beyond keptChunks and hands out slots in order again.
func (b *slab[K]) give(i int32) (empty bool) {
	s := b.at(i)
	var zero K
	s.key, s.seq, s.lane, s.proc = zero, 0, none, none
	b.used--
	if b.used > 0 {
		s.next = b.free
		b.free = i
		return false
	}
	b.free, b.top = none, 0
	if len(b.chunks) > keptChunks {
		kept := make([]*[chunkSize]slot[K], keptChunks)
		copy(kept, b.chunks)
		b.chunks = kept
	}
	return true
}
