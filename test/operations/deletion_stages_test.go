// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/test/workloadcluster"
)

func hookedAtBoth(m *clusterv1alpha1.Machine) {
	m.Annotations[preDrainHook], m.Annotations[preTerminateHook] = "", "x"
}

// finalized is a finalizer that blocks the deletion of a Pod until the test removes it.
func finalized(p *corev1.Pod) { p.Finalizers = []string{heldFinalizer} }

// daemonSet creates a DaemonSet with a volume whose Pods run only on node, and waits for its Pod.
func (s *deletionScene) daemonSet(name, node string) {
	s.Helper()
	labels := map[string]string{"app": name}
	_, err := s.nodes.AppsV1().DaemonSets(s.Namespace).Create(s.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				NodeSelector: map[string]string{corev1.LabelHostname: node},
				Tolerations:  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
				Containers:   []corev1.Container{{Name: "c", Image: "test"}},
				Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: s.Namespace + "-" + name},
				}}},
			}},
		},
	}, metav1.CreateOptions{})
	s.Must(err)
	s.Eventually("the Pod of the DaemonSet runs", func() error {
		list, err := s.nodes.CoreV1().Pods(s.Namespace).List(s.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
		if err == nil && (len(list.Items) != 1 || list.Items[0].Status.Phase != corev1.PodRunning) {
			err = fmt.Errorf("%d Pods", len(list.Items))
		}
		return err
	})
}

// attached creates a volume with a claim of its name, attached to node.
func (s *deletionScene) attached(name, node string) {
	s.Helper()
	workloadcluster.AttachVolume(s.T, s.nodes, s.Namespace, s.Namespace+"-"+name, node)
}

// TestMachineDeletion_ContinuesAfterAKillAtEachStage is MT14 and MT16-27: the complete deletion of a Machine with every
// possible obstacle. The test removes each obstacle after it has killed the server.
func TestMachineDeletion_ContinuesAfterAKillAtEachStage(t *testing.T) {
	s := newDeletionScene(t)
	const m = "m"
	s.machine(m, hookedAtBoth, func(m *clusterv1alpha1.Machine) { m.Spec.Deletion.NodeDeletionTimeoutSeconds = ptr.To(int32(0)) })
	node := s.Node(m)
	s.attached("agent", node)
	s.attached("web", node)
	s.daemonSet("agent", node)
	s.Guarded("guarded", node)
	_, err := s.Work.AddPod(t.Context(), s.Namespace, "slow", node, finalized)
	s.Must(err)
	s.delete(m)

	hooks := s.waitsAt(m, clusterv1alpha1.MachineDeletionStagePreDrainHook, clusterv1alpha1.WaitingForPreDrainHookReason, preDrainHook)
	s.KillSlipway()
	if n, err := s.nodes.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{}); err != nil || n.Spec.Unschedulable {
		t.Errorf("the Node is cordoned before the hook is removed (%v)", err)
	}
	s.unhook(m, preDrainHook)

	drains := s.waitsAt(m, clusterv1alpha1.MachineDeletionStageDrain, clusterv1alpha1.DrainingNodeReason,
		"Pod "+s.Namespace+"/slow: deletionTimestamp set, but still not removed from the Node",
		"Pod "+s.Namespace+"/guarded: cannot evict pod as it would violate the pod's disruption budget. The disruption budget guarded needs 1 healthy pods and has 1 currently")
	s.checkStageTimes(hooks, drains)
	s.KillSlipway()
	s.Must(s.nodes.PolicyV1().PodDisruptionBudgets(s.Namespace).Delete(t.Context(), "guarded", metav1.DeleteOptions{}))
	_, err = s.nodes.CoreV1().Pods(s.Namespace).Patch(t.Context(), "slow", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	s.Must(err)

	detaches := s.waitsAt(m, clusterv1alpha1.MachineDeletionStageVolumeDetach, clusterv1alpha1.WaitingForVolumeDetachReason,
		"\n* PersistentVolumeClaims: "+s.Namespace+"/"+s.Namespace+"-web")
	s.checkStageTimes(drains, detaches)
	_, err = s.Work.AddPod(t.Context(), s.Namespace, "late", node)
	s.Must(err)
	s.KillSlipway()
	s.Must(s.nodes.StorageV1().VolumeAttachments().Delete(t.Context(), s.Namespace+"-web", metav1.DeleteOptions{}))

	hooks = s.waitsAt(m, clusterv1alpha1.MachineDeletionStagePreTerminateHook, clusterv1alpha1.WaitingForPreTerminateHookReason, preTerminateHook)
	s.checkStageTimes(detaches, hooks)
	s.KillSlipway()
	s.onlyLateAndAgentAreLeft()
	s.unhook(m, preTerminateHook)
	s.objectsAndNodeGo(m)
	if diff := cmp.Diff(map[string]int{"SuccessfulDrainNode": 1, "NodeVolumesDetached": 1}, s.events(m, "SuccessfulDrainNode", "NodeVolumesDetached")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// objectsAndNodeGo tests the second half of a deletion, with a kill at each stage.
func (s *deletionScene) objectsAndNodeGo(m string) {
	s.Helper()
	s.isDeleted(exampleMachines, m)
	s.waitsAt(m, clusterv1alpha1.MachineDeletionStageInfrastructure, clusterv1alpha1.WaitingForInfrastructureDeletionReason, "Waiting for ExampleMachine to be deleted")
	s.KillSlipway()
	s.waitsAt(m, clusterv1alpha1.MachineDeletionStageInfrastructure, clusterv1alpha1.WaitingForInfrastructureDeletionReason)
	if !s.hasNode(m) {
		s.Error("the Node is deleted before its machine is deleted")
	}
	s.release(exampleMachines, m)

	s.isDeleted(exampleConfigs, m)
	s.waitsAt(m, clusterv1alpha1.MachineDeletionStageBootstrap, clusterv1alpha1.WaitingForBootstrapDeletionReason, "Waiting for ExampleConfig to be deleted")
	s.KillSlipway()
	s.waitsAt(m, clusterv1alpha1.MachineDeletionStageBootstrap, clusterv1alpha1.WaitingForBootstrapDeletionReason)
	s.Must(s.Work.Freeze())
	defer func() { s.Must(s.Work.Thaw()) }()
	s.release(exampleConfigs, m)

	s.waitsAt(m, clusterv1alpha1.MachineDeletionStageNode, clusterv1alpha1.DeletingNodeReason)
	s.KillSlipway()
	s.waitsAt(m, clusterv1alpha1.MachineDeletionStageNode, clusterv1alpha1.DeletingNodeReason)
	s.Must(s.Work.Thaw())
	s.awaitDeleted(m)
	if s.hasNode(m) {
		s.Error("the Node is left")
	}
}

// checkStageTimes checks that the start times of the stages are the same before and after a kill.
func (s *deletionScene) checkStageTimes(before, after *clusterv1alpha1.Machine) {
	s.Helper()
	times := func(m *clusterv1alpha1.Machine) []*metav1.Time {
		d := m.Status.Deletion
		return []*metav1.Time{d.WaitForPreDrainHookStartTime, d.NodeDrainStartTime, d.WaitForNodeVolumeDetachStartTime}
	}
	now := times(after)
	for i, t := range times(before) {
		if t != nil && !t.Equal(now[i]) {
			s.Errorf("a stage that began at %s has the start time %s", t, now[i])
		}
	}
}

// onlyLateAndAgentAreLeft checks the Pods after the drain. Pods that were scheduled to the Node later are not drained
// again.
func (s *deletionScene) onlyLateAndAgentAreLeft() {
	s.Helper()
	list, err := s.nodes.CoreV1().Pods(s.Namespace).List(s.Context(), metav1.ListOptions{})
	s.Must(err)
	left := map[string]bool{}
	for _, p := range list.Items {
		left[p.Labels["app"]] = p.DeletionTimestamp != nil
	}
	if diff := cmp.Diff(map[string]bool{"late": false, "agent": false}, left); diff != "" {
		s.Errorf("Pods that are left, and whether they are deleted (-want +got):\n%s", diff)
	}
}
