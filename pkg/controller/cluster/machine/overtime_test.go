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

// MT30-31: that something is left is told where people look for it, once.
func TestWhatIsLeftWhenTheTimeIsOverIsAnEvent(t *testing.T) {
	w := newWorld(t, newMachine(running, deleted, func(m *machine) {
		m.Spec.Deletion = clusterv1alpha1.MachineDeletionSpec{NodeDrainTimeoutSeconds: pointer(int32(60)), NodeVolumeDetachTimeoutSeconds: pointer(int32(30))}
	}), newCluster(), infraThere(), newNode())
	w.draining, w.detaching = drain.Result{Message: "Pods"}, drain.Result{Message: "a disk"}
	w.pass()
	w.now = w.now.Add(time.Minute)
	w.pass()
	if w.stage() != "VolumeDetach" || w.drained != 1 {
		t.Errorf("stage %s, drained %d times", w.stage(), w.drained)
	}
	w.now = w.now.Add(30 * time.Second)
	w.pass()
	if w.stage() != "Infrastructure" || w.detached != 1 {
		t.Errorf("stage %s, detached %d times", w.stage(), w.detached)
	}
	if diff := cmp.Diff([]string{"FailedDrainNode", "FailedWaitForVolumeDetach"}, w.happened()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
