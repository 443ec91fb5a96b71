// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

// keptLanes is the number of lanes up to which empty ones are kept, so that a
// queue with a few priorities and groups makes no lane twice.
const keptLanes = 128

// level is all that is queued at one priority.
type level struct {
	// first and last are the ends of the list of lanes that are not empty, in the
	// order of their turns.
	first, last int32
	// lanes is the number of lanes of this level.
	lanes int32
	// depth counts the ready keys, those in process included.
	depth int32
	// position is where the level stands in levels.active while it has such lanes.
	position int32
	age      levelAge
	// stats is where waits of this level are counted; nil without metrics.
	stats *PriorityStats
}

// lane is the keys of one group within one priority, in their order. Without
// fairness there is one lane per level.
type lane struct {
	level int32
	// head and tail are the ends of the list of slots.
	head, tail int32
	// prev and next link the lanes of a level that are not empty.
	prev, next int32
	// refs counts the slots that name this lane: those in it, busy and delayed ones.
	refs int32
	// late orders by seq what was in process when it was added.
	late heap
}

func (ln *lane) empty() bool { return ln.head == none && len(ln.late) == 0 }

type laneKey struct {
	priority int
	group    string
}

// levels finds lanes by priority and group, and the highest level that has keys to
// hand out.
type levels struct {
	level table[int, level]
	lane  table[laneKey, lane]
	// recent is the lane that laneFor found last, or none.
	recent int32
	// active orders the levels that have lanes with slots, highest priority first.
	active heap
	// aging is nil if no level ages.
	aging *aging
	stats *stats
	// levelMoved notes where a level stands in active.
	levelMoved func(v, position int32)
}

func (l *levels) init(a *aging, s *stats) {
	l.level, l.lane = newTable[int, level](), newTable[laneKey, lane]()
	l.recent, l.aging, l.stats = none, a, s
	l.levelMoved = func(v, position int32) { l.level.at(v).position = position }
}

// laneFor returns the lane of a priority and group, and makes it if need be. ages
// tells whether aging applies to the priority.
func (l *levels) laneFor(priority int, group string, ages bool) int32 {
	key := laneKey{priority, group}
	if l.recent != none && l.lane.entry(l.recent).key == key {
		return l.recent
	}
	h := l.lane.hash(key)
	l.recent = l.lane.find(h, key)
	if l.recent != none {
		return l.recent
	}
	vh := l.level.hash(priority)
	v := l.level.find(vh, priority)
	if v == none {
		v = l.level.insert(vh, priority, level{
			first: none, last: none, age: levelAge{on: l.aging != nil && ages}, stats: l.stats.forPriority(priority),
		})
	}
	l.level.at(v).lanes++
	l.recent = l.lane.insert(h, key, lane{level: v, head: none, tail: none})
	return l.recent
}

// priority returns that of a lane.
func (l *levels) priority(i int32) int { return l.lane.key(i).priority }

// release counts one slot less that names the lane. If it was the last and many
// lanes exist, the lane goes, and with its last lane the level.
func (l *levels) release(i int32) {
	ln := l.lane.at(i)
	ln.refs--
	if ln.refs > 0 || l.lane.used <= keptLanes {
		return
	}
	if l.recent == i {
		l.recent = none
	}
	v := ln.level
	l.lane.remove(l.lane.hash(l.lane.key(i)), i)
	lv := l.level.at(v)
	lv.lanes--
	if lv.lanes == 0 {
		l.level.remove(l.level.hash(l.level.key(v)), v)
	}
}

// activate puts a lane that gets its first slot at the end of its level's turns.
func (l *levels) activate(i int32, now int64) {
	ln := l.lane.at(i)
	lv := l.level.at(ln.level)
	ln.prev, ln.next = lv.last, none
	if lv.last != none {
		l.lane.at(lv.last).next = i
	} else {
		lv.first = i
		l.startAging(ln.level, now)
		// ^priority reverses the order without overflow.
		l.active.push(heapEntry{key: int64(^l.level.key(ln.level)), id: ln.level}, l.levelMoved)
	}
	lv.last = i
}

// deactivate takes a lane that lost its last slot out of its level's turns.
func (l *levels) deactivate(i int32) {
	ln := l.lane.at(i)
	lv := l.level.at(ln.level)
	if ln.prev != none {
		l.lane.at(ln.prev).next = ln.next
	} else {
		lv.first = ln.next
	}
	if ln.next != none {
		l.lane.at(ln.next).prev = ln.prev
	} else {
		lv.last = ln.prev
	}
	if lv.first == none {
		l.stopAging(ln.level)
		l.active.remove(lv.position, l.levelMoved)
	}
}

// rotate ends the turn of a level's first lane if others wait for theirs.
func (l *levels) rotate(lv *level) {
	i := lv.first
	if i == lv.last {
		return
	}
	ln := l.lane.at(i)
	lv.first = ln.next
	l.lane.at(ln.next).prev = none
	ln.prev, ln.next = lv.last, none
	l.lane.at(lv.last).next = i
	lv.last = i
}

// yield ends the turn of a group if it is the next of the highest level.
func (l *levels) yield(group string) {
	v := l.highest()
	if v == none {
		return
	}
	if lv := l.level.at(v); l.lane.key(lv.first).group == group {
		l.rotate(lv)
	}
}

// highest returns the level of the highest priority that has keys to hand out.
func (l *levels) highest() int32 {
	if len(l.active) == 0 {
		return none
	}
	return l.active[0].id
}
