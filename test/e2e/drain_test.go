// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/drain"
	"github.com/slipway-dev/slipway/test/testenv"
)

func labeled(value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[clusterv1alpha1.PodDrainLabel] = value }
}

func succeeded(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }

// ready sets the Ready condition of a Node.
func ready(status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	}
}

// daemonSet creates a DaemonSet, and returns a function that makes it the owner of a Pod.
func (s *drainScene) daemonSet() func(*corev1.Pod) {
	s.Helper()
	labels := map[string]string{"app": "agent"}
	ds, err := s.client.AppsV1().DaemonSets(s.namespace).Create(s.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "agent"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.example.com/c:1"}}},
			},
		},
	}, metav1.CreateOptions{})
	s.must(err)
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(ds, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
	}
}

// ruleForLast puts the Pods of the app last in this namespace into a later group.
func (s *drainScene) ruleForLast() *clusterv1alpha1.MachineDrainRule {
	return &clusterv1alpha1.MachineDrainRule{
		ObjectMeta: metav1.ObjectMeta{Name: "last"},
		Spec: clusterv1alpha1.MachineDrainRuleSpec{
			Drain: clusterv1alpha1.MachineDrainRuleDrainConfig{Behavior: clusterv1alpha1.MachineDrainRuleDrainBehaviorDrain, Order: ptr.To(int32(10))},
			Pods: []clusterv1alpha1.MachineDrainRulePodSelector{{
				Selector:          &metav1.LabelSelector{MatchLabels: map[string]string{"app": "last"}},
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": s.namespace}},
			}},
		},
	}
}

// TestDrain_EvictsPodsInOrder tests MB121-125 and MB138-139 on one Node, one reconcile after another.
func TestDrain_EvictsPodsInOrder(t *testing.T) {
	t.Parallel()
	s := newDrainScene(t)
	s.pod("plain")
	s.pod("guarded")
	s.budget("guards", "guarded")
	s.pod("twice")
	s.budget("one", "twice")
	s.budget("two", "twice")
	s.pod("agent", s.daemonSet())
	s.pod("skipped", labeled("skip"))
	s.pod("job", labeled("wait-completed"))
	s.pod("ended", labeled("wait-completed"), succeeded)
	s.pod("last")
	s.in.Rules = []*clusterv1alpha1.MachineDrainRule{s.ruleForLast()}
	name := func(pod string) string { return s.namespace + "/" + pod }

	got := s.pass()
	want := []string{
		"* Pod " + name("plain") + ": deletionTimestamp set, but still not removed from the Node",
		"* Pod " + name("guarded") + ": cannot evict pod as it would violate the pod's disruption budget. The disruption budget guards needs 1 healthy pods and has 1 currently",
		"* Pod " + name("twice") + ": failed to evict Pod, This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
		"* Pod " + name("job") + ": waiting for completion",
		"After above Pods have been removed from the Node, the following Pods will be evicted: " + name("last"),
	}
	if diff := cmp.Diff(want, lines(got.Message)); diff != "" || got.Done {
		t.Errorf("first pass: done %v, message (-want +got):\n%s", got.Done, diff)
	}
	causes := []drain.Cause{drain.DisruptionBudgets, drain.NotTerminating, drain.EvictionErrors, drain.NotCompleted}
	if diff := cmp.Diff(causes, got.Causes); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	node, err := s.client.CoreV1().Nodes().Get(t.Context(), s.node, metav1.GetOptions{})
	s.must(err)
	if !node.Spec.Unschedulable {
		t.Error("the Node is not cordoned")
	}

	s.remove("plain")
	for _, b := range []string{"guards", "one", "two"} {
		s.must(s.client.PolicyV1().PodDisruptionBudgets(s.namespace).Delete(t.Context(), b, metav1.DeleteOptions{}))
	}
	want = []string{
		"* Pods " + name("guarded") + ", " + name("twice") + ": deletionTimestamp set, but still not removed from the Node",
		"* Pod " + name("job") + ": waiting for completion",
		"After above Pods have been removed from the Node, the following Pods will be evicted: " + name("last"),
	}
	if diff := cmp.Diff(want, lines(s.pass().Message)); diff != "" {
		t.Errorf("second pass, message (-want +got):\n%s", diff)
	}

	s.remove("guarded")
	s.remove("twice")
	job, err := s.client.CoreV1().Pods(s.namespace).Get(t.Context(), "job", metav1.GetOptions{})
	s.must(err)
	job.Status.Phase = corev1.PodFailed
	_, err = s.client.CoreV1().Pods(s.namespace).UpdateStatus(t.Context(), job, metav1.UpdateOptions{})
	s.must(err)
	want = []string{"* Pod " + name("last") + ": deletionTimestamp set, but still not removed from the Node"}
	if diff := cmp.Diff(want, lines(s.pass().Message)); diff != "" {
		t.Errorf("third pass, message (-want +got):\n%s", diff)
	}

	s.remove("last")
	if diff := cmp.Diff(drain.Result{Done: true}, s.pass()); diff != "" {
		t.Errorf("last pass (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"agent": false, "skipped": false, "job": false, "ended": false}, s.deleted()); diff != "" {
		t.Errorf("remaining Pods, and whether they are being deleted (-want +got):\n%s", diff)
	}
}

// TestDrain_DoesNotEvictARecreatedPod recreates a Pod on another Node between the list and the eviction, as a
// StatefulSet does.
func TestDrain_DoesNotEvictARecreatedPod(t *testing.T) {
	t.Parallel()
	s := newDrainScene(t)
	s.pod("web-0")
	s.before = func(pod string) {
		s.before = func(string) {}
		s.remove(pod)
		s.pod(pod, func(p *corev1.Pod) { p.Spec.NodeName = s.node + "-2" })
	}
	if got := s.pass(); got.Done || !strings.Contains(got.Message, "the UID in the precondition") {
		t.Errorf("pass = %+v, want that the UID differs", got)
	}
	if got := s.pass(); !got.Done {
		t.Errorf("next pass = %+v, want it to be done", got)
	}
	if diff := cmp.Diff(map[string]bool{"web-0": false}, s.deleted()); diff != "" {
		t.Errorf("Pods, and whether they are being deleted (-want +got):\n%s", diff)
	}
}

// TestDrain_DoesNotWaitForAPodDeletedMeanwhile removes the Pod before the eviction.
func TestDrain_DoesNotWaitForAPodDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newDrainScene(t)
	s.pod("a")
	s.before = s.remove
	if got := s.pass(); !got.Done {
		t.Errorf("pass = %+v, want it to be done", got)
	}
}

// TestDrain_OfAnUnreachableNodeNeedsNoKubelet is MB124, with the grace period that Pods get.
func TestDrain_OfAnUnreachableNodeNeedsNoKubelet(t *testing.T) {
	t.Parallel()
	s := newDrainScene(t, ready(corev1.ConditionUnknown))
	s.pod("a")
	s.pod("guarded")
	s.budget("guards", "guarded")
	got := s.pass()
	if want := "PodDisruptionBudget with unhealthyPodEvictionPolicy AlwaysAllow"; got.Done || !strings.Contains(got.Message, want) {
		t.Errorf("pass = %+v, want %q in its message", got, want)
	}
	a, err := s.client.CoreV1().Pods(s.namespace).Get(t.Context(), "a", metav1.GetOptions{})
	s.must(err)
	if a.DeletionTimestamp == nil || ptr.Deref(a.DeletionGracePeriodSeconds, 0) != 1 {
		t.Errorf("grace period %v, want 1 second", a.DeletionGracePeriodSeconds)
	}
	s.must(s.client.PolicyV1().PodDisruptionBudgets(s.namespace).Delete(t.Context(), "guards", metav1.DeleteOptions{}))
	testenv.Eventually(t, testenv.Short, "the drain is done, although no kubelet ends the Pods", func() error {
		if got := s.pass(); !got.Done {
			return errors.New(got.Message)
		}
		return nil
	})
	if diff := cmp.Diff(map[string]bool{"a": true, "guarded": true}, s.deleted()); diff != "" {
		t.Errorf("Pods, and whether they are being deleted (-want +got):\n%s", diff)
	}
}

// TestDrainRehearsal_ChangesNothing requests evictions from the real API as a dry run.
func TestDrainRehearsal_ChangesNothing(t *testing.T) {
	t.Parallel()
	s := newDrainScene(t)
	s.pod("plain")
	s.pod("guarded")
	s.budget("guards", "guarded")
	s.pod("agent", s.daemonSet())
	s.pod("job", labeled("wait-completed"))
	plan, err := drain.DryRun(t.Context(), s.client, s.in)
	s.must(err)
	var got []string
	for _, e := range plan {
		got = append(got, strings.Join([]string{e.Pod.Name, string(e.Step), e.By, e.Note()}, " | "))
	}
	want := []string{
		"agent | Ignored | DaemonSet agent | ignoring DaemonSet-managed Pod",
		"guarded | EvictNow |  | cannot evict pod as it would violate the pod's disruption budget. The disruption budget guards needs 1 healthy pods and has 1 currently",
		"job | WaitNow | label cluster.x-k8s.io/drain | evicting Pod that has no controller",
		"plain | EvictNow |  | evicting Pod that has no controller",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"agent": false, "guarded": false, "job": false, "plain": false}, s.deleted()); diff != "" {
		t.Errorf("Pods, and whether they are being deleted (-want +got):\n%s", diff)
	}
	node, err := s.client.CoreV1().Nodes().Get(t.Context(), s.node, metav1.GetOptions{})
	s.must(err)
	if node.Spec.Unschedulable {
		t.Error("the Node is cordoned")
	}
}
