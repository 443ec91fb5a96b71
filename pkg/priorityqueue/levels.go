// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

// keptEmpty is the number of levels, and of lanes in a level, up to which empty ones
// are kept for the next key, so that a queue that often becomes empty does not allocate.
const keptEmpty = 32

// levels orders the ready items: by priority, then by turns of their groups, then first
// in, first out. A key that is in process is counted but not offered.
type levels[K comparable] struct {
	// ready counts the ready items, including those in process.
	ready int
	// all has the level of each priority with ready items, and at most keptEmpty others.
	all dict[int, *level[K]]
	// active holds the levels that offer an item, the highest priority first.
	active heap[*level[K]]
	aging  aging[K]
	stats  stats
	// seq is the last number that next returned.
	seq uint64
}

// level holds the ready items of one priority.
type level[K comparable] struct {
	priority int
	// depth counts the ready items, including those in process.
	depth int
	// lanes has the lane of each group that offers an item, and at most keptEmpty others.
	lanes dict[string, *lane[K]]
	// turns holds the lanes that offer an item, in the order of their turns.
	turns heap[*lane[K]]
	// place is the position in levels.active while turns is not empty.
	place handle[*level[K]]
	age   levelAge[K]
	waits *PriorityStats
}

// lane holds the items that one group offers at one priority. Without fairness, all
// keys belong to the group "".
type lane[K comparable] struct {
	group string
	// items holds the ready items that are not in process, by seq.
	items heap[*item[K]]
	// place is the position in level.turns while items is not empty.
	place handle[*lane[K]]
}

func newLevels[K comparable](a *Aging) levels[K] {
	return levels[K]{all: newDict[int, *level[K]](), aging: newAging[K](a), stats: newStats()}
}

// next returns a number that is higher than every number before.
func (l *levels[K]) next() uint64 {
	l.seq++
	return l.seq
}

// enter makes an item ready, behind all others of its priority and group.
func (l *levels[K]) enter(it *item[K], now int64) {
	lv := l.all.entries[it.priority]
	if lv == nil {
		lv = &level[K]{priority: it.priority, lanes: newDict[string, *lane[K]](), waits: l.stats.of(it.priority)}
		lv.place.value, lv.age.place.value = lv, lv
		l.all.set(it.priority, lv)
	}
	it.state, it.level, it.seq = ready, lv, l.next()
	lv.depth++
	l.ready++
	if !it.inProcess {
		l.offer(it, now)
	}
}

// leave reverts enter.
func (l *levels[K]) leave(it *item[K]) {
	lv := it.level
	if !it.inProcess {
		l.withdraw(it)
	}
	it.state, it.level = notQueued, nil
	l.ready--
	lv.depth--
	if lv.depth == 0 && len(l.all.entries) > keptEmpty {
		l.all.remove(lv.priority)
	}
}

// offer puts a ready item that is not in process into its lane.
func (l *levels[K]) offer(it *item[K], now int64) {
	lv := it.level
	ln := lv.lanes.entries[it.group]
	if ln == nil {
		ln = &lane[K]{group: it.group}
		ln.place.value = ln
		lv.lanes.set(it.group, ln)
	}
	it.lane = ln
	ln.items.push(&it.place, rank{minor: it.seq})
	if len(ln.items) > 1 {
		return
	}
	lv.turns.push(&ln.place, rank{minor: l.next()})
	if len(lv.turns) == 1 {
		// ^priority reverses the order without overflow.
		l.active.push(&lv.place, rank{major: int64(^lv.priority)})
		l.startAging(lv, now)
	}
}

// withdraw removes an item from its lane.
func (l *levels[K]) withdraw(it *item[K]) {
	lv, ln := it.level, it.lane
	it.lane = nil
	ln.items.remove(&it.place)
	if len(ln.items) > 0 {
		return
	}
	lv.turns.remove(&ln.place)
	if len(lv.lanes.entries) > keptEmpty {
		lv.lanes.remove(ln.group)
	}
	if len(lv.turns) == 0 {
		l.active.remove(&lv.place)
		l.stopAging(lv)
	}
}

// take removes the item whose turn it is and returns it, or nil if there is none.
func (l *levels[K]) take(now int64) *item[K] {
	if len(l.active) == 0 {
		return nil
	}
	lv := l.choose(now)
	ln := lv.turns.first()
	it := ln.items.first()
	lv.waits.Waits.observe(now - it.at)
	l.recordHandOut(lv, now)
	l.endTurn(lv, ln)
	l.leave(it)
	return it
}

// endTurn puts a lane behind the other lanes of its level.
func (l *levels[K]) endTurn(lv *level[K], ln *lane[K]) {
	if len(lv.turns) > 1 {
		lv.turns.move(&ln.place, rank{minor: l.next()})
	}
}

// yield ends the turn of a group if it is next at the highest priority.
func (l *levels[K]) yield(group string) {
	if len(l.active) == 0 {
		return
	}
	lv := l.active.first()
	if ln := lv.turns.first(); ln.group == group {
		l.endTurn(lv, ln)
	}
}
