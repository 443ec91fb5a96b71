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

// fuzzKeys is the number of keys in a fuzzed script. fuzzBulk is the number of keys per
// unit of the argument byte in bulk operations.
const fuzzKeys, fuzzBulk = 20_000, 80

// FuzzQueueAgainstModel runs a script of all operations on the core and on the
// model and compares all results. The bits of the first byte enable fairness, aging, many
// groups and many priorities. Then each operation is one byte, followed by its arguments.
// With aging the core chooses the priority. The queue collects metrics, as in the server.
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
	for range 40 {
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
	// priorities is the number of priorities that an operation on many keys uses.
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
		a = &Aging{After: 100, Below: 4}
	}
	r.core, r.model = newCore[int](a), newModel(func(key int) string { return strconv.Itoa(key % groups) })
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

// key returns a key: usually one of 32, so that keys are repeated.
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
		if len(r.core.items.entries) < 100 || n%8 == 0 {
			checkCore(r.t, r.core)
		}
	}
	r.drain()
}

// addMany adds consecutive keys; delays are spread up to the given one.
func (r *fuzzRun) addMany(from, keys, priority int, delay int64) {
	for i := range keys {
		r.add((from+i)%fuzzKeys, priority+i%r.priorities, int64(i)%(delay+1))
	}
}

func (r *fuzzRun) add(key, priority int, delay int64) {
	r.core.add(key, priority, r.model.group(key), r.now+delay, r.now)
	r.model.add(key, priority, r.now+delay, r.now)
}

func (r *fuzzRun) pop() bool {
	r.model.promote(r.now)
	key, priority, ok := r.core.pop(r.now)
	highest, wantOK := r.model.highest()
	r.same("has a key to hand out", ok, wantOK)
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
	r.core.done(key, r.now)
	r.model.done(key)
	r.same("keys in process", len(r.core.working), len(r.model.working))
}

func (r *fuzzRun) doneAll() {
	for _, key := range slices.Sorted(maps.Keys(r.model.working)) {
		r.done(key)
	}
}

func (r *fuzzRun) remove(key int) {
	r.same("removed", r.core.remove(key), r.model.remove(key))
}

// drain hands out all keys and checks that none remain.
func (r *fuzzRun) drain() {
	r.doneAll()
	r.now += 1000
	for r.pop() {
	}
	checkCore(r.t, r.core)
	r.doneAll()
	r.same("items at the end", len(r.core.items.entries), 0)
	r.same("ready at the end", r.core.ready, 0)
	r.same("active levels at the end", len(r.core.active), 0)
	if n := len(r.core.all.entries); n > keptEmpty {
		r.t.Fatalf("%d levels at the end, want at most %d", n, keptEmpty)
	}
}

func (r *fuzzRun) same(what string, got, want any) {
	if got != want {
		r.t.Helper()
		r.t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// checkCore verifies the invariants in the comments of the fields.
func checkCore[K comparable](t *testing.T, c *core[K]) {
	t.Helper()
	isReady, isDelayed, isWorking := 0, 0, 0
	depth, offered := map[*level[K]]int{}, map[*level[K]]int{}
	for key, it := range c.items.entries {
		if it.key != key || it.place.value != it {
			t.Fatalf("the item of %v has key %v", key, it.key)
		}
		if it.inProcess {
			isWorking++
			if c.working[it.workIndex] != it {
				t.Fatalf("%v has a wrong workIndex", key)
			}
		}
		switch it.state {
		case notQueued:
			if !it.inProcess {
				t.Fatalf("%v is neither queued nor in process", key)
			}
		case delayed:
			isDelayed++
			checkPlace(t, c.due, &it.place, rank{it.at, c.due[it.place.index].rank.minor})
		case ready:
			isReady++
			depth[it.level]++
			if c.all.entries[it.priority] != it.level {
				t.Fatalf("%v is at the level of another priority", key)
			}
			if !it.inProcess {
				offered[it.level]++
				checkPlace(t, it.level.lanes.entries[it.group].items, &it.place, rank{minor: it.seq})
				if it.lane != it.level.lanes.entries[it.group] {
					t.Fatalf("%v is in the lane of another group", key)
				}
			}
		}
	}
	if isReady != c.ready || isDelayed != len(c.due) || isWorking != len(c.working) {
		t.Fatalf("counted %d ready, %d delayed, %d in process; recorded %d, %d, %d",
			isReady, isDelayed, isWorking, c.ready, len(c.due), len(c.working))
	}
	checkHeap(t, c.due)
	checkLevels(t, c, depth, offered)
}

func checkLevels[K comparable](t *testing.T, c *core[K], depth, offered map[*level[K]]int) {
	t.Helper()
	active, aging := 0, 0
	for priority, lv := range c.all.entries {
		n, turns := 0, 0
		for group, ln := range lv.lanes.entries {
			checkHeap(t, ln.items)
			if n += len(ln.items); len(ln.items) > 0 {
				turns++
				checkPlace(t, lv.turns, &ln.place, lv.turns[ln.place.index].rank)
			}
			if ln.group != group {
				t.Fatalf("the lane of %q has group %q", group, ln.group)
			}
		}
		if lv.depth != depth[lv] || n != offered[lv] || turns != len(lv.turns) {
			t.Fatalf("level %d: depth %d, %d keys in %d lanes, %d turns; want depth %d, %d keys, %d turns",
				priority, lv.depth, n, len(lv.lanes.entries), len(lv.turns), depth[lv], offered[lv], turns)
		}
		checkHeap(t, lv.turns)
		if turns == 0 {
			continue
		}
		active++
		checkPlace(t, c.active, &lv.place, rank{major: int64(^priority)})
		if !c.aging.applies(lv) {
			continue
		}
		aging++
		of := c.aging.waiting
		if lv.age.starving {
			of = c.aging.starving
		}
		checkPlace(t, of, &lv.age.place, of[lv.age.place.index].rank)
	}
	if active != len(c.active) || aging != len(c.aging.waiting)+len(c.aging.starving) {
		t.Fatalf("%d levels offer a key and %d of them age; recorded %d and %d",
			active, aging, len(c.active), len(c.aging.waiting)+len(c.aging.starving))
	}
	checkHeap(t, c.active)
	checkHeap(t, c.aging.waiting)
	checkHeap(t, c.aging.starving)
}

// checkPlace verifies that a value is in a heap, with a rank.
func checkPlace[T any](t *testing.T, h heap[T], x *handle[T], r rank) {
	t.Helper()
	if n := h[x.index]; n.handle != x || n.rank != r {
		t.Fatalf("%v has a wrong position in the heap, or rank %v instead of %v", x.value, n.rank, r)
	}
}

// checkHeap verifies that no parent comes after its child.
func checkHeap[T any](t *testing.T, h heap[T]) {
	t.Helper()
	for i := 1; i < len(h); i++ {
		if h[i].rank.before(h[(i-1)/arity].rank) {
			t.Fatalf("rank %v comes before that of its parent, %v", h[i].rank, h[(i-1)/arity].rank)
		}
	}
}
