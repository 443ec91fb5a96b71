// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"fmt"

	"github.com/slipway-dev/slipway/pkg/embeddedetcd"
)

// move is what a replica does at its start.
type move int

const (
	// wait for others, and look again.
	wait move = iota
	// goOn with the data that is there.
	goOn
	// found the cluster: create the record, or take over what this replica has begun.
	found
	// askToJoin writes that into the record.
	askToJoin
	// join as the member that the leader has added.
	join
	// refuse to start.
	refuse
)

// state is what a replica knows at its start.
type state struct {
	// name and address are its own.
	name, address string
	local         embeddedetcd.Local
	// record is nil when there is none.
	record *record
	// storeKnown is true when the host cluster knows a store, which was served before.
	storeKnown bool
}

// begin decides what a replica does, and says why.
func begin(s *state) (move, string) {
	switch {
	case s.local.Member != 0:
		return beginWithData(s)
	case s.record == nil && s.storeKnown:
		return wait, "the host cluster knows a store, and no replica with its data has started: start the one that has it, restore a snapshot, " +
			"or, if all objects shall be lost, delete the ConfigMap slipway-store"
	case s.record == nil:
		return found, "there is no cluster yet"
	case s.record.cluster == 0 && s.record.founder.name == s.name:
		return found, "this replica has begun to found the cluster"
	case s.record.cluster == 0:
		return wait, s.record.founder.name + " founds the cluster"
	}
	return beginJoining(s)
}

func beginWithData(s *state) (move, string) {
	r := s.record
	switch {
	case r == nil:
		return goOn, "nothing is known of this cluster yet"
	case r.cluster == 0 && r.founder == directory{s.name, s.local.Directory}:
		return goOn, "this replica has founded the cluster"
	case r.cluster == 0:
		return refuse, fmt.Sprintf("it has data of the cluster %x, and %s founds another one; if its data is what is to be served, delete the ConfigMap %s",
			s.local.Cluster, r.founder.name, ConfigMapName)
	case r.cluster != s.local.Cluster:
		return refuse, fmt.Sprintf("its data is of the cluster %x, and the host cluster knows %x: is the right volume mounted? To join with an empty store remove its data; "+
			"if its data is what is to be served, as after a restore, delete the ConfigMap %s", s.local.Cluster, r.cluster, ConfigMapName)
	}
	if _, listed := r.member(s.local.Member); listed || len(r.members) == 0 {
		return goOn, "it is a member"
	}
	return beginJoining(s) // it was removed
}

func beginJoining(s *state) (move, string) {
	if a, ok := s.record.added[s.name]; ok && a.directory == s.local.Directory && a.member != s.local.Member {
		if m, listed := s.record.member(a.member); listed && m.Address == s.address {
			return join, "it was added"
		}
	}
	reason := fmt.Sprintf("it asks to join the cluster %x, which a member that leads answers", s.record.cluster)
	if s.record.asks[s.name] == (ask{s.local.Directory, s.address}) {
		return wait, reason
	}
	return askToJoin, reason
}
