// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import "time"

const (
	// DefaultAgingAfter is how long a level goes without a hand-out before it
	// counts as starving, where Aging.After is zero.
	DefaultAgingAfter = 2 * time.Second
	// agingShare: a starving level gets one of so many hand-outs.
	agingShare = 16
)

// Aging bounds how long a low priority can starve. Order is strict until a
// level that has ready keys has got no hand-out for After; from then on it gets
// at least one of sixteen, until it has no ready key left or its turn comes by
// strict order. Up to eight levels can starve with that share; more divide half
// of the hand-outs among them.
type Aging struct {
	// After is the time without a hand-out; zero means DefaultAgingAfter.
	After time.Duration
	// Applies chooses the priorities that age; nil means all. It must always say
	// the same of a priority. Every add calls it, and holds no lock then.
	Applies func(priority int) bool
}

// aging is the state of Aging in the core.
type aging struct {
	after int64
	// waiting holds the ageing levels with keys to hand out that do not starve,
	// longest without a hand-out first; starving those that do, by due.
	waiting, starving levelList
	// handouts counts the hand-outs of the queue.
	handouts uint64
	// extra: the last hand-out went to a starving level out of order.
	extra bool
}

func newAging(o *Aging) *aging {
	if o == nil {
		return nil
	}
	a := &aging{after: int64(o.After), waiting: emptyList, starving: emptyList}
	if a.after <= 0 {
		a.after = int64(DefaultAgingAfter)
	}
	return a
}

// levelAge is a level's part in aging.
type levelAge struct {
	// on: aging applies to the level.
	on bool
	// starving tells which list the level is in while it has keys to hand out.
	starving   bool
	prev, next int32
	// since is when the level last got a hand-out or its first such key.
	since int64
	// due is the hand-out from which on a starving level is served.
	due uint64
}

// levelList is a list of levels, linked by their age.
type levelList struct{ first, last int32 }

var emptyList = levelList{none, none}

func (l *levels) append(list *levelList, v int32) {
	age := &l.level.at(v).age
	age.prev, age.next = list.last, none
	if list.last != none {
		l.level.at(list.last).age.next = v
	} else {
		list.first = v
	}
	list.last = v
}

func (l *levels) unlink(list *levelList, v int32) {
	age := &l.level.at(v).age
	if age.prev != none {
		l.level.at(age.prev).age.next = age.next
	} else {
		list.first = age.next
	}
	if age.next != none {
		l.level.at(age.next).age.prev = age.prev
	} else {
		list.last = age.prev
	}
}

// listOf returns the list that an ageing level with keys to hand out is in.
func (l *levels) listOf(v int32) *levelList {
	if l.level.at(v).age.starving {
		return &l.aging.starving
	}
	return &l.aging.waiting
}

// startAging begins to measure a level that got its first key to hand out.
func (l *levels) startAging(v int32, now int64) {
	if age := &l.level.at(v).age; age.on {
		age.since, age.starving = now, false
		l.append(&l.aging.waiting, v)
	}
}

// stopAging ends it with the last such key.
func (l *levels) stopAging(v int32) {
	if age := &l.level.at(v).age; age.on {
		l.unlink(l.listOf(v), v)
		age.starving = false
	}
}

// choose returns the level whose turn it is: the highest, or a starving one.
func (l *levels) choose(now int64) int32 {
	top := l.highest()
	a := l.aging
	if a == nil || top == none {
		return top
	}
	for v := a.waiting.first; v != none && now-l.level.at(v).age.since >= a.after; v = a.waiting.first {
		l.unlink(&a.waiting, v)
		l.level.at(v).age.starving = true
		l.level.at(v).age.due = a.handouts
		l.append(&a.starving, v)
	}
	if v := a.starving.first; v != none && !a.extra && l.level.at(v).age.due <= a.handouts {
		return v
	}
	return top
}

// served records a hand-out of a level that was chosen, before the key leaves it.
func (l *levels) served(v int32, now int64) {
	a := l.aging
	if a == nil {
		return
	}
	a.extra = v != l.highest()
	if age := &l.level.at(v).age; age.on {
		l.unlink(l.listOf(v), v)
		age.since = now
		age.starving = a.extra
		age.due = a.handouts + agingShare
		l.append(l.listOf(v), v)
	}
	a.handouts++
}
