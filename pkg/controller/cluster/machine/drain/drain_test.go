// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

var errDown = errors.New("the server is down")

func node(change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "node-uid"}, Spec: corev1.NodeSpec{ProviderID: "vsphere://1"}}
	for _, c := range change {
		c(n)
	}
	return n
}

func ready(status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure}, {Type: corev1.NodeReady, Status: status}}
	}
}

func input() Input {
	return Input{
		Node: "node-1", ProviderID: "vsphere://1", Started: now, Now: now,
	}
}

// evictions returns the names of the Pods for which client received evictions.
func evictions(client *fake.Clientset) []string {
	var names []string
	for _, a := range client.Actions() {
		if create, ok := a.(clienttesting.CreateAction); ok && a.GetSubresource() == "eviction" {
			names = append(names, create.GetObject().(*policyv1.Eviction).Name)
		}
	}
	return names
}

// answering sets the errors of evictions by the names of Pods.
func answering(client *fake.Clientset, answers map[string]error) {
	client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		err, ok := answers[a.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction).Name]
		return ok, nil, err
	})
}

func overBudget(causes ...metav1.StatusCause) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	err.ErrStatus.Details.Causes = causes
	return err
}

// Behaviors MB120 of test/behaviours.
func TestDrain_IsDoneIfTheNodeDoesNotExist(t *testing.T) {
	for name, objects := range map[string][]runtime.Object{
		"no node of that name":               nil,
		"the name of another machine's Node": {node(func(n *corev1.Node) { n.Spec.ProviderID = "vsphere://2" }), pod("a")},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(objects...)
			got, err := Drain(t.Context(), client, input())
			if diff := cmp.Diff(Result{Done: true}, got); err != nil || diff != "" {
				t.Errorf("Drain: %v, result (-want +got):\n%s", err, diff)
			}
			if len(client.Actions()) != 1 {
				t.Errorf("requests %v, want one for the Node", client.Actions())
			}
		})
	}
}

// Kubelets write the UUID of a virtual machine in upper or lower case.
func TestReadNode_ComparesProviderIDsInAnyCase(t *testing.T) {
	client := fake.NewClientset(node(func(n *corev1.Node) { n.Spec.ProviderID = "VSPHERE://1" }))
	if got, err := ReadNode(t.Context(), client, input()); err != nil || got == nil {
		t.Errorf("Node %v, error %v, want the one with the provider ID in upper case", got, err)
	}
}

func TestDrain_ReturnsReadErrors(t *testing.T) {
	for _, verb := range []string{"get nodes", "patch nodes", "list pods"} {
		t.Run(verb, func(t *testing.T) {
			client := fake.NewClientset(node(), pod("a"))
			v, resource, _ := strings.Cut(verb, " ")
			client.PrependReactor(v, resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errDown })
			got, err := Drain(t.Context(), client, input())
			if !errors.Is(err, errDown) || got.Done {
				t.Errorf("Drain = %+v, %v, want the error and not done", got, err)
			}
			if got := evictions(client); got != nil {
				t.Errorf("evicted %v, want nothing", got)
			}
		})
	}
}

func TestDrain_CordonsTheNodeOnce(t *testing.T) {
	client := fake.NewClientset(node())
	for range 2 {
		if _, err := Drain(t.Context(), client, input()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := client.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	if err != nil || !got.Spec.Unschedulable {
		t.Errorf("unschedulable = %v (%v), want true", got.Spec.Unschedulable, err)
	}
	patches := 0
	for _, a := range client.Actions() {
		if a.GetVerb() == "patch" {
			patches++
		}
	}
	if patches != 1 {
		t.Errorf("%d patches in two reconciles, want 1", patches)
	}
}

// Behaviors MB138 of test/behaviours.
func TestDrain_ReportsTheResultOfEvictions(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	terminating := apierrors.NewForbidden(pods, "a", errors.New("unable to create new content in namespace x because it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, tc := range map[string]struct {
		answer error
		line   string
		causes []Cause
	}{
		"evicted": {nil, "deletionTimestamp set, but still not removed from the Node", []Cause{NotTerminating}},
		"deleted": {apierrors.NewNotFound(pods, "a"), "", nil},
		"over budget": {
			overBudget(metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget web needs 2 healthy pods and has 2 currently"}),
			"cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 2 healthy pods and has 2 currently", []Cause{DisruptionBudgets},
		},
		"over budget, two causes": {
			overBudget(metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: "one"}, metav1.StatusCause{Message: "two"}),
			"cannot evict pod as it would violate the pod's disruption budget. one,two", []Cause{DisruptionBudgets},
		},
		"too many requests of another kind": {
			apierrors.NewTooManyRequests("the server has asked to come back", 0), "failed to evict Pod, the server has asked to come back", []Cause{EvictionErrors},
		},
		"namespace terminating": {
			terminating,
			"failed to evict Pod, Cannot evict pod from terminating namespace: unable to create eviction (kube-controller-manager should set deletionTimestamp)", []Cause{EvictionErrors},
		},
		"forbidden": {
			apierrors.NewForbidden(pods, "a", errors.New("no")), `failed to evict Pod, pods "a" is forbidden: no`, []Cause{EvictionErrors},
		},
		"more than one budget": {
			&apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusInternalServerError, Message: "This pod has more than one PodDisruptionBudget"}},
			"failed to evict Pod, This pod has more than one PodDisruptionBudget", []Cause{EvictionErrors},
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(node(), pod("a"))
			answering(client, map[string]error{"a": tc.answer})
			got, err := Drain(t.Context(), client, input())
			want := Result{Done: true}
			if tc.line != "" {
				want = Result{Message: "Drain not completed yet (started at 2026-11-21T07:30:00Z):\n* Pod default/a: " + tc.line, Causes: tc.causes}
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("Drain: %v, result (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestDrain_EvictsByUIDWithTheGracePeriodOfThePod(t *testing.T) {
	for name, tc := range map[string]struct {
		status corev1.ConditionStatus
		want   *int64
	}{
		"ready":       {corev1.ConditionTrue, nil},
		"not ready":   {corev1.ConditionFalse, nil},
		"unreachable": {corev1.ConditionUnknown, new(int64(1))},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(node(ready(tc.status)), pod("a"))
			if _, err := Drain(t.Context(), client, input()); err != nil {
				t.Fatal(err)
			}
			uid := pod("a").UID
			want := &metav1.DeleteOptions{GracePeriodSeconds: tc.want, Preconditions: &metav1.Preconditions{UID: &uid}}
			for _, a := range client.Actions() {
				if a.GetSubresource() != "eviction" {
					continue
				}
				if diff := cmp.Diff(want, a.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction).DeleteOptions); diff != "" {
					t.Errorf("delete options (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// Behaviors MB124 of test/behaviours.
func TestDrain_IgnoresDeletedPodsOfUnreachableNodes(t *testing.T) {
	client := fake.NewClientset(node(ready(corev1.ConditionUnknown)), pod("a", deleted(time.Minute)))
	got, err := Drain(t.Context(), client, input())
	if diff := cmp.Diff(Result{Done: true}, got); err != nil || diff != "" {
		t.Errorf("Drain: %v, result (-want +got):\n%s", err, diff)
	}
}

func TestDrain_EvictsForTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begin time.Time
		client := fake.NewClientset(node(), pod("a"), pod("b"), pod("c"), pod("d"))
		client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			time.Sleep(4 * time.Second)
			if time.Since(begin) > MaxEviction { // Like a client whose context has ended.
				return true, nil, context.DeadlineExceeded
			}
			return true, nil, nil
		})
		begin = time.Now()
		got, err := Drain(t.Context(), client, input())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"a", "b", "c"}, evictions(client)); diff != "" {
			t.Errorf("evictions (-want +got):\n%s", diff)
		}
		if want := "* Pods default/c, default/d: failed to evict Pod, eviction timeout of 10s reached, eviction will be retried"; !strings.Contains(got.Message, want) {
			t.Errorf("message %q, want %q in it", got.Message, want)
		}
	})
}

func TestDrain_ReturnsAnErrorIfCanceled(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	client := fake.NewClientset(node(), pod("a"), pod("b"))
	client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		stop()
		return true, nil, ctx.Err()
	})
	if got, err := Drain(ctx, client, input()); !errors.Is(err, context.Canceled) {
		t.Errorf("Drain = %+v, %v, want context.Canceled", got, err)
	}
}

func TestDryRun_OnlySendsDryRuns(t *testing.T) {
	client := fake.NewClientset(node(), pod("a"), pod("b", alone), pod("c", deleted(time.Second)))
	answering(client, map[string]error{"a": overBudget(metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: "none"}), "b": nil})
	plan, err := DryRun(t.Context(), client, input())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range plan {
		got = append(got, e.Pod.Name+" "+string(e.Step)+" "+e.Note())
	}
	want := []string{
		"a EvictNow cannot evict pod as it would violate the pod's disruption budget. none",
		"b EvictNow evicting Pod that has no controller",
		"c Deleting ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	for _, a := range client.Actions() {
		switch {
		case a.GetVerb() == "get" || a.GetVerb() == "list":
		case a.GetSubresource() == "eviction":
			if diff := cmp.Diff([]string{metav1.DryRunAll}, a.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction).DeleteOptions.DryRun); diff != "" {
				t.Errorf("dry run (-want +got):\n%s", diff)
			}
		default:
			t.Errorf("unexpected request to %s %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
	if plan, err := DryRun(t.Context(), fake.NewClientset(), input()); plan != nil || err != nil {
		t.Errorf("without a Node: %v, %v", plan, err)
	}
}
