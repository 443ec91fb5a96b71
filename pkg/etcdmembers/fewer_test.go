// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"context"
	"fmt"
	"testing"
)

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

// The leader was faster, and who is removed may not have heard of it.
func TestAReplicaThatIsToldToStopAfterItWasRemovedHasLeft(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 2)
	r.start("r-0", "r-1")
	r.members("r-0", "r-0", "r-1")
	if first := r.all["r-0"]; !first.Leads() {
		if err := r.leader().Yield(t.Context(), first.ID()); err != nil {
			t.Fatal(err)
		}
	}
	r.size.Store(1)
	r.members("r-0", "r-0")
	r.until("the record says so", func() error {
		if n := len(r.record().members); n != 1 {
			return fmt.Errorf("it has %d members", n)
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), leaveTimeout)
	defer cancel()
	if err := r.all["r-1"].leave(ctx); err != nil {
		t.Error(err)
	}
	r.size.Store(2) // its Close is not to leave again
}
