// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"cmp"
	"slices"
)

// model is a simple implementation of the core with sorted slices.
type model struct {
	group   func(int) string
	queued  map[int]*modelKey
	working map[int]int // key in process → its priority
	// delayed is sorted by time, and by the order of the adds.
	delayed []*modelKey
	// lanes holds the keys that can be handed out, sorted by seq.
	lanes map[modelLane][]*modelKey
	// turns holds the groups that can hand out a key, by priority and in the
	// order of their turns.
	turns map[int][]string
	seq   int
}

type modelLane struct {
	priority int
	group    string
}

type modelKey struct {
	key, priority int
	delayed       bool
	at            int64
	seq           int
}

func newModel(group func(int) string) *model {
	return &model{
		group: group, queued: map[int]*modelKey{}, working: map[int]int{},
		lanes: map[modelLane][]*modelKey{}, turns: map[int][]string{},
	}
}

func bySeq(a, b *modelKey) int { return cmp.Compare(a.seq, b.seq) }

func byTime(a, b *modelKey) int { return cmp.Or(cmp.Compare(a.at, b.at), bySeq(a, b)) }

func insert(list []*modelKey, k *modelKey, order func(a, b *modelKey) int) []*modelKey {
	i, _ := slices.BinarySearchFunc(list, k, order)
	return slices.Insert(list, i, k)
}

func withdraw(list []*modelKey, k *modelKey, order func(a, b *modelKey) int) []*modelKey {
	i, found := slices.BinarySearchFunc(list, k, order)
	if !found {
		return list
	}
	if i == 0 {
		return list[1:]
	}
	return slices.Delete(list, i, i+1)
}

func (m *model) add(key, priority int, due, now int64) {
	m.promote(now)
	k := m.queued[key]
	switch {
	case k == nil:
		k = &modelKey{key: key, priority: priority}
		m.queued[key] = k
		m.schedule(k, due, now)
	case k.delayed:
		k.priority = max(k.priority, priority)
		if due < k.at {
			m.delayed = withdraw(m.delayed, k, byTime)
			m.schedule(k, due, now)
		}
	case priority > k.priority:
		m.leave(k)
		k.priority = priority
		m.enter(k)
	}
}

func (m *model) schedule(k *modelKey, due, now int64) {
	if due <= now {
		m.enter(k)
		return
	}
	m.seq++
	k.delayed, k.at, k.seq = true, due, m.seq
	m.delayed = insert(m.delayed, k, byTime)
}

// enter puts a ready key at the end of its priority and group.
func (m *model) enter(k *modelKey) {
	m.seq++
	k.delayed, k.seq = false, m.seq
	if _, busy := m.working[k.key]; !busy {
		m.line(k)
	}
}

// line makes a key available for hand-out.
func (m *model) line(k *modelKey) {
	l := modelLane{k.priority, m.group(k.key)}
	if len(m.lanes[l]) == 0 {
		m.turns[l.priority] = append(m.turns[l.priority], l.group)
	}
	m.lanes[l] = insert(m.lanes[l], k, bySeq)
}

// leave reverses enter.
func (m *model) leave(k *modelKey) {
	l := modelLane{k.priority, m.group(k.key)}
	if len(m.lanes[l]) == 0 {
		return
	}
	m.lanes[l] = withdraw(m.lanes[l], k, bySeq)
	if len(m.lanes[l]) > 0 {
		return
	}
	m.turns[l.priority] = slices.DeleteFunc(m.turns[l.priority], func(g string) bool { return g == l.group })
	if len(m.turns[l.priority]) == 0 {
		delete(m.turns, l.priority)
	}
}

func (m *model) promote(now int64) {
	for len(m.delayed) > 0 && m.delayed[0].at <= now {
		k := m.delayed[0]
		m.delayed = m.delayed[1:]
		m.enter(k)
	}
}

// highest returns the highest priority with a key that can be handed out.
func (m *model) highest() (priority int, ok bool) {
	for p := range m.turns {
		if !ok || p > priority {
			priority, ok = p, true
		}
	}
	return priority, ok
}

// popAt hands out the key of a priority whose turn it is.
func (m *model) popAt(priority int) (key int, ok bool) {
	turns := m.turns[priority]
	if len(turns) == 0 {
		return 0, false
	}
	k := m.lanes[modelLane{priority, turns[0]}][0]
	m.turns[priority] = append(slices.Clone(turns[1:]), turns[0])
	m.leave(k)
	delete(m.queued, k.key)
	m.working[k.key] = priority
	return k.key, true
}

func (m *model) done(key int) {
	if _, busy := m.working[key]; !busy {
		return
	}
	delete(m.working, key)
	if k := m.queued[key]; k != nil && !k.delayed {
		m.line(k)
	}
}

func (m *model) remove(key int) bool {
	k := m.queued[key]
	if k == nil {
		return false
	}
	if k.delayed {
		m.delayed = withdraw(m.delayed, k, byTime)
	} else {
		m.leave(k)
	}
	delete(m.queued, key)
	return true
}

func (m *model) dropDelayed() {
	for _, k := range m.delayed {
		delete(m.queued, k.key)
	}
	m.delayed = nil
}

func (m *model) len() (ready int) { return len(m.queued) - len(m.delayed) }
