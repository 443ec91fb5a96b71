// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// steps returns the steps of a plan by the names of the Pods.
func steps(plan Plan) map[string]Step {
	found := map[string]Step{}
	for _, e := range plan {
		found[e.Pod.Name] = e.Step
	}
	return found
}

// grouped returns rules for groups of order n with the Pods of label group=n.
var grouped = func() Rules {
	var all []*clusterv1alpha1.MachineDrainRule
	for name, order := range map[string]int32{"m5": -5, "0": 0, "5": 5, "10": 10} {
		all = append(all, forPods(ruleNamed("group-"+name, clusterv1alpha1.MachineDrainRuleDrainBehaviorDrain, ptr.To(order)),
			clusterv1alpha1.MachineDrainRulePodSelector{Selector: has("group", name)}))
	}
	return RulesFor(all, nil, nil)
}()

// Behaviors MB138-139 of test/behaviours: the plan. MD7.
func TestPlan_DrainsGroupsInOrder(t *testing.T) {
	wait := labeled(clusterv1alpha1.PodDrainLabel, "wait-completed")
	group := func(name string) func(*corev1.Pod) { return labeled("group", name) }
	for name, tc := range map[string]struct {
		pods []*corev1.Pod
		want map[string]Step
		done bool
	}{
		"nothing": {nil, map[string]Step{}, true},
		"only skipped and completed Pods": {
			[]*corev1.Pod{pod("ds", ownedBy("DaemonSet", "agent")), pod("job", wait, phase(corev1.PodSucceeded)), pod("failed", wait, phase(corev1.PodFailed))},
			map[string]Step{"ds": Ignored, "job": Completed, "failed": Completed}, true,
		},
		"the lowest order first": {
			[]*corev1.Pod{pod("a", group("10")), pod("b", group("5")), pod("c"), pod("d", group("0"))},
			map[string]Step{"a": EvictLater, "b": EvictLater, "c": EvictNow, "d": EvictNow}, false,
		},
		"a negative order before the default": {
			[]*corev1.Pod{pod("a", group("m5")), pod("b"), pod("c", wait)},
			map[string]Step{"a": EvictNow, "b": EvictLater, "c": WaitLater}, false,
		},
		"a deleted Pod blocks later groups": {
			[]*corev1.Pod{pod("a", group("5"), deleted(time.Second)), pod("b", group("10"))},
			map[string]Step{"a": Deleting, "b": EvictLater}, false,
		},
		"a deleted Pod of a later group": {
			[]*corev1.Pod{pod("a", group("5")), pod("b", group("10"), deleted(time.Second))},
			map[string]Step{"a": EvictNow, "b": Deleting}, false,
		},
		"a waiting Pod blocks later groups": {
			[]*corev1.Pod{pod("a", wait), pod("b"), pod("c", group("5"))},
			map[string]Step{"a": WaitNow, "b": EvictNow, "c": EvictLater}, false,
		},
		"a completed Pod blocks no group, even if it still exists": {
			[]*corev1.Pod{pod("a", wait, phase(corev1.PodSucceeded)), pod("b", group("5")), pod("c", group("10"))},
			map[string]Step{"a": Completed, "b": EvictNow, "c": EvictLater}, false,
		},
		"a Pod that must complete, deleted and still running": {
			[]*corev1.Pod{pod("a", wait, deleted(time.Minute))}, map[string]Step{"a": WaitNow}, false,
		},
		"an undecided Pod blocks groups after the default": {
			[]*corev1.Pod{pod("a", ownedBy("DaemonSet", "broken")), pod("b"), pod("c", group("m5")), pod("d", group("5"))},
			map[string]Step{"a": Blocked, "b": EvictLater, "c": EvictNow, "d": EvictLater}, false,
		},
		"an undecided Pod does not block its own group": {
			[]*corev1.Pod{pod("a", ownedBy("DaemonSet", "broken")), pod("b")},
			map[string]Step{"a": Blocked, "b": EvictNow}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := NewPlan(tc.pods, DecisionInputs{
				Now: now, Rules: grouped,
				DaemonSets: map[types.NamespacedName]Existence{
					{Namespace: "default", Name: "agent"}:  {Exists: true},
					{Namespace: "default", Name: "broken"}: {Err: errDown},
				},
			})
			if diff := cmp.Diff(tc.want, steps(plan)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if plan.Done() != tc.done {
				t.Errorf("done = %v, want %v", plan.Done(), tc.done)
			}
		})
	}
}

func TestPlan_IsSortedByNamespaceAndName(t *testing.T) {
	plan := NewPlan([]*corev1.Pod{pod("b", in("x")), pod("a", in("x")), pod("z", in("a")), pod("a", in("a-b"))}, DecisionInputs{Now: now})
	var got []string
	for _, e := range plan {
		got = append(got, e.Pod.Namespace+"/"+e.Pod.Name)
	}
	if diff := cmp.Diff([]string{"a/z", "a-b/a", "x/a", "x/b"}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// Detach uses the skipped Pods of a plan.
func TestPlan_ReturnsSkippedPods(t *testing.T) {
	wait := labeled(clusterv1alpha1.PodDrainLabel, "wait-completed")
	plan := NewPlan([]*corev1.Pod{
		pod("evicted"), pod("static", static), pod("waited-for", wait), pod("ended", wait, phase(corev1.PodSucceeded)),
		pod("skipped", labeled(clusterv1alpha1.PodDrainLabel, "skip")),
	}, DecisionInputs{Now: now})
	var got []string
	for _, p := range plan.Skipped() {
		got = append(got, p.Name)
	}
	if diff := cmp.Diff([]string{"skipped", "static"}, got); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
}

// A Pod with a slow eviction must not delay the others in every reconcile.
func TestEvictionOrder_StartsWithAnotherPodInEachReconcile(t *testing.T) {
	plan := NewPlan([]*corev1.Pod{pod("a"), pod("b"), pod("c", labeled(clusterv1alpha1.PodDrainLabel, "skip")), pod("d")}, DecisionInputs{Now: now})
	for since, want := range map[time.Duration][]int{
		-time.Minute: {0, 1, 3}, 0: {0, 1, 3}, Retry - 1: {0, 1, 3}, Retry: {1, 3, 0}, 2 * Retry: {3, 0, 1}, 3 * Retry: {0, 1, 3},
	} {
		if diff := cmp.Diff(want, evictionOrder(plan, since)); diff != "" {
			t.Errorf("order after %s (-want +got):\n%s", since, diff)
		}
	}
	if got := evictionOrder(nil, time.Hour); got != nil {
		t.Errorf("order of an empty plan = %v, want none", got)
	}
}
