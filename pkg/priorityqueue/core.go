// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

// core is the queue without a lock, a clock or goroutines. The caller serializes the calls and
// passes the time in nanoseconds, which never decreases.
type core[K comparable] struct {
	// items has an item for each key that is queued or in process.
	items dict[K, *item[K]]
	// due holds the delayed items by ready time; equal times by the order of the adds.
	due heap[*item[K]]
	// levels holds the ready items.
	levels[K]
	// working holds the items in process, in no order.
	working []*item[K]
}

// item is a key that is queued, in process, or both.
type item[K comparable] struct {
	key   K
	group string

	// state is the state of the queued key, which the fields up to lane describe.
	state state
	// inProcess is set from the hand-out to Done. The work fields are valid then.
	inProcess bool
	// workIndex is the index in core.working.
	workIndex int32

	priority int
	// at is when a delayed item becomes ready, or when a ready item became ready. A
	// raised item keeps it.
	at int64
	// seq is the order of ready items within a group and priority: lower first.
	seq uint64
	// place is the position in core.due if the item is delayed, or in its lane if it is
	// ready and not in process. Otherwise the item is in no heap.
	place handle[*item[K]]
	// level is the level of a ready item, and lane its lane if it is not in process.
	level *level[K]
	lane  *lane[K]

	// workPriority is the priority that the key was handed out with.
	workPriority int
	// workSince is when the key was handed out.
	workSince int64
}

type state uint8

const (
	notQueued state = iota
	delayed
	ready
)

func newCore[K comparable](a *Aging) *core[K] {
	return &core[K]{items: newDict[K, *item[K]](), levels: newLevels[K](a)}
}

// add queues a key, or merges with the queued key: the higher priority and the earlier
// ready time win. A due time that is not after now means ready immediately.
func (c *core[K]) add(key K, priority int, group string, due, now int64) {
	c.promote(now)
	due = max(due, now)
	it := c.items.entries[key]
	if it == nil {
		it = &item[K]{key: key, group: group}
		it.place.value = it
		c.items.set(key, it)
	}
	switch {
	case it.state == notQueued:
		it.priority = priority
		c.schedule(it, due, now)
	case it.state == delayed:
		it.priority = max(it.priority, priority)
		if due < it.at {
			c.due.remove(&it.place)
			c.schedule(it, due, now)
		}
	case priority > it.priority:
		c.leave(it)
		it.priority = priority
		c.enter(it, now)
	}
}

// schedule makes an item delayed, or ready if it is due.
func (c *core[K]) schedule(it *item[K], due, now int64) {
	it.at = due
	if due > now {
		it.state = delayed
		c.due.push(&it.place, rank{due, c.next()})
		return
	}
	c.stats.adds++
	c.enter(it, now)
}

// promote makes due items ready, in the order of their ready times.
func (c *core[K]) promote(now int64) {
	for len(c.due) > 0 && c.due[0].rank.major <= now {
		it := c.due.first()
		c.due.remove(&it.place)
		c.schedule(it, it.at, now)
	}
}

// pop hands out the next key: it is no longer queued, and in process until done.
func (c *core[K]) pop(now int64) (key K, priority int, ok bool) {
	c.promote(now)
	it := c.take(now)
	if it == nil {
		return key, 0, false
	}
	it.inProcess, it.workPriority, it.workSince = true, it.priority, now
	it.workIndex = int32(len(c.working))
	c.working = append(c.working, it)
	return it.key, it.priority, true
}

// done ends the processing of a key. If the key is not in process, nothing changes.
func (c *core[K]) done(key K, now int64) {
	it := c.items.entries[key]
	if it == nil || !it.inProcess {
		return
	}
	c.stats.work.observe(now - it.workSince)
	last := len(c.working) - 1
	c.working[it.workIndex] = c.working[last]
	c.working[it.workIndex].workIndex = it.workIndex
	c.working[last] = nil
	c.working = shrunk(c.working[:last])
	it.inProcess = false
	switch it.state {
	case notQueued:
		c.items.remove(key)
	case ready:
		c.offer(it, now)
	case delayed:
	}
}

// remove removes a ready or delayed key and reports whether there was one. If the key
// is in process, it stays in process.
func (c *core[K]) remove(key K) bool {
	it := c.items.entries[key]
	if it == nil || it.state == notQueued {
		return false
	}
	if it.state == delayed {
		c.due.remove(&it.place)
		it.state = notQueued
	} else {
		c.leave(it)
	}
	if !it.inProcess {
		c.items.remove(key)
	}
	return true
}

// dropDelayed removes all delayed keys.
func (c *core[K]) dropDelayed() {
	for len(c.due) > 0 {
		c.remove(c.due[len(c.due)-1].handle.value.key)
	}
}
