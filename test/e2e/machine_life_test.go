// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/test/workloadcluster"
)

var oneGiB = resource.MustParse("1Gi")

const (
	preDrain     = clusterv1alpha1.PreDrainDeleteHookAnnotationPrefix + "/test"
	preTerminate = clusterv1alpha1.PreTerminateDeleteHookAnnotationPrefix + "/test"
	synced       = clusterv1alpha1.ManagedNodeLabelDomain + "/rack"
)

func hooked(m *clusterv1alpha1.Machine) {
	m.Annotations = map[string]string{preDrain: "", preTerminate: ""}
	m.Labels = map[string]string{synced: "7"}
}

// writes counts the writes of a Machine from its creation until is returns true. It excludes writes that report a new
// state of other objects, because their number depends on when the VM, the connection to the workload cluster and the
// Node change. It includes a write of a state that was reported before.
func (s *scene) writes(name string) func(is func(*clusterv1alpha1.Machine) bool) int {
	s.Helper()
	w, err := s.API.ClusterV1alpha1().Machines(s.Namespace).Watch(s.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	s.Must(err)
	return func(is func(*clusterv1alpha1.Machine) bool) int {
		defer w.Stop()
		n, reported := 0, map[string]bool{}
		for e := range w.ResultChan() {
			m, ok := e.Object.(*clusterv1alpha1.Machine)
			s.Logf("%s: %s", e.Type, describe(m))
			others := ""
			if ok {
				for _, of := range []string{
					clusterv1alpha1.MachineBootstrapConfigReadyCondition, clusterv1alpha1.InfrastructureReadyCondition, clusterv1alpha1.MachineNodeHealthyCondition,
				} {
					if c := conditions.Find(m.Status.Conditions, of); c != nil {
						others += c.Reason + " " + c.Message + "\n"
					}
				}
			}
			if e.Type == watch.Modified && reported[others] {
				n++
			}
			reported[others] = true
			if ok && is(m) {
				return n
			}
		}
		s.Fatal("the watch has ended")
		return 0
	}
}

// MB18, MB20, MB65-66, MB105, MC19, MC24, MT11-14, MT16-27: a Machine gets its Node, and is deleted in order.
func TestMachine_BecomesANodeAndIsDeletedInOrder(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	count := s.writes("m1")
	s.machine("m1", hooked)
	m := s.join("m1")
	if n := count(func(m *clusterv1alpha1.Machine) bool { return m.Status.NodeRef.IsDefined() }); n > 2 {
		t.Errorf("%d writes of the Machine until it has a Node, besides those about other objects, want at most 2: the finalizer and the provider ID", n)
	}
	if m.Status.NodeRef.Name != s.Node("m1") || m.Status.NodeInfo == nil {
		t.Errorf("status %+v", m.Status)
	}
	s.until("m1", "the Machine is available", func(m *clusterv1alpha1.Machine) bool {
		return conditions.IsTrue(m.Status.Conditions, clusterv1alpha1.AvailableCondition)
	})
	s.Eventually("the Node has the label of the Machine", func() error {
		n, err := s.Work.Client().CoreV1().Nodes().Get(t.Context(), s.Node("m1"), metav1.GetOptions{})
		if err == nil && (n.Labels[synced] != "7" || n.Annotations[clusterv1alpha1.MachineAnnotation] != "m1") {
			err = errors.New("it has not")
		}
		return err
	})
	s.Must(first(s.Work.AddPod(t.Context(), "default", s.Node("m1"), s.Node("m1"))))

	s.delete("m1")
	s.waits("m1", clusterv1alpha1.WaitingForPreDrainHookReason)
	if n := s.workNode("m1"); n == nil || n.Spec.Unschedulable {
		t.Errorf("Node %v while its hook holds", n)
	}
	s.annotate("m1", preDrain, nil)
	m = s.waits("m1", clusterv1alpha1.WaitingForPreTerminateHookReason)
	if m.Status.Deletion.NodeDrainStartTime == nil || m.Status.Deletion.Stage != clusterv1alpha1.MachineDeletionStagePreTerminateHook {
		t.Errorf("deletion %+v", m.Status.Deletion)
	}
	if n := s.workNode("m1"); n == nil || !n.Spec.Unschedulable {
		t.Errorf("Node %v after its drain", n)
	}
	_, err := s.Work.Client().CoreV1().Pods("default").Get(t.Context(), s.Node("m1"), metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the Pod of a drained Node: %v", err)
	}
	s.annotate("m1", preTerminate, nil)
	s.until("m1", "the Machine is deleted", func(m *clusterv1alpha1.Machine) bool { return m == nil })
	if _, err := s.API.VmV1alpha1().VirtualMachines(s.Namespace).Get(t.Context(), "m1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the virtual machine of a deleted Machine: %v", err)
	}
	if n := s.workNode("m1"); n != nil {
		t.Error("the Node of a deleted Machine exists")
	}
}

// workNode returns the Node of a Machine, or nil if it does not exist.
func (s *scene) workNode(name string) *corev1.Node {
	s.Helper()
	n, err := s.Work.Client().CoreV1().Nodes().Get(s.Context(), s.Node(name), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	s.Must(err)
	return n
}

// MB13, MB18, MT3: resuming a paused Cluster queues its Machines immediately, and so does the deletion of a Node.
func TestMachine_FollowsPausesAndTheDeletionOfItsNode(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.machine("m1")
	s.join("m1")
	pause := func(paused bool) {
		c, err := s.API.ClusterV1alpha1().Clusters(s.Namespace).Get(t.Context(), "c", metav1.GetOptions{})
		s.Must(err)
		c.Spec.Paused = &paused
		s.Must(first(s.API.ClusterV1alpha1().Clusters(s.Namespace).Update(t.Context(), c, metav1.UpdateOptions{})))
		s.until("m1", "the Machine follows its Cluster", func(m *clusterv1alpha1.Machine) bool {
			return conditions.IsTrue(m.Status.Conditions, clusterv1alpha1.PausedCondition) == paused
		})
	}
	pause(true)
	pause(false)
	s.Must(s.Work.Client().CoreV1().Nodes().Delete(t.Context(), s.Node("m1"), metav1.DeleteOptions{}))
	s.until("m1", "the Machine reports that its Node is deleted", func(m *clusterv1alpha1.Machine) bool {
		c := conditions.Find(m.Status.Conditions, clusterv1alpha1.MachineNodeHealthyCondition)
		return c != nil && c.Reason == clusterv1alpha1.NodeDeletedReason
	})
	s.delete("m1")
	s.until("m1", "the Machine is deleted", func(m *clusterv1alpha1.Machine) bool { return m == nil })
}

// MB150, MT15: deleting a Cluster deletes its Machines with the objects that they own. The Node is kept, because the
// workload cluster's API may no longer exist.
func TestMachine_IsDeletedWithItsCluster(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.machine("m1")
	s.join("m1")
	s.Must(s.API.ClusterV1alpha1().Clusters(s.Namespace).Delete(t.Context(), "c", metav1.DeleteOptions{}))
	s.until("m1", "the Machine is deleted", func(m *clusterv1alpha1.Machine) bool { return m == nil })
	if _, err := s.API.VmV1alpha1().VirtualMachines(s.Namespace).Get(t.Context(), "m1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the virtual machine of a deleted Machine: %v", err)
	}
	if n := s.workNode("m1"); n == nil || n.Spec.Unschedulable {
		t.Errorf("Node %v of a deleted Cluster", n)
	}
	s.Eventually("the Cluster is deleted", func() error {
		_, err := s.API.ClusterV1alpha1().Clusters(s.Namespace).Get(t.Context(), "c", metav1.GetOptions{})
		if err == nil {
			return errors.New("it exists")
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// A silent Node is drained without its kubelet, and its volumes are not waited for, although nothing detaches them.
func TestMachine_WithASilentNodeIsDeletedWithoutItsKubelet(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.WorkNamespace()
	s.machine("m1")
	s.join("m1")
	node := s.Node("m1")
	s.Must(first(s.Work.AddPod(t.Context(), s.Namespace, "stuck", node, func(p *corev1.Pod) { p.Finalizers = []string{"example.org/held"} })))
	workloadcluster.AttachVolume(t, s.Work.Client(), s.Namespace, s.Namespace+"-web", node)
	s.Must(s.Work.SetReady(t.Context(), node, corev1.ConditionUnknown))
	s.delete("m1")
	s.until("m1", "the Machine is deleted", func(m *clusterv1alpha1.Machine) bool { return m == nil })
	if s.workNode("m1") != nil {
		t.Error("the Node is left")
	}
}
