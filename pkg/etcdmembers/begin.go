// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"fmt"
	"strings"
	"time"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
)

// lostPatience is how long who leads a cluster has for taking back that it is lost, which it does
// at its next look at the record. That it does not answer this replica proves little.
const lostPatience = runInterval + stepTimeout + hostTimeout

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
	// name and address are its own, and namespace has the record.
	name, address, namespace string
	local                    embedded.Local
	// record is nil when there is none.
	record *record
	// answering are the members of the record that answer. Only a replica without data asks.
	answering []embedded.Member
	// lostFor is for how long the record has said that the cluster is lost, and nobody answered.
	lostFor time.Duration
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
	if s.local.Member == 0 && len(s.answering) == 0 && s.record.isLost() {
		if s.lostFor < lostPatience {
			return wait, fmt.Sprintf("the cluster %x is said to be lost, and a member that leads it is given %s to say that it is not", s.record.cluster, lostPatience)
		}
		return found, "nothing is left of the cluster of before, as an administrator says"
	}
	reason := s.whyJoining()
	if s.record.asks[s.name] == (ask{s.local.Directory, s.address}) {
		return wait, reason
	}
	return askToJoin, reason
}

// whyJoining says for what a replica waits that asks to join.
func (s *state) whyJoining() string {
	r, cluster := s.record, hex(s.record.cluster)
	reason := fmt.Sprintf("it asks to join the cluster %s, which a member that leads answers", cluster)
	switch {
	case s.local.Member != 0 || len(s.answering) > 0 && r.lost == "":
		return reason
	case len(s.answering) > 0:
		return fmt.Sprintf("%s; that is said to be lost, and %s at %s answers, which has its data: take that back with "+
			"\"kubectl annotate configmap -n %s %s %s-\" before it stops; if it has no quorum, and is the only one that is left, "+
			"\"slipway-apiserver etcd recover %s\" there makes it one", reason, s.answering[0].Name, s.answering[0].Address, s.namespace, ConfigMapName, LostAnnotation, cluster)
	}
	if len(r.members) == 1 && r.members[0].Name == s.name {
		reason = fmt.Sprintf("it was the only member of the cluster %s, and its directory has %s", cluster, s.left())
	} else {
		reason += fmt.Sprintf(", and none of its members answers (%s); its own directory has %s", names(r.members), s.left())
	}
	if r.lost != "" {
		reason += fmt.Sprintf("; the annotation %s says that %q is lost, which is another one", LostAnnotation, r.lost)
	}
	return reason + fmt.Sprintf(": is the right volume mounted? Start one that has the data, or restore a snapshot; or, if all objects shall be lost: "+
		"kubectl annotate configmap --overwrite -n %s %s %s=%s", s.namespace, ConfigMapName, LostAnnotation, cluster)
}

// left is what a directory without data of a member has.
func (s *state) left() string {
	if s.local.NoLog {
		return "a database and no write-ahead log"
	}
	return "no data"
}

func names(members []embedded.Member) string {
	var all []string
	for _, m := range members {
		all = append(all, m.Name+" at "+m.Address)
	}
	return strings.Join(all, ", ")
}
