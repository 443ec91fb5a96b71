// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machinedeployment

import (
	"testing"

	"k8s.io/utils/ptr"
)

// The last Machine of the previous template is blocked in its drain.
func TestDeployment_UpdatesTimeoutsOfSetsWithoutReplicas(t *testing.T) {
	f := newFixture(t, 1, count(1), count(0))
	f.settle(nil)
	f.slow = 100
	f.version("v2")
	for range 10 {
		f.reconcile()
		f.step()
	}
	old := f.set("v1")
	if *old.Spec.Replicas != 0 || len(f.machines[old.Name]) != 1 {
		t.Fatalf("the old set has %d replicas and %d Machines, want one being deleted", *old.Spec.Replicas, len(f.machines[old.Name]))
	}
	f.d.Spec.Template.Spec.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](60)
	f.reconcile()
	if got := ptr.Deref(f.set("v1").Spec.Template.Spec.Deletion.NodeDrainTimeoutSeconds, 0); got != 60 {
		t.Errorf("the timeout of the old set is %d, want 60", got)
	}
}
