// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import "fmt"

// maxProgress is the largest increase of the revision that writes between two comparisons
// can explain. etcd documents --bump-revision 1000000000 for restores.
const maxProgress = 500_000_000

// state is the state of a store at one moment.
type state struct {
	id string
	// cluster is the ID of the etcd cluster in hexadecimal. It is empty if a ConfigMap does not have it.
	cluster string
	// revision is the revision of the last write.
	revision int64
}

// verdict is what a server does with a store.
type verdict int

const (
	// serve means that the API is served and the controllers run.
	serve verdict = iota
	// hold means that the API is served and the controllers wait until the store is released.
	hold
	// refuse means that the API is not served.
	refuse
)

// decide compares a store with the last known state, which is nil if no store is known yet.
// accepted is the ID of the store that an administrator has accepted. The reason explains
// the verdicts hold and refuse.
func decide(known *state, accepted string, now state) (v verdict, reason string) {
	switch {
	case known == nil:
		return serve, ""
	case known.id != now.id:
		v, reason = refuse, fmt.Sprintf("the store has the ID %s, and the management cluster expects %s", now.id, known.id)
	case known.revision > now.revision:
		v, reason = refuse, fmt.Sprintf("the store %s is at revision %d, and was at %d before: it is an older copy", now.id, now.revision, known.revision)
	case known.cluster != "" && known.cluster != now.cluster:
		return hold, fmt.Sprintf("the store %s was moved or restored: it is in the etcd cluster %s, and was in %s before", now.id, now.cluster, known.cluster)
	case now.revision-known.revision > maxProgress:
		return hold, fmt.Sprintf("the store %s was restored: it is at revision %d, and was at %d before", now.id, now.revision, known.revision)
	}
	if v == refuse && accepted == now.id {
		v = hold
	}
	return v, reason
}
