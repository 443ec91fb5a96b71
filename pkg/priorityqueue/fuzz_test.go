// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// fuzzKeys is the number of keys of a fuzzed script, and fuzzBulk how many of them
// an argument byte stands for in operations on many.
const fuzzKeys, fuzzBulk = 20_000, 80

// FuzzQueueAgainstModel runs a script of all operations on the core and on the
// model and compares every answer. The bits of the first byte choose fairness,
// aging, many groups and many priorities; then each operation is one byte, followed
// by its arguments. With aging the choice of the priority is the core's. The
// queue counts for metrics, as the server's does.
func FuzzQueueAgainstModel(f *testing.F) {
	f.Add([]byte{0, 0, 1, 0, 0, 2, 9, 3, 3, 4, 1})
	f.Add([]byte{1, 0, 0, 0, 0, 4, 0, 0, 1, 0, 3, 3, 3})
	f.Add([]byte{0, 0, 1, 0, 3, 0, 1, 0, 0, 2, 0, 3, 4, 1, 3})
	f.Add([]byte{2, 0, 1, 0, 0, 2, 9, 6, 255, 3, 6, 255, 3, 4, 1, 3})
	f.Add([]byte{0, 1, 1, 3, 20, 1, 2, 4, 10, 6, 11, 7, 6, 20, 3, 3, 5, 1, 8})
	for mode := range byte(16) {
		// Grow to all keys, half of them delayed, work on them, come down to a
		// few, and grow again.
		f.Add([]byte{
			mode, 9, 0, 250, 1, 0, 9, 0, 125, 3, 90, 10, 60, 9, 0, 30, 5, 0, 11, 6, 50, 9, 0, 125, 4, 0,
			10, 255, 11, 6, 255, 12, 0, 249, 7, 10, 255, 9, 0, 250, 2, 70, 8, 10, 20, 9, 0, 250, 6, 0, 11, 10, 250,
		})
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		script := make([]byte, 60)
		for i := range script {
			script[i] = byte(r.IntN(1 << (1 + r.IntN(8)))) // small numbers more often
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) == 0 || len(script) > 300 {
			return
		}
		newFuzzRun(t, script[0]).play(script[1:])
	})
}

type fuzzRun struct {
	t     *testing.T
	core  *core[int]
	model *model
	aging bool
	// priorities is how many an operation on many keys uses.
	priorities int
	now        int64
	script     []byte
}

func newFuzzRun(t *testing.T, mode byte) *fuzzRun {
	r := &fuzzRun{t: t, aging: mode&2 != 0, priorities: 3, now: 1}
	groups := 1
	if mode&1 != 0 {
		groups = 4
	}
	if mode&4 != 0 {
		groups *= 100
	}
	if mode&8 != 0 {
		r.priorities = 500
	}
	var a *Aging
	if r.aging {
		a = &Aging{After: 100}
	}
	r.core, r.model = newCore[int](a, newStats()), newModel(func(key int) string { return strconv.Itoa(key % groups) })
	return r
}

// arg returns the next byte of the script, and 0 after the last.
func (r *fuzzRun) arg() int {
	if len(r.script) == 0 {
		return 0
	}
	b := r.script[0]
	r.script = r.script[1:]
	return int(b)
}

// key reads a key: mostly one of 32, so that they meet.
func (r *fuzzRun) key() int {
	if b := r.arg(); b < 224 {
		return b % 32
	} else {
		return (b*256 + r.arg()) % fuzzKeys
	}
}

func (r *fuzzRun) play(script []byte) {
	r.script = script
	for n := 0; len(r.script) > 0; n++ {
		switch r.arg() % 13 {
		case 0:
			r.add(r.key(), r.arg()%8, 0)
		case 1:
			r.add(r.key(), r.arg()%8, int64(r.arg()))
		case 2, 3:
			r.pop()
		case 4:
			r.done(r.key())
		case 5:
			r.remove(r.key())
		case 6:
			r.now += int64(r.arg())
		case 7:
			r.core.promote(r.now)
			r.model.promote(r.now)
		case 8:
			r.core.dropDelayed()
			r.model.dropDelayed()
		case 9:
			r.addMany(r.key(), r.arg()*fuzzBulk, r.arg(), int64(r.arg()))
		case 10:
			for i := r.arg() * fuzzBulk; i > 0 && r.pop(); i-- {
			}
		case 11:
			r.doneAll()
		case 12:
			from, keys, step := r.key(), r.arg()*fuzzBulk, 1+r.arg()%8
			for i := 0; i < keys; i += step {
				r.remove((from + i) % fuzzKeys)
			}
		}
		r.same("ready", r.core.ready, r.model.len())
		r.same("delayed", len(r.core.due), len(r.model.delayed))
		if r.core.slots.used < 100 || n%8 == 0 {
			checkCore(r.t, r.core)
		}
	}
	r.drain()
}

// addMany adds keys in a row; delays are spread up to the given one.
func (r *fuzzRun) addMany(from, keys, priority int, delay int64) {
	for i := range keys {
		r.add((from+i)%fuzzKeys, priority+i%r.priorities, int64(i)%(delay+1))
	}
}

func (r *fuzzRun) operation(key, priority int, due int64) *operation[int] {
	return &operation[int]{
		key: key, hash: r.core.slots.hash(key), group: r.model.group(key), priority: priority, due: due, ages: priority < 4,
	}
}

func (r *fuzzRun) add(key, priority int, delay int64) {
	r.core.add(r.operation(key, priority, r.now+delay), r.now)
	r.model.add(key, priority, r.now+delay, r.now)
}

func (r *fuzzRun) pop() bool {
	r.model.promote(r.now)
	key, priority, ok := r.core.pop(r.now)
	highest, wantOK := r.model.highest()
	r.same("something to hand out", ok, wantOK)
	if !ok {
		return false
	}
	if !r.aging {
		r.same("priority", priority, highest)
	}
	want, _ := r.model.popAt(priority)
	r.same("key", key, want)
	return true
}

func (r *fuzzRun) done(key int) {
	r.core.done(r.core.slots.hash(key), key, r.now)
	r.model.done(key)
	r.same("keys in process", len(r.core.procs), len(r.model.working))
}

func (r *fuzzRun) doneAll() {
	for _, key := range slices.Sorted(maps.Keys(r.model.working)) {
		r.done(key)
	}
}

func (r *fuzzRun) remove(key int) {
	r.same("removed", r.core.remove(r.core.slots.hash(key), key), r.model.remove(key))
}

// drain hands out everything and looks that nothing stays behind.
func (r *fuzzRun) drain() {
	r.doneAll()
	r.now += 1000
	for r.pop() {
	}
	checkCore(r.t, r.core)
	r.doneAll()
	r.same("slots in use at the end", r.core.slots.used, 0)
	r.same("ready at the end", r.core.ready, 0)
	r.same("active levels at the end", len(r.core.active), 0)
	if r.core.lane.used > keptLanes {
		r.t.Fatalf("%d lanes at the end, want at most %d", r.core.lane.used, keptLanes)
	}
}

func (r *fuzzRun) same(what string, got, want any) {
	if got != want {
		r.t.Helper()
		r.t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// checkCore verifies what the fields of the core promise.
func checkCore[K comparable](t *testing.T, c *core[K]) {
	t.Helper()
	ready, delayed, used := 0, 0, 0
	refs, inLane, depth := map[int32]int32{}, map[int32]int{}, map[int32]int32{}
	for i := range c.slots.index.all {
		s, key := c.slots.at(i), c.slots.key(i)
		used++
		if c.slots.find(c.slots.hash(key), key) != i {
			t.Fatalf("the table does not lead to the slot of %v", key)
		}
		if s.proc != none && c.procs[s.proc].slot != i {
			t.Fatalf("%v does not know its record", key)
		}
		if s.lane == none {
			continue
		}
		refs[s.lane]++
		if s.prev == markDelayed {
			delayed++
			if e := c.due[s.next]; e.id != i || e.key != s.at {
				t.Fatalf("%v does not know its place among the delayed", key)
			}
			continue
		}
		ready++
		depth[c.lane.at(s.lane).level]++
		if busy := s.prev == markBusy; busy != (s.proc != none) {
			t.Fatalf("%v is marked busy %v and has record %d", key, busy, s.proc)
		} else if !busy {
			inLane[s.lane]++
		}
	}
	if ready != c.ready || delayed != len(c.due) || used != c.slots.used {
		t.Fatalf("counted %d ready, %d delayed, %d in use; recorded %d, %d, %d",
			ready, delayed, used, c.ready, len(c.due), c.slots.used)
	}
	checkLevels(t, c, refs, inLane, depth)
}

func checkLevels[K comparable](t *testing.T, c *core[K], refs map[int32]int32, inLane map[int32]int, depth map[int32]int32) {
	t.Helper()
	lanes := map[int32]int32{}
	for l := range c.lane.index.all {
		ln := c.lane.at(l)
		lanes[ln.level]++
		if ln.refs != refs[l] {
			t.Fatalf("lane %d: %d slots name it, %d counted", l, refs[l], ln.refs)
		}
		checkLane(t, c, l, inLane[l])
	}
	active := 0
	for v := range c.level.index.all {
		lv := c.level.at(v)
		if lv.depth != depth[v] || lv.lanes != lanes[v] {
			t.Fatalf("level %d: depth %d and %d lanes, want %d and %d", c.level.key(v), lv.depth, lv.lanes, depth[v], lanes[v])
		}
		if lv.first != none {
			active++
			if c.active[lv.position].id != v {
				t.Fatalf("level %d does not know its place", c.level.key(v))
			}
		}
	}
	if active != len(c.active) {
		t.Fatalf("%d levels have keys to hand out, %d are active", active, len(c.active))
	}
}

func checkLane[K comparable](t *testing.T, c *core[K], l int32, want int) {
	t.Helper()
	ln := c.lane.at(l)
	n, prev, seq := len(ln.late), none, uint64(0)
	for i, e := range ln.late {
		if s := c.slots.at(e.id); s.prev != markLate || s.next != int32(i) || s.seq != e.tie || s.lane != l {
			t.Fatalf("lane %d: %v does not know its place", l, c.slots.key(e.id))
		}
	}
	for i := ln.head; i != none; i = c.slots.at(i).next {
		s := c.slots.at(i)
		if s.prev != prev || s.seq <= seq || s.lane != l {
			t.Fatalf("lane %d is not linked in order at %v", l, c.slots.key(i))
		}
		prev, seq = i, s.seq
		n++
	}
	if n != want || ln.tail != prev {
		t.Fatalf("lane %d: %d slots, want %d; tail %d, want %d", l, n, want, ln.tail, prev)
	}
}
