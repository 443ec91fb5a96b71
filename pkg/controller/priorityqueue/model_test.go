// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import "slices"

// model says what the core must do, in the plainest way: one slice, searched
// from end to end.
type model struct {
	group   func(int) string
	queued  []*modelKey
	working map[int]int // key in process → its priority
	seq     int
	// turns holds, for each priority, the groups in the order of their turns.
	turns map[int][]string
}

type modelKey struct {
	key, priority int
	delayed       bool
	at            int64
	seq           int
	// missed: its turn came while it was in process.
	missed bool
}

func newModel(group func(int) string) *model {
	return &model{group: group, working: map[int]int{}, turns: map[int][]string{}}
}

func (m *model) groupOf(key int) string {
	if m.group == nil {
		return ""
	}
	return m.group(key)
}

func (m *model) find(key int) *modelKey {
	for _, k := range m.queued {
		if k.key == key {
			return k
		}
	}
	return nil
}

func (m *model) add(key, priority int, due, now int64) {
	m.promote(now)
	k := m.find(key)
	if k == nil {
		k = &modelKey{key: key, priority: priority, delayed: true, at: due}
		m.queued = append(m.queued, k)
		m.next(k)
		if due <= now {
			m.ready(k)
		}
		return
	}
	raised := priority > k.priority
	k.priority = max(k.priority, priority)
	switch {
	case k.delayed && due <= now:
		m.ready(k)
	case k.delayed && due < k.at:
		k.at = due
		m.next(k)
	case !k.delayed && raised:
		m.ready(k)
	}
	m.dropTurns()
}

func (m *model) next(k *modelKey) {
	m.seq++
	k.seq = m.seq
}

// ready puts a key at the end of its priority.
func (m *model) ready(k *modelKey) {
	k.delayed, k.missed = false, false
	m.next(k)
	m.takeTurns(k)
	m.dropTurns()
}

// takeTurns gives the group of a key a place in the turns of the key's priority.
func (m *model) takeTurns(k *modelKey) {
	if g := m.groupOf(k.key); !slices.Contains(m.turns[k.priority], g) {
		m.turns[k.priority] = append(m.turns[k.priority], g)
	}
}

// dropTurns takes out the groups that have nothing to hand out.
func (m *model) dropTurns() {
	for p := range m.turns {
		m.turns[p] = slices.DeleteFunc(m.turns[p], func(g string) bool { return m.first(p, g) == nil })
	}
}

func (m *model) promote(now int64) {
	for {
		var first *modelKey
		for _, k := range m.queued {
			if k.delayed && k.at <= now && (first == nil || k.at < first.at || k.at == first.at && k.seq < first.seq) {
				first = k
			}
		}
		if first == nil {
			return
		}
		m.ready(first)
	}
}

// first returns the first key of a priority and group that did not miss its turn.
func (m *model) first(priority int, group string) *modelKey {
	var first *modelKey
	for _, k := range m.queued {
		if k.delayed || k.missed || k.priority != priority || m.groupOf(k.key) != group {
			continue
		}
		if first == nil || k.seq < first.seq {
			first = k
		}
	}
	return first
}

// priorities returns those of the ready keys, highest first.
func (m *model) priorities() []int {
	var all []int
	for _, k := range m.queued {
		if !k.delayed && !slices.Contains(all, k.priority) {
			all = append(all, k.priority)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all
}

func (m *model) pop(now int64) (key, priority int, ok bool) {
	m.promote(now)
	for _, p := range m.priorities() {
		if key, ok := m.popAt(p); ok {
			return key, p, true
		}
	}
	return 0, 0, false
}

// popAt is pop for one priority.
func (m *model) popAt(p int) (key int, ok bool) {
	for len(m.turns[p]) > 0 {
		g := m.turns[p][0]
		k := m.first(p, g)
		if _, busy := m.working[k.key]; busy {
			k.missed = true
			m.dropTurns()
			continue
		}
		m.queued = slices.DeleteFunc(m.queued, func(o *modelKey) bool { return o == k })
		m.working[k.key] = p
		m.turns[p] = append(m.turns[p][1:], g)
		m.dropTurns()
		return k.key, true
	}
	return 0, false
}

func (m *model) done(key int) bool {
	if _, ok := m.working[key]; !ok {
		return false
	}
	delete(m.working, key)
	if k := m.find(key); k != nil && k.missed {
		k.missed = false
		m.takeTurns(k)
	}
	return true
}

func (m *model) remove(key int) bool {
	n := len(m.queued)
	m.queued = slices.DeleteFunc(m.queued, func(k *modelKey) bool { return k.key == key })
	m.dropTurns()
	return len(m.queued) < n
}

func (m *model) dropDelayed() {
	m.queued = slices.DeleteFunc(m.queued, func(k *modelKey) bool { return k.delayed })
}

func (m *model) len() (ready int) {
	for _, k := range m.queued {
		if !k.delayed {
			ready++
		}
	}
	return ready
}
