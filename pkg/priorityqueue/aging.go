// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import "time"

const (
	// DefaultAgingAfter is the value of Aging.After if it is zero.
	DefaultAgingAfter = 2 * time.Second
	// agingShare is the share of a starving level: one of agingShare hand-outs.
	agingShare = 16
)

// Aging limits how long low priorities can starve. The order is strict until a level
// with ready keys has not been served for After. Then it gets at least one of sixteen
// hand-outs, until it has no ready key or its turn comes in strict order. Up to eight
// levels can starve with that share; more than eight divide half of the hand-outs.
type Aging struct {
	// After is the time without a hand-out; zero means DefaultAgingAfter.
	After time.Duration
	// Below limits aging to lower priorities.
	Below int
}

// aging is the state of Aging.
type aging[K comparable] struct {
	// after is Aging.After; with zero, no level ages.
	after int64
	below int
	// waiting holds the active levels that age and do not starve, by the time since
	// which they have not been served. starving holds those that do starve, by the
	// number of the hand-out that they are due for.
	waiting, starving heap[*level[K]]
	// handOuts counts the hand-outs.
	handOuts int64
	// outOfOrder is set if the last hand-out was not of the highest priority. The next
	// hand-out is then of the highest priority.
	outOfOrder bool
}

// levelAge is the aging state of one level.
type levelAge[K comparable] struct {
	// place is the position in aging.waiting or aging.starving while the level is
	// active, if it ages.
	place    handle[*level[K]]
	starving bool
}

func newAging[K comparable](a *Aging) aging[K] {
	if a == nil {
		return aging[K]{}
	}
	if a.After <= 0 {
		return aging[K]{after: int64(DefaultAgingAfter), below: a.Below}
	}
	return aging[K]{after: int64(a.After), below: a.Below}
}

func (a *aging[K]) applies(lv *level[K]) bool { return a.after > 0 && lv.priority < a.below }

// startAging starts to measure how long a level that has become active is not served.
func (l *levels[K]) startAging(lv *level[K], now int64) {
	if l.aging.applies(lv) {
		l.aging.waiting.push(&lv.age.place, rank{now, l.next()})
	}
}

// stopAging reverts startAging for a level that is no longer active.
func (l *levels[K]) stopAging(lv *level[K]) {
	switch a := &l.aging; {
	case !a.applies(lv):
	case lv.age.starving:
		a.starving.remove(&lv.age.place)
		lv.age.starving = false
	default:
		a.waiting.remove(&lv.age.place)
	}
}

// choose returns the level to serve: the highest, or a starving level. At least one level must
// be active.
func (l *levels[K]) choose(now int64) *level[K] {
	a := &l.aging
	for len(a.waiting) > 0 && now-a.waiting[0].rank.major >= a.after {
		l.setStarving(a.waiting.first(), a.handOuts)
	}
	if len(a.starving) > 0 && !a.outOfOrder && a.starving[0].rank.major <= a.handOuts {
		return a.starving.first()
	}
	return l.active.first()
}

// setStarving makes a level due for the hand-out of that number.
func (l *levels[K]) setStarving(lv *level[K], due int64) {
	l.stopAging(lv)
	lv.age.starving = true
	l.aging.starving.push(&lv.age.place, rank{due, l.next()})
}

// recordHandOut counts a hand-out of a level that choose returned.
func (l *levels[K]) recordHandOut(lv *level[K], now int64) {
	a := &l.aging
	a.outOfOrder = lv != l.active.first()
	switch {
	case a.outOfOrder:
		l.setStarving(lv, a.handOuts+agingShare)
	case a.applies(lv):
		l.stopAging(lv)
		l.startAging(lv, now)
	}
	a.handOuts++
}
