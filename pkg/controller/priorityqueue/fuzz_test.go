// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"fmt"
	"testing"
)

// FuzzQueueAgainstModel runs a script of all operations on the core and on the
// model and compares every answer. The first byte chooses fairness and aging;
// then each operation is one byte, followed by its arguments. With aging only
// the choice of the priority is the core's.
func FuzzQueueAgainstModel(f *testing.F) {
	f.Add([]byte{0, 0, 1, 0, 0, 2, 9, 3, 3, 4, 1})
	f.Add([]byte{1, 0, 0, 0, 0, 4, 0, 0, 1, 0, 3, 3, 3})
	f.Add([]byte{0, 0, 1, 0, 3, 0, 1, 0, 0, 2, 0, 3, 4, 1, 3})
	f.Add([]byte{2, 0, 1, 0, 0, 2, 9, 6, 255, 3, 6, 255, 3, 4, 1, 3})
	f.Add([]byte{0, 1, 1, 3, 20, 1, 2, 4, 10, 6, 11, 7, 6, 20, 3, 3, 5, 1, 8})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) == 0 || len(script) > 600 {
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
	now   int64
}

func newFuzzRun(t *testing.T, mode byte) *fuzzRun {
	r := &fuzzRun{t: t, aging: mode&2 != 0, now: 1}
	var group func(int) string
	if mode&1 != 0 {
		group = func(key int) string { return fmt.Sprint("group-", key%4) }
	}
	var a *Aging
	if r.aging {
		a = &Aging{After: 100, Applies: func(p int) bool { return p < 4 }}
	}
	r.core, r.model = newCore[int](group, a, newStats()), newModel(group)
	return r
}

// play runs the operations: argument bytes are keys (32 of them), priorities
// (8) and times.
func (r *fuzzRun) play(script []byte) {
	arg := func() int {
		if len(script) == 0 {
			return 0
		}
		b := script[0]
		script = script[1:]
		return int(b)
	}
	for len(script) > 0 {
		switch op := arg() % 9; op {
		case 0:
			r.add(arg()%32, arg()%8, 0)
		case 1:
			r.add(arg()%32, arg()%8, int64(arg()))
		case 2, 3:
			r.pop()
		case 4:
			r.done(arg() % 32)
		case 5:
			key := arg() % 32
			r.same("remove", r.core.remove(r.core.hash(key), key), r.model.remove(key))
		case 6:
			r.now += int64(arg())
		case 7:
			r.core.promote(r.now, promoteBatch)
			r.model.promote(r.now)
			r.same("len", r.core.ready, r.model.len())
		case 8:
			r.core.dropDelayed()
			r.model.dropDelayed()
		}
		checkCore(r.t, r.core)
	}
	r.drain()
}

func (r *fuzzRun) add(key, priority int, delay int64) {
	r.core.add(r.core.hash(key), key, r.core.groupOf(key), priority, r.now+delay, r.now)
	r.model.add(key, priority, r.now+delay, r.now)
	r.same("len after add", r.core.ready, r.model.len())
}

func (r *fuzzRun) pop() bool {
	key, priority, ok := r.core.pop(r.now)
	if r.aging {
		r.model.promote(r.now)
		if ok {
			r.popAged(key, priority)
			return true
		}
	}
	wantKey, wantPriority, wantOK := r.model.pop(r.now)
	r.same("something to hand out", ok, wantOK)
	r.same("key", key, wantKey)
	r.same("priority", priority, wantPriority)
	return ok
}

// popAged follows a hand-out of which aging chose the priority. With fairness
// too, keys that other levels passed over in vain change the turns there, so
// that only the key itself can be compared.
func (r *fuzzRun) popAged(key, priority int) {
	if r.model.group == nil {
		want, _ := r.model.popAt(priority)
		r.same("key within its priority", key, want)
		return
	}
	k := r.model.find(key)
	_, busy := r.model.working[key]
	if k == nil || k.delayed || busy {
		r.t.Fatalf("handed out %d, which is not ready", key)
	}
	r.same("priority", priority, k.priority)
	r.model.remove(key)
	r.model.working[key] = priority
}

func (r *fuzzRun) done(key int) {
	r.same("done", r.core.done(r.core.hash(key), key, r.now), r.model.done(key))
}

// drain hands out everything and looks that nothing stays behind.
func (r *fuzzRun) drain() {
	for key := range 32 {
		r.done(key)
	}
	r.now += 1000
	for r.pop() {
		checkCore(r.t, r.core)
	}
	for key := range 32 {
		r.done(key)
	}
	r.same("slots in use at the end", int(r.core.slab.used), 0)
	r.same("ready at the end", r.core.ready, 0)
}

func (r *fuzzRun) same(what string, got, want any) {
	r.t.Helper()
	if got != want {
		r.t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// checkCore verifies what the fields of the core promise.
func checkCore[K comparable](t *testing.T, c *core[K]) {
	t.Helper()
	ready, delayed, indexed := 0, 0, 0
	refs, linked, depth := map[int32]int32{}, map[int32]int{}, map[int32]int32{}
	for i := range c.slab.top {
		s := c.slab.at(i)
		if s.lane == none && s.proc == none {
			continue
		}
		indexed++
		if c.find(c.hash(s.key), s.key) != i {
			t.Fatalf("the index does not lead to the slot of %v", s.key)
		}
		if s.proc != none && c.procs[s.proc].slot != i {
			t.Fatalf("%v does not know its record", s.key)
		}
		if s.lane == none {
			continue
		}
		refs[s.lane]++
		if s.next == markDelayed {
			delayed++
			continue
		}
		ready++
		depth[c.lane[s.lane].level]++
		if s.linked() {
			linked[s.lane]++
		}
	}
	if ready != c.ready || delayed != c.delayed || int32(indexed) != c.slab.used {
		t.Fatalf("counted %d ready, %d delayed, %d in use; recorded %d, %d, %d",
			ready, delayed, indexed, c.ready, c.delayed, c.slab.used)
	}
	for i := range c.lane {
		if c.lane[i].refs != refs[int32(i)] {
			t.Fatalf("lane %d: %d slots name it, %d counted", i, refs[int32(i)], c.lane[i].refs)
		}
		checkLane(t, c, int32(i), linked[int32(i)])
	}
	for v := range c.level {
		if c.level[v].lanes > 0 && c.level[v].depth != depth[int32(v)] {
			t.Fatalf("level %d: depth %d, want %d", c.level[v].priority, c.level[v].depth, depth[int32(v)])
		}
		if c.level[v].first != none && !c.level[v].inHeap {
			t.Fatalf("level %d has slots and is not in the heap", c.level[v].priority)
		}
	}
}

func checkLane[K comparable](t *testing.T, c *core[K], l int32, want int) {
	t.Helper()
	n, prev, seq := 0, none, uint64(0)
	for i := c.lane[l].head; i != none; i = c.slab.at(i).next {
		s := c.slab.at(i)
		if s.prev != prev || s.seq <= seq || s.lane != l {
			t.Fatalf("lane %d is not linked in order at %v", l, s.key)
		}
		prev, seq = i, s.seq
		n++
	}
	if n != want || c.lane[l].tail != prev {
		t.Fatalf("lane %d: %d slots linked, want %d; tail %d, want %d", l, n, want, c.lane[l].tail, prev)
	}
}
