// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// TestAWorkloadClusterThatDoesNotAnswer is MT30-32: it has one Machine whose stages may take a few seconds
// each, and one without a limit, which waits until the cluster answers again.
func TestAWorkloadClusterThatDoesNotAnswer(t *testing.T) {
	s := newDeletionScene(t)
	s.machine("limited", func(m *clusterv1alpha1.Machine) {
		seconds := ptr.To(int32(2))
		m.Spec.Deletion = clusterv1alpha1.MachineDeletionSpec{NodeDrainTimeoutSeconds: seconds, NodeVolumeDetachTimeoutSeconds: seconds, NodeDeletionTimeoutSeconds: seconds}
	})
	s.machine("patient")
	_, err := pair.Work.AddPod(t.Context(), s.Namespace, "a", s.Node("patient"))
	s.Must(err)
	s.Must(pair.Work.Freeze())
	defer func() { s.Must(pair.Work.Thaw()) }()
	s.delete("patient")
	s.delete("limited")

	s.isDeleted(machines, "limited")
	s.release(machines, "limited")
	s.isDeleted(configs, "limited")
	s.release(configs, "limited")
	s.gone("limited")
	s.waitsAt("patient", clusterv1alpha1.MachineDeletionStageDrain, clusterv1alpha1.DrainingNodeReason)
	s.Kill() // which has no connection then, and can make none
	s.waitsAt("patient", clusterv1alpha1.MachineDeletionStageDrain, clusterv1alpha1.DrainingNodeReason, "the workload cluster cannot be reached")

	s.Must(pair.Work.Thaw())
	s.isDeleted(machines, "patient")
	pods, err := s.nodes.CoreV1().Pods(s.Namespace).List(t.Context(), metav1.ListOptions{})
	s.Must(err)
	if len(pods.Items) != 0 {
		t.Errorf("%d Pods are left on a Node that was not drained", len(pods.Items))
	}
	s.release(machines, "patient")
	s.isDeleted(configs, "patient")
	s.release(configs, "patient")
	s.gone("patient")
	if diff := cmp.Diff([]bool{true, false}, []bool{s.hasNode("limited"), s.hasNode("patient")}); diff != "" {
		t.Errorf("whether Nodes are left (-want +got):\n%s", diff)
	}
}

// TestANodeThatDoesNotReport is drained without its kubelet. Its volumes are not waited for, although no controller
// detaches them.
func TestANodeThatDoesNotReport(t *testing.T) {
	s := newDeletionScene(t)
	s.machine("m")
	_, err := pair.Work.AddPod(t.Context(), s.Namespace, "stuck", s.Node("m"), finalized)
	s.Must(err)
	s.attached("web", s.Node("m"))
	s.Must(pair.Work.SetReady(t.Context(), s.Node("m"), corev1.ConditionUnknown))
	s.delete("m")
	s.isDeleted(machines, "m")
	s.release(machines, "m")
	s.isDeleted(configs, "m")
	s.release(configs, "m")
	s.gone("m")
	if s.hasNode("m") {
		t.Error("the Node is left")
	}
}
