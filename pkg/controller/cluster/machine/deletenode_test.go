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

// MB146-150, MD3, MT32: the timeout starts at the first attempt. In Cluster API it starts with the deletion of the
// Machine, so that it may expire before this stage.
func TestDeleteNode_HasItsOwnTimeout(t *testing.T) {
	w := newFixture(t, atNode(pointer[int32](10)), newCluster(), newNode())
	broken := true
	w.workload.PrependReactor("delete", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		return broken, nil, errors.New("out of order")
	})
	w.expectError("deleting Node n: out of order")
	w.expect("Deleting", "True DeletingNode", "Error deleting Node n: out of order")
	w.now = w.now.Add(9 * time.Second)
	w.expectError("out of order")
	w.now = w.now.Add(time.Second)
	w.reconcile()
	if len(w.machine().Finalizers) != 0 || !w.hasNode() {
		t.Errorf("after the timeout: finalizers %v", w.machine().Finalizers)
	}

	for _, seconds := range []*int32{nil, pointer[int32](0)} {
		w := newFixture(t, atNode(seconds), newCluster(), newNode())
		w.workload.PrependReactor("delete", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("out of order")
		})
		w.expectError("out of order")
		w.now = w.now.Add(24 * time.Hour)
		w.expectError("out of order")
	}
}

func TestDeleteNode_KeepsNodesOfOtherMachines(t *testing.T) {
	n := newNode()
	n.Spec.ProviderID = "example://2"
	w := newFixture(t, atNode(nil), newCluster(), n)
	w.reconcile()
	if !w.hasNode() || len(w.machine().Finalizers) != 0 {
		t.Errorf("Node exists: %t, finalizers %v", w.hasNode(), w.machine().Finalizers)
	}
}

// Another Node may have the name when the API server deletes it.
func TestDeleteNode_DeletesOnlyTheNodeThatWasRead(t *testing.T) {
	w := newFixture(t, atNode(nil), newCluster(), newNode())
	w.workload.PrependReactor("delete", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		p := a.(clienttesting.DeleteActionImpl).DeleteOptions.Preconditions
		if p == nil || p.UID == nil {
			return false, nil, nil // Without a precondition, any Node of the name is deleted.
		}
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "n", fmt.Errorf("the UID in the precondition is %s, but the object has another", *p.UID))
	})
	w.expectError("the UID in the precondition is uid-n")
	if !w.hasNode() {
		t.Error("another Node of the name was deleted")
	}
}

// Without a connection the state of the Node is unknown: each stage waits for its timeout.
func TestDeletion_WaitsForAnUnreachableClusterUntilTheTimeout(t *testing.T) {
	w := newFixture(t, newMachine(running, deleted, func(m *machine) {
		m.Spec.Deletion = clusterv1alpha1.MachineDeletionSpec{
			NodeDrainTimeoutSeconds: pointer[int32](60), NodeVolumeDetachTimeoutSeconds: pointer[int32](30), NodeDeletionTimeoutSeconds: pointer[int32](10),
		}
	}), newCluster(), infraThere(), newNode())
	w.down = workload.ErrNotConnected
	for _, step := range []struct {
		stage string
		after time.Duration
	}{{"Drain", 60 * time.Second}, {"VolumeDetach", 30 * time.Second}} {
		if got := w.reconcile().RequeueAfter; got != step.after || w.stage() != step.stage {
			t.Fatalf("requeued after %s, stage %s; want %s, %s", got, w.stage(), step.after, step.stage)
		}
		w.now = w.now.Add(step.after)
	}
	w.reconcile()
	if got := w.reconcile().RequeueAfter; got != 10*time.Second || w.stage() != "Node" {
		t.Fatalf("requeued after %s, stage %s", got, w.stage())
	}
	w.now = w.now.Add(10 * time.Second)
	w.reconcile()
	if len(w.machine().Finalizers) != 0 || w.drained > 0 {
		t.Errorf("finalizers %v, drained %d times", w.machine().Finalizers, w.drained)
	}
}
