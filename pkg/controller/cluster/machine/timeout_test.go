// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/drain"
)

// Behaviors MT30-31 of test/behaviours: users learn from an event that objects remain after a timeout.
func TestDeletion_RecordsAnEventAfterATimeout(t *testing.T) {
	f := newFixture(t, newMachine(running, deleted, func(m *machine) {
		m.Spec.Deletion = clusterv1alpha1.MachineDeletionSpec{NodeDrainTimeoutSeconds: pointer(int32(60)), NodeVolumeDetachTimeoutSeconds: pointer(int32(30))}
	}), newCluster(), provisionedInfra(), newNode())
	f.draining, f.detaching = drain.Result{Message: "Pods"}, drain.Result{Message: "a disk"}
	f.reconcile()
	f.now = f.now.Add(time.Minute)
	f.reconcile()
	if f.stage() != "VolumeDetach" || f.drained != 1 {
		t.Errorf("stage %s, drained %d times", f.stage(), f.drained)
	}
	f.now = f.now.Add(30 * time.Second)
	f.reconcile()
	if f.stage() != "Infrastructure" || f.detached != 1 {
		t.Errorf("stage %s, detached %d times", f.stage(), f.detached)
	}
	if diff := cmp.Diff([]string{"FailedDrainNode", "FailedWaitForVolumeDetach"}, f.eventReasons()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
