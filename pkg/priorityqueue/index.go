// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

const (
	shardBits = 6
	shards    = 1 << shardBits
	// minRefs is the first size of a shard, and keptRefs the largest that is not
	// made smaller.
	minRefs, keptRefs = 8, 64
)

// ref leads from a hash to an entry of a table. number is one more than the
// entry's, so that the zero ref is a free one.
type ref struct {
	hash   uint32
	number uint32
}

// shard is an open-addressing table with linear probing. Its length is a power of
// two; at most three quarters of it are in use, and beyond keptRefs at least an
// eighth.
type shard struct {
	refs []ref
	used int
}

// index finds the number of a key by the key's hash. It holds no keys: table.find
// compares them. It is cut into shards by the hash's high bits, so that growing and
// shrinking rehash a small part at a time.
type index [shards]shard

func (x *index) of(h uint64) *shard { return &x[h>>(64-shardBits)] }

// all yields the numbers in the index, in no order.
func (x *index) all(yield func(int32) bool) {
	for i := range x {
		for _, r := range x[i].refs {
			if r.number != 0 && !yield(int32(r.number-1)) {
				return
			}
		}
	}
}

// insert adds a number that is not in the index.
func (x *index) insert(h uint64, number int32) {
	s := x.of(h)
	if 4*(s.used+1) > 3*len(s.refs) {
		s.resize(max(minRefs, 2*len(s.refs)))
	}
	s.place(ref{hash: uint32(h), number: uint32(number) + 1})
	s.used++
}

func (s *shard) place(r ref) {
	mask := uint32(len(s.refs) - 1)
	i := r.hash & mask
	for s.refs[i].number != 0 {
		i = (i + 1) & mask
	}
	s.refs[i] = r
}

func (s *shard) resize(n int) {
	old := s.refs
	s.refs = make([]ref, n)
	for _, r := range old {
		if r.number != 0 {
			s.place(r)
		}
	}
}

// remove takes out a number that is in the index. What stood behind it in the
// same probe sequence moves up, so that no tombstones gather.
func (x *index) remove(h uint64, number int32) {
	s := x.of(h)
	mask := uint32(len(s.refs) - 1)
	i := uint32(h) & mask
	for s.refs[i].number != uint32(number)+1 {
		i = (i + 1) & mask
	}
	for j := i; ; {
		j = (j + 1) & mask
		r := s.refs[j]
		if r.number == 0 {
			break
		}
		// r may move to i unless its home lies behind i, cyclically.
		if (j-r.hash)&mask >= (j-i)&mask {
			s.refs[i] = r
			i = j
		}
	}
	s.refs[i] = ref{}
	s.used--
	if len(s.refs) > keptRefs && 8*s.used < len(s.refs) {
		s.resize(len(s.refs) / 2)
	}
}
