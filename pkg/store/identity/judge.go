// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import "fmt"

// store is what is compared.
type store struct {
	id string
	// revision is that of the last write.
	revision int64
}

// judge says why a store is not to be served, nothing if it is. known is what the host
// cluster knows, nil if nothing; accepted is the ID that an administrator has accepted.
func judge(known *store, accepted string, now store) (refusal string) {
	switch {
	case known == nil, accepted == now.id:
		return ""
	case known.id != now.id:
		return fmt.Sprintf("it has the ID %s, and the host cluster expects %s: is the right volume mounted, and are --etcd-servers and --etcd-prefix right?", now.id, known.id)
	case known.revision > now.revision:
		return fmt.Sprintf("the store %s is at revision %d, and was at %d before: it is an older copy, and \"slipway-apiserver etcd restore\" is what restores one.", now.id, now.revision, known.revision)
	default:
		return ""
	}
}

// further is what the host cluster knows, or what this process has seen of the same store
// since, or while the host cluster knew none.
func further(known, seen *store) *store {
	if seen != nil && (known == nil || known.id == seen.id && known.revision < seen.revision) {
		return seen
	}
	return known
}
