// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
)

// atNode returns a Machine of which only the Node remains.
func atNode(seconds *int32) *machine {
	return newMachine(running, deleted, func(m *machine) {
		m.Spec.Deletion.NodeDeletionTimeoutSeconds = seconds
		m.Status.Deletion = &clusterv1alpha1.MachineDeletionStatus{Stage: clusterv1alpha1.MachineDeletionStageNode}
		m.DeletionTimestamp = pointer(metav1.NewTime(began.Add(-24 * time.Hour)))
	})
}

// Behaviors MB146-150, MD3, MT32 of test/behaviours: the timeout starts at the first attempt. In Cluster API it starts
// with the deletion of the Machine, so that it may expire before this stage.
func TestDeleteNode_HasItsOwnTimeout(t *testing.T) {
	f := newFixture(t, atNode(pointer[int32](10)), newCluster(), newNode())
	broken := true
	f.workload.PrependReactor("delete", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		return broken, nil, errors.New("internal error")
	})
	f.expectError("deleting Node n: internal error")
	f.expect("Deleting", "True DeletingNode", "Error deleting Node n: internal error")
	f.now = f.now.Add(9 * time.Second)
	f.expectError("internal error")
	f.now = f.now.Add(time.Second)
	f.reconcile()
	if len(f.machine().Finalizers) != 0 || !f.hasNode() {
		t.Errorf("after the timeout: finalizers %v", f.machine().Finalizers)
	}

	for _, seconds := range []*int32{nil, pointer[int32](0)} {
		f := newFixture(t, atNode(seconds), newCluster(), newNode())
		f.workload.PrependReactor("delete", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("internal error")
		})
		f.expectError("internal error")
		f.now = f.now.Add(24 * time.Hour)
		f.expectError("internal error")
	}
}

func TestDeleteNode_KeepsNodesOfOtherMachines(t *testing.T) {
	n := newNode()
	n.Spec.ProviderID = "example://2"
	f := newFixture(t, atNode(nil), newCluster(), n)
	f.reconcile()
	if !f.hasNode() || len(f.machine().Finalizers) != 0 {
		t.Errorf("Node exists: %t, finalizers %v", f.hasNode(), f.machine().Finalizers)
	}
}

// Another Node may have the name when the API server deletes it.
func TestDeleteNode_DeletesOnlyTheNodeThatWasRead(t *testing.T) {
	f := newFixture(t, atNode(nil), newCluster(), newNode())
	f.workload.PrependReactor("delete", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		p := a.(clienttesting.DeleteActionImpl).DeleteOptions.Preconditions
		if p == nil || p.UID == nil {
			return false, nil, nil // Without a precondition, any Node of the name is deleted.
		}
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "n", fmt.Errorf("the UID in the precondition is %s, but the object has another", *p.UID))
	})
	f.expectError("the UID in the precondition is uid-n")
	if !f.hasNode() {
		t.Error("another Node of the name was deleted")
	}
}

// Without a connection the state of the Node is unknown: each stage waits for its timeout.
func TestDeletion_WaitsForAnUnreachableClusterUntilTheTimeout(t *testing.T) {
	f := newFixture(t, newMachine(running, deleted, func(m *machine) {
		m.Spec.Deletion = clusterv1alpha1.MachineDeletionSpec{
			NodeDrainTimeoutSeconds: pointer[int32](60), NodeVolumeDetachTimeoutSeconds: pointer[int32](30), NodeDeletionTimeoutSeconds: pointer[int32](10),
		}
	}), newCluster(), provisionedInfra(), newNode())
	f.down = workload.ErrNotConnected
	for _, step := range []struct {
		stage string
		after time.Duration
	}{{"Drain", 60 * time.Second}, {"VolumeDetach", 30 * time.Second}} {
		if got := f.reconcile().RequeueAfter; got != step.after || f.stage() != step.stage {
			t.Fatalf("requeued after %s, stage %s; want %s, %s", got, f.stage(), step.after, step.stage)
		}
		f.now = f.now.Add(step.after)
	}
	f.reconcile()
	if got := f.reconcile().RequeueAfter; got != 10*time.Second || f.stage() != "Node" {
		t.Fatalf("requeued after %s, stage %s", got, f.stage())
	}
	f.now = f.now.Add(10 * time.Second)
	f.reconcile()
	if len(f.machine().Finalizers) != 0 || f.drained > 0 {
		t.Errorf("finalizers %v, drained %d times", f.machine().Finalizers, f.drained)
	}
}
