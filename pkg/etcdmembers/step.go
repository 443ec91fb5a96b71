// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
)

// How long a learner may stand in the way of another replica that asks to join, for etcd takes
// one learner at a time: one that has not begun, and one that has and does not catch up.
const (
	unbegunPatience = 2 * time.Minute
	begunPatience   = 15 * time.Minute
)

// verb is what the leader does next.
type verb int

const (
	nothing verb = iota
	// write the record.
	write
	promote
	add
	remove
	// yield lets another member lead, which then removes this one.
	yield
)

// action of the leader.
type action struct {
	verb verb
	// member is whom it is about; of one that is added the address.
	member embedded.Member
	// name and directory are those of the replica that is added.
	name, directory string
	reason          string
}

// view is what the leader knows.
type view struct {
	self    uint64
	cluster uint64
	members []embedded.Member
	record  *record // nil when there is none
	// wanted says of a replica whether it shall be a member.
	wanted func(name string) bool
	// silent are the members that do not answer, as far as that matters.
	silent map[uint64]bool
	// waits is how long the learner has been one, as this leader has seen.
	waits time.Duration
}

// next decides on the one thing that the leader does now. The record is written before
// anything else: who starts goes by it.
func next(v *view) action {
	if v.record != nil && v.record.lost != "" {
		return action{verb: write, reason: "the cluster is said to be lost, and it is here"}
	}
	if desired := v.recorded(); v.record == nil || !maps.Equal(desired.encode(), v.record.encode()) {
		return action{verb: write, reason: "the members are not as the record has them"}
	}
	for _, m := range v.unwanted() {
		if m.ID != v.self && v.outlives(m.ID) {
			return action{verb: remove, member: m, reason: "there are to be fewer replicas"}
		}
		if to, ok := v.successor(); ok && m.ID == v.self {
			return action{verb: yield, member: to, reason: "this one is to leave, for there are to be fewer replicas"}
		}
	}
	name, replica, asked := v.waiting()
	if asked {
		for _, m := range v.named() {
			if m.ID != v.self && (m.Name == name || m.Address == replica.address) {
				return action{verb: remove, member: m, reason: name + " has lost its data and asks to join anew"}
			}
		}
	}
	learner := slices.IndexFunc(v.members, func(m embedded.Member) bool { return m.Learner })
	switch {
	case learner >= 0 && asked && (v.waits > begunPatience || v.waits > unbegunPatience && v.members[learner].Name == ""):
		return action{verb: remove, member: v.members[learner], reason: "it does not come, and " + name + " waits"}
	case learner >= 0 && v.members[learner].Name != "":
		return action{verb: promote, member: v.members[learner]}
	case learner < 0 && asked:
		return action{verb: add, member: embedded.Member{Name: name, Address: replica.address}, name: name, directory: replica.directory, reason: "it asks to join"}
	}
	return action{}
}

// waiting is the replica that is next to be added.
func (v *view) waiting() (name string, a ask, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(v.record.asks)) {
		if !v.wanted(name) {
			continue
		}
		a := v.record.asks[name]
		if added, ok := v.record.added[name]; ok && added.directory == a.directory {
			if m, listed := v.record.member(added.member); listed && m.Address == a.address {
				continue // it was told
			}
		}
		return name, a, true
	}
	return "", ask{}, false
}

// unwanted are the members that are to go, first those that do not answer: with them in it the
// cluster can spare none that does.
func (v *view) unwanted() []embedded.Member {
	all := slices.DeleteFunc(v.named(), func(m embedded.Member) bool { return m.Name == "" || v.wanted(m.Name) })
	slices.SortStableFunc(all, func(a, b embedded.Member) int {
		switch {
		case v.silent[a.ID] == v.silent[b.ID]:
			return 0
		case v.silent[a.ID]:
			return -1
		}
		return 1
	})
	return all
}

// outlives tells whether the others have a quorum without a member, of those that answer. etcd
// asks itself the same, but takes a member that is silent for a few seconds for one that answers.
func (v *view) outlives(without uint64) bool {
	all, answering := 0, 0
	for _, m := range v.members {
		if m.Learner || m.ID == without {
			continue
		}
		if all++; !v.silent[m.ID] {
			answering++
		}
	}
	return answering > all/2
}

// successor is a member that may lead in place of this one.
func (v *view) successor() (embedded.Member, bool) {
	for _, m := range v.members {
		if m.ID != v.self && !m.Learner && v.wanted(m.Name) && !v.silent[m.ID] {
			return m, true
		}
	}
	return embedded.Member{}, false
}

// named are the members; those that have not begun have the names of who was told to.
func (v *view) named() []embedded.Member {
	all := slices.Clone(v.members)
	for i := range all {
		if all[i].Name != "" || v.record == nil {
			continue
		}
		for name, a := range v.record.added {
			if a.member == all[i].ID {
				all[i].Name = name
			}
		}
	}
	return all
}

// recorded is the record as it should be: what is there of others is kept, but for asks that
// were met, and answers about members that are gone, with the asks that they answered: who
// lives asks anew, and who does not is not added for ever in place of others.
func (v *view) recorded() *record {
	r := &record{cluster: v.cluster, asks: map[string]ask{}, added: map[string]answer{}}
	if v.record != nil {
		r.founder, r.token = v.record.founder, v.record.token
		maps.Copy(r.asks, v.record.asks)
		maps.Copy(r.added, v.record.added)
	}
	r.members = slices.DeleteFunc(v.named(), func(m embedded.Member) bool {
		return m.Name == "" // nobody was told of it: the leader that added it was interrupted
	})
	for name, a := range r.added {
		m, listed := r.member(a.member)
		if m.Learner {
			continue
		}
		if !listed {
			delete(r.added, name)
		}
		if r.asks[name].directory == a.directory {
			delete(r.asks, name)
		}
	}
	slices.SortFunc(r.members, func(a, b embedded.Member) int { return strings.Compare(hex(a.ID), hex(b.ID)) })
	return r
}
