// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// TestMachineDeletion_WaitsForASilentWorkloadCluster is MT30-32. One Machine has stages with a timeout of a few
// seconds. The other has no timeout and waits until the cluster answers again.
func TestMachineDeletion_WaitsForASilentWorkloadCluster(t *testing.T) {
	s := newDeletionScene(t)
	s.machine("limited", func(m *clusterv1alpha1.Machine) {
		seconds := ptr.To(int32(2))
		m.Spec.Deletion = clusterv1alpha1.MachineDeletionSpec{NodeDrainTimeoutSeconds: seconds, NodeVolumeDetachTimeoutSeconds: seconds, NodeDeletionTimeoutSeconds: seconds}
	})
	s.machine("patient")
	_, err := s.Work.AddPod(t.Context(), s.Namespace, "a", s.Node("patient"))
	s.Must(err)
	s.Must(s.Work.Freeze())
	defer func() { s.Must(s.Work.Thaw()) }()
	s.delete("patient")
	s.delete("limited")

	s.isDeleted(exampleMachines, "limited")
	s.release(exampleMachines, "limited")
	s.isDeleted(exampleConfigs, "limited")
	s.release(exampleConfigs, "limited")
	s.awaitDeleted("limited")
	s.waitsAt("patient", clusterv1alpha1.MachineDeletionStageDrain, clusterv1alpha1.DrainingNodeReason)
	s.KillSlipway() // which has no connection then and cannot open one
	s.waitsAt("patient", clusterv1alpha1.MachineDeletionStageDrain, clusterv1alpha1.DrainingNodeReason, "the workload cluster cannot be reached")

	s.Must(s.Work.Thaw())
	s.isDeleted(exampleMachines, "patient")
	pods, err := s.nodes.CoreV1().Pods(s.Namespace).List(t.Context(), metav1.ListOptions{})
	s.Must(err)
	if len(pods.Items) != 0 {
		t.Errorf("%d Pods are left on a Node that was not drained", len(pods.Items))
	}
	s.release(exampleMachines, "patient")
	s.isDeleted(exampleConfigs, "patient")
	s.release(exampleConfigs, "patient")
	s.awaitDeleted("patient")
	if diff := cmp.Diff([]bool{true, false}, []bool{s.hasNode("limited"), s.hasNode("patient")}); diff != "" {
		t.Errorf("whether Nodes are left (-want +got):\n%s", diff)
	}
}
