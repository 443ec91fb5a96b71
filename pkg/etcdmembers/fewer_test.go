// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import "testing"

// The node of r-2 is lost, so that nobody tells it to leave.
func TestThreeReplicasShrinkToOneWhileOneOfThemIsDead(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 3)
	all := []string{"r-0", "r-1", "r-2"}
	r.start(all...)
	r.members("r-0", all...)
	r.put("r-0", "/n", "3")
	r.stop("r-2") // it is wanted still, and does not leave
	r.size.Store(1)
	r.stop("r-1")
	r.members("r-0", "r-0")
	r.put("r-0", "/n", "1")
	r.has(map[string]string{"/n": "1"})
}
