// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import "hash/maphash"

// promoteBatch is how many delayed keys that have become due one call of the
// core moves to ready, so that a burst does not hold the lock for long.
const promoteBatch = 64

// process is the record of a key that a worker holds.
type process struct {
	slot     int32
	priority int
	// since is when the key was handed out.
	since int64
}

// core is the queue without lock, goroutine or clock: callers serialise the
// calls and pass the time, in nanoseconds that never go back. A key is in the
// index exactly while it is queued or in process.
type core[K comparable] struct {
	seed  maphash.Seed
	index index
	slab  slab[K]
	// group names the group of a key; nil without fairness.
	group func(K) string
	levels
	// due orders the delayed slots by ready time. It holds one entry with the
	// slot's seq for each of them, and stale ones.
	due heap
	// delayed counts the delayed slots; len(due)-delayed entries are stale.
	delayed int
	// ready counts the ready keys, those in process and passed included.
	ready int
	// procs lists the keys in process; each slot knows its place in it.
	procs []process
	// sinceSum is the sum of since over procs.
	sinceSum int64
	seq      uint64
	stats    *stats
}

func newCore[K comparable](group func(K) string, a *Aging, s *stats) *core[K] {
	c := &core[K]{seed: maphash.MakeSeed(), group: group, stats: s}
	c.slab.free = none
	c.levels.init(group != nil, newAging(a), s)
	return c
}

// groupOf may be called without the lock.
func (c *core[K]) groupOf(key K) string {
	if c.group == nil {
		return ""
	}
	return c.group(key)
}

// hash may be called without the lock. It panics if K is an interface type and
// the key's dynamic type is not comparable.
func (c *core[K]) hash(key K) uint64 { return maphash.Comparable(c.seed, key) }

func (c *core[K]) find(h uint64, key K) int32 {
	t := c.index.of(h)
	if t.used == 0 {
		return none
	}
	mask := uint32(len(t.entries) - 1)
	for i := uint32(h) & mask; ; i = (i + 1) & mask {
		e := t.entries[i]
		if e.slot == 0 {
			return none
		}
		if e.hash == uint32(h) && c.slab.at(int32(e.slot-1)).key == key {
			return int32(e.slot - 1)
		}
	}
}

// add queues a key, ready at due (now or earlier: at once), or merges this with
// what is queued of it: the higher priority and the earlier ready time hold.
func (c *core[K]) add(h uint64, key K, group string, priority int, due, now int64) {
	c.promote(now, promoteBatch)
	i := c.find(h, key)
	if i == none {
		i = c.slab.take(key)
		c.index.insert(h, i)
	}
	s := c.slab.at(i)
	switch {
	case s.lane == none:
		c.assign(s, c.laneFor(priority, group))
		if due > now {
			c.delay(i, s, due)
		} else {
			c.makeReady(i, s, now, now)
		}
	case s.next == markDelayed:
		if priority > c.level[c.lane[s.lane].level].priority {
			c.reassign(s, c.laneFor(priority, group))
		}
		if due <= now {
			c.undelay()
			c.makeReady(i, s, now, now)
		} else if due < s.at {
			c.undelay()
			c.delay(i, s, due)
		}
	case priority > c.level[c.lane[s.lane].level].priority:
		if s.next != markPassed {
			c.unlinkSlot(s, i)
		}
		c.level[c.lane[s.lane].level].depth--
		c.reassign(s, c.laneFor(priority, group))
		c.level[c.lane[s.lane].level].depth++
		c.linkLast(i, s, now)
	}
}

// assign makes the slot name a lane; reassign another one. The new lane counts
// the slot before the old one lets it go, so that neither is freed between.
func (c *core[K]) assign(s *slot[K], to int32) {
	c.lane[to].refs++
	s.lane = to
}

func (c *core[K]) reassign(s *slot[K], to int32) {
	old := s.lane
	c.assign(s, to)
	c.release(old)
}

// delay puts a slot with a lane into the heap of delayed ones.
func (c *core[K]) delay(i int32, s *slot[K], due int64) {
	c.seq++
	s.seq, s.at, s.next = c.seq, due, markDelayed
	c.due.push(heapEntry{key: due, tie: c.seq, id: i})
	c.delayed++
}

// undelay counts a delayed slot out; its entry in the heap becomes stale with
// the slot's next seq. Stale entries never outnumber the others by much, and none
// outlives the delayed slots: the slab may drop the memory they lead to.
func (c *core[K]) undelay() {
	c.delayed--
	if c.delayed == 0 {
		c.due = c.due[:0]
	}
	if stale := len(c.due) - c.delayed; stale > c.delayed+64 {
		c.due.keep(func(e heapEntry) bool {
			s := c.slab.at(e.id)
			return s.seq == e.tie && s.next == markDelayed && s.lane != none
		})
	}
}

// makeReady puts a slot with a lane at the end of it; at is since when the key
// has been ready.
func (c *core[K]) makeReady(i int32, s *slot[K], at, now int64) {
	s.at = at
	c.ready++
	lv := &c.level[c.lane[s.lane].level]
	lv.depth++
	c.stats.added()
	c.linkLast(i, s, now)
}

// promote moves up to limit delayed keys that are due to ready, in the order of
// their ready times, and reports whether none that is due is left.
func (c *core[K]) promote(now int64, limit int) (all bool) {
	for ; len(c.due) > 0 && c.due[0].key <= now; limit-- {
		if limit == 0 {
			return false
		}
		e := c.due.pop()
		s := c.slab.at(e.id)
		if s.seq != e.tie || s.lane == none || s.next != markDelayed {
			continue
		}
		c.undelay()
		c.makeReady(e.id, s, e.key, now)
	}
	return true
}

// nextDue returns when the first delayed key becomes ready. A stale entry can
// make it too early, never too late.
func (c *core[K]) nextDue() (at int64, ok bool) {
	if c.delayed == 0 {
		return 0, false
	}
	return c.due[0].key, true
}

func (c *core[K]) linkLast(i int32, s *slot[K], now int64) {
	c.seq++
	s.seq = c.seq
	ln := &c.lane[s.lane]
	s.prev, s.next = ln.tail, none
	ln.tail = i
	if s.prev != none {
		c.slab.at(s.prev).next = i
		return
	}
	ln.head = i
	c.activate(s.lane, now)
}

// relink puts a passed slot back where it stood. What is left in its lane came
// after it, but for other slots that were passed and put back: it goes between
// those by seq. Their number is bounded by the number of workers.
func (c *core[K]) relink(i int32, s *slot[K], now int64) {
	ln := &c.lane[s.lane]
	empty := ln.head == none
	prev, next := none, ln.head
	for next != none {
		n := c.slab.at(next)
		if n.seq > s.seq {
			break
		}
		prev, next = next, n.next
	}
	s.prev, s.next = prev, next
	if prev != none {
		c.slab.at(prev).next = i
	} else {
		ln.head = i
	}
	if next != none {
		c.slab.at(next).prev = i
	} else {
		ln.tail = i
	}
	if empty {
		c.activate(s.lane, now)
	}
}

func (c *core[K]) unlinkSlot(s *slot[K], i int32) {
	ln := &c.lane[s.lane]
	if s.prev != none {
		c.slab.at(s.prev).next = s.next
	} else {
		ln.head = s.next
	}
	if s.next != none {
		c.slab.at(s.next).prev = s.prev
	} else {
		ln.tail = s.prev
	}
	if ln.head == none {
		c.deactivate(s.lane)
	}
}

// pop takes out the key whose turn it is and records it as in process. Keys in
// process that it meets leave the list until their done, so that each is met
// at most once per entry.
func (c *core[K]) pop(now int64) (key K, priority int, ok bool) {
	c.promote(now, promoteBatch)
	for {
		v := c.choose(now)
		if v == none {
			return key, 0, false
		}
		l := c.level[v].first
		i := c.lane[l].head
		s := c.slab.at(i)
		if s.proc != none {
			c.unlinkSlot(s, i)
			s.next = markPassed
			continue
		}
		c.served(v, now)
		if c.fair {
			c.rotate(v)
		}
		c.unlinkSlot(s, i)
		lv := &c.level[v]
		lv.depth--
		c.ready--
		priority = lv.priority
		c.stats.waited(lv.stats, now-s.at)
		s.lane = none
		s.proc = int32(len(c.procs))
		c.procs = append(c.procs, process{slot: i, priority: priority, since: now})
		c.sinceSum += now
		c.release(l)
		return s.key, priority, true
	}
}

// done ends the processing of a key. It reports whether the key was in process;
// if it was not, nothing changes.
func (c *core[K]) done(h uint64, key K, now int64) bool {
	i := c.find(h, key)
	if i == none {
		return false
	}
	s := c.slab.at(i)
	if s.proc == none {
		return false
	}
	since := c.procs[s.proc].since
	c.stats.worked(now - since)
	c.sinceSum -= since
	last := len(c.procs) - 1
	if p := s.proc; int(p) != last {
		c.procs[p] = c.procs[last]
		c.slab.at(c.procs[p].slot).proc = p
	}
	c.procs = c.procs[:last]
	s.proc = none
	if s.lane == none {
		c.forget(h, i)
	} else if s.next == markPassed {
		c.relink(i, s, now)
	}
	return true
}

// forget frees the slot of a key that is neither queued nor in process.
func (c *core[K]) forget(h uint64, i int32) {
	c.index.remove(h, i)
	if c.slab.give(i) {
		c.index.shrink()
	}
}

// remove takes a key out of the queue, ready or delayed, and reports whether it
// was there. A worker that holds the key keeps it.
func (c *core[K]) remove(h uint64, key K) bool {
	i := c.find(h, key)
	if i == none {
		return false
	}
	s := c.slab.at(i)
	if s.lane == none {
		return false
	}
	c.unqueue(h, i, s)
	return true
}

// unqueue takes a queued slot out of its lane or the heap.
func (c *core[K]) unqueue(h uint64, i int32, s *slot[K]) {
	l := s.lane
	if s.next == markDelayed {
		s.seq = 0
		s.lane = none
		c.undelay()
	} else {
		if s.next != markPassed {
			c.unlinkSlot(s, i)
		}
		c.ready--
		c.level[c.lane[l].level].depth--
		s.lane = none
	}
	c.release(l)
	if s.proc == none {
		c.forget(h, i)
	}
}

// dropDelayed takes out every delayed key.
func (c *core[K]) dropDelayed() {
	for len(c.due) > 0 {
		e := c.due.pop()
		s := c.slab.at(e.id)
		if s.seq == e.tie && s.lane != none && s.next == markDelayed {
			c.unqueue(c.hash(s.key), e.id, s)
		}
	}
}
