// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

// slot is what the queue holds of one key. It is 32 bytes beyond the key.
type slot struct {
	// at, in nanoseconds of the queue's clock: when a delayed key becomes ready,
	// or since when a ready key has been ready. A raise keeps it.
	at int64
	// seq grows with every entry into a lane: the place in its order.
	seq uint64
	// next and prev link the slots of a lane's list. Out of a list, prev is one of
	// the marks below, and next the position in the heap.
	next, prev int32
	// lane is where the key is queued, none while it is not queued.
	lane int32
	// proc is the key's record in core.procs, none while it is not in process.
	proc int32
}

// Marks in slot.prev of queued slots that are in no list.
const (
	// markDelayed: the slot waits in core.due for its ready time.
	markDelayed int32 = -2
	// markBusy: the slot is ready, but its key is in process.
	markBusy int32 = -3
	// markLate: the slot was busy and waits in the heap of its lane.
	markLate int32 = -4
)

// process is the record of a key that a worker holds.
type process struct {
	slot     int32
	priority int
	// since is when the key was handed out.
	since int64
}

// core is the queue without lock, goroutine or clock: callers serialise the
// calls and pass the time, in nanoseconds that never go back. A key has a slot
// exactly while it is queued or in process.
type core[K comparable] struct {
	slots table[K, slot]
	levels
	// due orders the delayed slots by ready time, and by seq of the delay.
	due heap
	// ready counts the ready keys, those in process included.
	ready int
	// procs lists the keys in process; each slot knows its place in it.
	procs []process
	seq   uint64
	// moved notes where a slot stands in a heap.
	moved func(i, position int32)
}

func newCore[K comparable](a *Aging, s *stats) *core[K] {
	c := &core[K]{slots: newTable[K, slot]()}
	c.levels.init(newAging(a), s)
	c.moved = func(i, position int32) { c.slots.at(i).next = position }
	return c
}

// add queues a key, or merges this with what is queued of it: the higher priority
// and the earlier ready time hold.
func (c *core[K]) add(o *operation[K], now int64) {
	c.promote(now)
	i := c.slots.find(o.hash, o.key)
	if i == none {
		i = c.slots.insert(o.hash, o.key, slot{lane: none, proc: none})
	}
	s := c.slots.at(i)
	raised := s.lane == none || o.priority > c.priority(s.lane)
	switch due := max(o.due, now); {
	case s.lane == none:
		c.assign(s, c.laneFor(o.priority, o.group, o.ages))
		c.enqueue(i, s, due, now)
	case s.prev == markDelayed:
		if raised {
			c.assign(s, c.laneFor(o.priority, o.group, o.ages))
		}
		if due < s.at {
			c.due.remove(s.next, c.moved)
			c.enqueue(i, s, due, now)
		}
	case raised:
		c.leave(s, i)
		c.assign(s, c.laneFor(o.priority, o.group, o.ages))
		c.enter(s, i, now)
	}
}

// assign makes the slot name another lane, or none.
func (c *core[K]) assign(s *slot, to int32) {
	from := s.lane
	s.lane = to
	if to != none {
		c.lane.at(to).refs++
	}
	if from != none {
		c.release(from)
	}
}

// enqueue makes a slot with a lane delayed, or ready if it is due.
func (c *core[K]) enqueue(i int32, s *slot, due, now int64) {
	s.at = due
	if due > now {
		c.seq++
		s.prev = markDelayed
		c.due.push(heapEntry{key: due, tie: c.seq, id: i}, c.moved)
		return
	}
	c.stats.added()
	c.enter(s, i, now)
}

// promote makes all delayed keys that are due ready, in the order of their times.
func (c *core[K]) promote(now int64) {
	for len(c.due) > 0 && c.due[0].key <= now {
		e := c.due[0]
		c.due.remove(0, c.moved)
		c.enqueue(e.id, c.slots.at(e.id), e.key, now)
	}
}

// enter puts a ready slot at the end of its lane.
func (c *core[K]) enter(s *slot, i int32, now int64) {
	c.seq++
	s.seq = c.seq
	c.ready++
	ln := c.lane.at(s.lane)
	c.level.at(ln.level).depth++
	if s.proc != none {
		s.prev = markBusy
		return
	}
	if ln.empty() {
		c.activate(s.lane, now)
	}
	s.prev, s.next = ln.tail, none
	ln.tail = i
	if s.prev != none {
		c.slots.at(s.prev).next = i
	} else {
		ln.head = i
	}
}

// enterLate puts a slot that was busy where it would stand had it not been: before
// what entered the lane later.
func (c *core[K]) enterLate(s *slot, i int32, now int64) {
	ln := c.lane.at(s.lane)
	if ln.empty() {
		c.activate(s.lane, now)
	}
	s.prev = markLate
	ln.late.push(heapEntry{tie: s.seq, id: i}, c.moved)
}

// first returns the slot of a lane whose turn it is. The lane is not empty.
func (c *core[K]) first(ln *lane) int32 {
	if len(ln.late) > 0 && (ln.head == none || ln.late[0].tie < c.slots.at(ln.head).seq) {
		return ln.late[0].id
	}
	return ln.head
}

// leave takes a ready slot out of its lane.
func (c *core[K]) leave(s *slot, i int32) {
	c.ready--
	ln := c.lane.at(s.lane)
	c.level.at(ln.level).depth--
	switch s.prev {
	case markBusy:
		return
	case markLate:
		ln.late.remove(s.next, c.moved)
	default:
		if s.prev != none {
			c.slots.at(s.prev).next = s.next
		} else {
			ln.head = s.next
		}
		if s.next != none {
			c.slots.at(s.next).prev = s.prev
		} else {
			ln.tail = s.prev
		}
	}
	if ln.empty() {
		c.deactivate(s.lane)
	}
}

// pop takes out the key whose turn it is and records it as in process.
func (c *core[K]) pop(now int64) (key K, priority int, ok bool) {
	c.promote(now)
	v := c.choose(now)
	if v == none {
		return key, 0, false
	}
	lv := c.level.at(v)
	i := c.first(c.lane.at(lv.first))
	s := c.slots.at(i)
	c.served(v, now)
	c.rotate(lv)
	c.leave(s, i)
	lv.stats.waited(now - s.at)
	priority = c.level.key(v)
	c.assign(s, none)
	s.proc = int32(len(c.procs))
	c.procs = append(c.procs, process{slot: i, priority: priority, since: now})
	return c.slots.key(i), priority, true
}

// done ends the processing of a key. If the key was not in process, nothing changes.
func (c *core[K]) done(h uint64, key K, now int64) {
	i := c.slots.find(h, key)
	if i == none {
		return
	}
	s := c.slots.at(i)
	p := s.proc
	if p == none {
		return
	}
	c.stats.worked(now - c.procs[p].since)
	last := len(c.procs) - 1
	c.procs[p] = c.procs[last]
	c.slots.at(c.procs[p].slot).proc = p
	c.procs = shrunk(c.procs[:last])
	s.proc = none
	if s.lane == none {
		c.slots.remove(h, i)
	} else if s.prev == markBusy {
		c.enterLate(s, i, now)
	}
}

// remove takes a key out of the queue, ready or delayed, and reports whether it
// was there. A worker that holds the key keeps it.
func (c *core[K]) remove(h uint64, key K) bool {
	i := c.slots.find(h, key)
	if i == none || c.slots.at(i).lane == none {
		return false
	}
	s := c.slots.at(i)
	if s.prev == markDelayed {
		c.due.remove(s.next, c.moved)
	} else {
		c.leave(s, i)
	}
	c.assign(s, none)
	if s.proc == none {
		c.slots.remove(h, i)
	}
	return true
}

// dropDelayed takes out every delayed key.
func (c *core[K]) dropDelayed() {
	for n := len(c.due); n > 0; n = len(c.due) {
		key := c.slots.key(c.due[n-1].id)
		c.remove(c.slots.hash(key), key)
	}
}
