// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

// keptLanes is the number of lanes up to which empty ones are kept, so that a
// queue with a few priorities and groups makes no lane twice.
const keptLanes = 128

// level is all that is queued at one priority.
type level struct {
	priority int
	// first and last are the ends of the list of lanes that have linked slots,
	// in the order of their turns.
	first, last int32
	// recent is the lane used last; without fairness, the only one.
	recent int32
	// lanes is the number of lanes made for this level; 0 marks a free level.
	lanes int32
	// depth counts the ready keys, those in process and passed included.
	depth int32
	// inHeap: the level has an entry in levels.active. True for every level
	// with linked slots, and for some without, which pick drops lazily.
	inHeap bool
	// age is used while aging applies to this level.
	age levelAge
	// stats is where waits of this level are counted; nil without metrics.
	stats *priorityStats
}

// lane is one FIFO list: the keys of one group within one priority. Without
// fairness there is one lane per level.
type lane struct {
	group string
	level int32
	// head and tail are the ends of the list of linked slots.
	head, tail int32
	// prev and next link the lanes of a level that have linked slots.
	prev, next int32
	// refs counts the slots that name this lane: linked, passed and delayed.
	refs int32
}

type laneKey struct {
	level int32
	group string
}

// levels finds lanes by priority and group, and the highest level with slots.
type levels struct {
	level []level
	lane  []lane
	// freeLevels and freeLanes are indices to use again.
	freeLevels, freeLanes []int32
	byPriority            map[int]int32
	// byGroup is filled only if fair.
	byGroup map[laneKey]int32
	fair    bool
	// hint remembers levels by the low bits of their priority.
	hint [32]int32
	// active is a heap of levels, highest priority first.
	active heap
	// aging is nil if no level ages.
	aging *aging
	stats *stats
}

func (l *levels) init(fair bool, a *aging, s *stats) {
	l.fair, l.aging, l.stats = fair, a, s
	l.byPriority = map[int]int32{}
	if fair {
		l.byGroup = map[laneKey]int32{}
	}
}

// laneFor returns the lane of a priority and group, and makes it if need be.
func (l *levels) laneFor(priority int, group string) int32 {
	v := l.levelFor(priority)
	lv := &l.level[v]
	if lv.recent != none && l.lane[lv.recent].group == group {
		return lv.recent
	}
	if l.fair {
		if i, ok := l.byGroup[laneKey{v, group}]; ok {
			lv.recent = i
			return i
		}
	}
	return l.newLane(v, group)
}

func (l *levels) levelFor(priority int) int32 {
	hint := &l.hint[uint(priority)%uint(len(l.hint))]
	if i := *hint; int(i) < len(l.level) && l.level[i].priority == priority && l.level[i].lanes > 0 {
		return i
	}
	if i, ok := l.byPriority[priority]; ok {
		*hint = i
		return i
	}
	var i int32
	if n := len(l.freeLevels); n > 0 {
		i = l.freeLevels[n-1]
		l.freeLevels = l.freeLevels[:n-1]
	} else {
		i = int32(len(l.level))
		l.level = append(l.level, level{})
	}
	l.level[i] = level{
		priority: priority, first: none, last: none, recent: none,
		age: newLevelAge(l.aging, priority), stats: l.stats.forPriority(priority),
	}
	l.byPriority[priority] = i
	*hint = i
	return i
}

func (l *levels) newLane(v int32, group string) int32 {
	var i int32
	if n := len(l.freeLanes); n > 0 {
		i = l.freeLanes[n-1]
		l.freeLanes = l.freeLanes[:n-1]
	} else {
		i = int32(len(l.lane))
		l.lane = append(l.lane, lane{})
	}
	l.lane[i] = lane{group: group, level: v, head: none, tail: none, prev: none, next: none}
	l.level[v].lanes++
	l.level[v].recent = i
	if l.fair {
		l.byGroup[laneKey{v, group}] = i
	}
	return i
}

// release counts one slot less that names the lane, and frees the lane, and
// its level, if that was the last one and many lanes exist.
func (l *levels) release(i int32) {
	ln := &l.lane[i]
	ln.refs--
	if ln.refs > 0 || len(l.lane)-len(l.freeLanes) <= keptLanes {
		return
	}
	v := ln.level
	if l.fair {
		delete(l.byGroup, laneKey{v, ln.group})
	}
	ln.group = ""
	l.freeLanes = append(l.freeLanes, i)
	lv := &l.level[v]
	lv.lanes--
	if lv.recent == i {
		lv.recent = none
	}
	if lv.lanes == 0 {
		l.freeLevel(v)
	}
}

// freeLevel gives back a level without lanes, unless the heap still names it:
// then highest does it when it meets the level there.
func (l *levels) freeLevel(v int32) {
	if l.level[v].inHeap {
		return
	}
	delete(l.byPriority, l.level[v].priority)
	l.freeLevels = append(l.freeLevels, v)
}

// activate puts a lane that got its first slot at the end of its level's turns.
func (l *levels) activate(i int32, now int64) {
	ln := &l.lane[i]
	lv := &l.level[ln.level]
	ln.prev, ln.next = lv.last, none
	if lv.last != none {
		l.lane[lv.last].next = i
	} else {
		lv.first = i
		l.startAging(ln.level, now)
		if !lv.inHeap {
			lv.inHeap = true
			// ^priority reverses the order without overflow.
			l.active.push(heapEntry{key: int64(^lv.priority), id: ln.level})
		}
	}
	lv.last = i
}

// deactivate takes a lane that lost its last slot out of its level's turns.
func (l *levels) deactivate(i int32) {
	ln := &l.lane[i]
	lv := &l.level[ln.level]
	if ln.prev != none {
		l.lane[ln.prev].next = ln.next
	} else {
		lv.first = ln.next
	}
	if ln.next != none {
		l.lane[ln.next].prev = ln.prev
	} else {
		lv.last = ln.prev
	}
	if lv.first == none {
		l.stopAging(ln.level)
	}
}

// rotate ends the turn of a level's first lane if others wait for theirs.
func (l *levels) rotate(v int32) {
	lv := &l.level[v]
	i := lv.first
	if i == lv.last {
		return
	}
	ln := &l.lane[i]
	lv.first = ln.next
	l.lane[ln.next].prev = none
	ln.prev, ln.next = lv.last, none
	l.lane[lv.last].next = i
	lv.last = i
}

// highest returns the level of the highest priority that has linked slots.
func (l *levels) highest() int32 {
	for len(l.active) > 0 {
		v := l.active[0].id
		lv := &l.level[v]
		if lv.first != none {
			return v
		}
		l.active.pop()
		lv.inHeap = false
		if lv.lanes == 0 {
			l.freeLevel(v)
		}
	}
	return none
}
