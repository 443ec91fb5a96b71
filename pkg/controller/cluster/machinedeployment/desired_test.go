// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machinedeployment

import (
	"testing"

	"k8s.io/utils/ptr"
)

// The last Machine of the previous template is blocked in its drain.
func TestDeployment_UpdatesTimeoutsOfSetsWithoutReplicas(t *testing.T) {
	w := newFixture(t, 1, count(1), count(0))
	w.settle(nil)
	w.slow = 100
	w.version("v2")
	for range 10 {
		w.reconcile()
		w.step()
	}
	old := w.set("v1")
	if *old.Spec.Replicas != 0 || len(w.machines[old.Name]) != 1 {
		t.Fatalf("the old set has %d replicas and %d Machines, want one being deleted", *old.Spec.Replicas, len(w.machines[old.Name]))
	}
	w.d.Spec.Template.Spec.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](60)
	w.reconcile()
	if got := ptr.Deref(w.set("v1").Spec.Template.Spec.Deletion.NodeDrainTimeoutSeconds, 0); got != 60 {
		t.Errorf("the timeout of the old set is %d, want 60", got)
	}
}
