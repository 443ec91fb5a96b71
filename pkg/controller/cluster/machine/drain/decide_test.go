// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// byMessage compares errors by their messages.
var byMessage = cmp.Comparer(func(a, b error) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Error() == b.Error())
})

// Behaviors MB126-132 of test/behaviours.
func TestDecide_ReturnsTheBehaviorForAPod(t *testing.T) {
	down := errors.New("reading DaemonSet default/broken: connection refused")
	inputs := DecisionInputs{
		Now: now,
		DaemonSets: map[types.NamespacedName]Existence{
			{Namespace: "default", Name: "agent"}:  {Exists: true},
			{Namespace: "default", Name: "broken"}: {Err: down},
		},
	}
	unreachable := inputs
	unreachable.Unreachable = true
	drainLabel := clusterv1alpha1.PodDrainLabel
	byLabel := "label " + drainLabel
	ignoring := []string{"ignoring DaemonSet-managed Pod"}
	for name, tc := range map[string]struct {
		pod    *corev1.Pod
		inputs DecisionInputs
		want   Decision
	}{
		"replaced by its owner":                     {pod("a"), inputs, Decision{Behavior: BehaviorDrain}},
		"deleted long ago, node reachable":          {pod("a", deleted(time.Hour)), inputs, Decision{Behavior: BehaviorDrain}},
		"deleted two seconds ago, node unreachable": {pod("a", deleted(2*time.Second)), unreachable, Decision{Behavior: BehaviorSkip, By: "Node unreachable"}},
		"deleted one second ago, node unreachable":  {pod("a", deleted(time.Second)), unreachable, Decision{Behavior: BehaviorDrain}},
		"grace period not over, node unreachable":   {pod("a", deleted(-time.Minute)), unreachable, Decision{Behavior: BehaviorDrain}},
		"not deleted, node unreachable":             {pod("a"), unreachable, Decision{Behavior: BehaviorDrain}},
		"of a DaemonSet":                            {pod("a", ownedBy("DaemonSet", "agent")), inputs, Decision{Behavior: BehaviorSkip, By: "DaemonSet agent", Warnings: ignoring}},
		"of a DaemonSet, succeeded":                 {pod("a", ownedBy("DaemonSet", "agent"), phase(corev1.PodSucceeded)), inputs, Decision{Behavior: BehaviorDrain}},
		"of a DaemonSet, failed":                    {pod("a", ownedBy("DaemonSet", "agent"), phase(corev1.PodFailed)), inputs, Decision{Behavior: BehaviorDrain}},
		"of a deleted DaemonSet":                    {pod("a", ownedBy("DaemonSet", "gone")), inputs, Decision{Behavior: BehaviorDrain, Warnings: []string{"evicting orphaned DaemonSet-managed Pod"}}},
		"of a DaemonSet of another namespace":       {pod("a", in("other"), ownedBy("DaemonSet", "agent")), inputs, Decision{Behavior: BehaviorDrain, Warnings: []string{"evicting orphaned DaemonSet-managed Pod"}}},
		"of a DaemonSet that could not be read":     {pod("a", ownedBy("DaemonSet", "broken")), inputs, Decision{Behavior: BehaviorUndecided, Err: down}},
		"static":                                    {pod("a", static, alone), inputs, Decision{Behavior: BehaviorSkip, By: "static Pod"}},
		"with local storage":                        {pod("a", emptyDir), inputs, Decision{Behavior: BehaviorDrain, Warnings: []string{"evicting Pod with local storage"}}},
		"with local storage, succeeded":             {pod("a", emptyDir, phase(corev1.PodSucceeded)), inputs, Decision{Behavior: BehaviorDrain}},
		"without owner":                             {pod("a", alone), inputs, Decision{Behavior: BehaviorDrain, Warnings: []string{"evicting Pod that has no controller"}}},
		"without owner, failed":                     {pod("a", alone, phase(corev1.PodFailed)), inputs, Decision{Behavior: BehaviorDrain}},
		"with local storage and without owner":      {pod("a", emptyDir, alone), inputs, Decision{Behavior: BehaviorDrain, Warnings: []string{"evicting Pod with local storage", "evicting Pod that has no controller"}}},
		"label skip":                                {pod("a", labeled(drainLabel, "skip")), inputs, Decision{Behavior: BehaviorSkip, By: byLabel}},
		"label Skip":                                {pod("a", labeled(drainLabel, "Skip")), inputs, Decision{Behavior: BehaviorSkip, By: byLabel}},
		"label wait-completed":                      {pod("a", labeled(drainLabel, "wait-completed")), inputs, Decision{Behavior: BehaviorWaitCompleted, By: byLabel}},
		"label WaitCompleted":                       {pod("a", labeled(drainLabel, "WaitCompleted")), inputs, Decision{Behavior: BehaviorWaitCompleted, By: byLabel}},
		"label with too many hyphens":               {pod("a", labeled(drainLabel, "wait--completed")), inputs, Decision{Behavior: BehaviorDrain, Warnings: []string{byLabel + ` has the unknown value "wait--completed"`}}},
		"of a DaemonSet, with another label":        {pod("a", ownedBy("DaemonSet", "agent"), labeled(drainLabel, "wait-completed")), inputs, Decision{Behavior: BehaviorSkip, By: "DaemonSet agent", Warnings: ignoring}},
		"without owner, label skip, with warning":   {pod("a", alone, labeled(drainLabel, "skip")), inputs, Decision{Behavior: BehaviorSkip, By: byLabel, Warnings: []string{"evicting Pod that has no controller"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Decide(tc.pod, tc.inputs), byMessage); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

type podSelector = clusterv1alpha1.MachineDrainRulePodSelector

const (
	drain = clusterv1alpha1.MachineDrainRuleDrainBehaviorDrain
	skip  = clusterv1alpha1.MachineDrainRuleDrainBehaviorSkip
	wait  = clusterv1alpha1.MachineDrainRuleDrainBehaviorWaitCompleted
)

// monitoring selects the Pods of one namespace.
var monitoring = podSelector{NamespaceSelector: has("team", "sre")}

// ruled is a Pod with the rules of its Machine and the expected decision.
type ruled struct {
	rules []*clusterv1alpha1.MachineDrainRule
	pod   *corev1.Pod
	want  Decision
}

func (tc ruled) check(t *testing.T) {
	inputs := DecisionInputs{
		Now: now, Rules: RulesFor(tc.rules, nil, nil),
		Namespaces: map[string]labels.Set{"default": {}, "monitoring": {"team": "sre"}},
	}
	if diff := cmp.Diff(tc.want, Decide(tc.pod, inputs), byMessage); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
}

// Behaviors MB133 of test/behaviours.
func TestRules_ApplyTheFirstRuleByName(t *testing.T) {
	for name, tc := range map[string]ruled{
		"no rules":            {nil, pod("a"), Decision{Behavior: BehaviorDrain}},
		"drain with order":    {[]*clusterv1alpha1.MachineDrainRule{ruleNamed("r", drain, ptr.To(int32(-7)))}, pod("a"), Decision{Behavior: BehaviorDrain, Order: -7, By: "MachineDrainRule r"}},
		"drain without order": {[]*clusterv1alpha1.MachineDrainRule{ruleNamed("r", drain, nil)}, pod("a"), Decision{Behavior: BehaviorDrain, By: "MachineDrainRule r"}},
		"skip":                {[]*clusterv1alpha1.MachineDrainRule{ruleNamed("r", skip, nil)}, pod("a"), Decision{Behavior: BehaviorSkip, By: "MachineDrainRule r"}},
		"wait, which is always of order 0": {
			[]*clusterv1alpha1.MachineDrainRule{ruleNamed("r", wait, ptr.To(int32(9)))}, pod("a"), Decision{Behavior: BehaviorWaitCompleted, By: "MachineDrainRule r"},
		},
		"the first by name, in any order": {
			[]*clusterv1alpha1.MachineDrainRule{ruleNamed("c", drain, nil), ruleNamed("a", skip, nil), ruleNamed("b", wait, nil)}, pod("a"),
			Decision{Behavior: BehaviorSkip, By: "MachineDrainRule a"},
		},
		"the label before all rules": {
			[]*clusterv1alpha1.MachineDrainRule{ruleNamed("a", skip, nil)}, pod("a", labeled(clusterv1alpha1.PodDrainLabel, "wait-completed")),
			Decision{Behavior: BehaviorWaitCompleted, By: "label " + clusterv1alpha1.PodDrainLabel},
		},
	} {
		t.Run(name, tc.check)
	}
}

// Behaviors MB133-134 of test/behaviours: with the differences from Cluster API.
func TestRules_BlockOnlyPodsThatAnInvalidRuleMayApplyTo(t *testing.T) {
	for name, tc := range map[string]ruled{
		"unknown behavior": {
			[]*clusterv1alpha1.MachineDrainRule{ruleNamed("r", "Evict", nil)}, pod("a"),
			Decision{Behavior: BehaviorUndecided, Err: errors.New(`MachineDrainRule r: spec.drain.behavior "Evict" is unknown`)},
		},
		"unknown behavior of a rule for others": {
			[]*clusterv1alpha1.MachineDrainRule{forPods(ruleNamed("r", "Evict", nil), podSelector{Selector: has("app", "db")})}, pod("a"), Decision{Behavior: BehaviorDrain},
		},
		"namespace selected": {
			[]*clusterv1alpha1.MachineDrainRule{forPods(ruleNamed("r", skip, nil), monitoring)}, pod("a", in("monitoring")), Decision{Behavior: BehaviorSkip, By: "MachineDrainRule r"},
		},
		"namespace not selected": {
			[]*clusterv1alpha1.MachineDrainRule{forPods(ruleNamed("r", skip, nil), monitoring)}, pod("a"), Decision{Behavior: BehaviorDrain},
		},
		"namespace not known": {
			[]*clusterv1alpha1.MachineDrainRule{forPods(ruleNamed("r", skip, nil), monitoring)}, pod("a", in("new")),
			Decision{Behavior: BehaviorUndecided, Err: errors.New("MachineDrainRule r: the labels of Namespace new are not known")},
		},
		"namespace not known and not needed": {
			[]*clusterv1alpha1.MachineDrainRule{forPods(ruleNamed("r", skip, nil), podSelector{Selector: has("app", "db"), NamespaceSelector: has("team", "sre")})}, pod("a", in("new")),
			Decision{Behavior: BehaviorDrain},
		},
		"invalid selector": {
			[]*clusterv1alpha1.MachineDrainRule{forPods(ruleNamed("r", skip, nil), podSelector{Selector: invalid})}, pod("a"),
			Decision{Behavior: BehaviorUndecided, Err: errors.New(`MachineDrainRule r: spec.pods[0].selector is invalid: "Like" is not a valid label selector operator`)},
		},
		"invalid selector, and one that matches": {
			[]*clusterv1alpha1.MachineDrainRule{forPods(ruleNamed("r", skip, nil), podSelector{Selector: invalid}, podSelector{Selector: has("app", "web")})}, pod("a", labeled("app", "web")),
			Decision{Behavior: BehaviorSkip, By: "MachineDrainRule r"},
		},
		"invalid selector in another namespace": {
			[]*clusterv1alpha1.MachineDrainRule{forPods(ruleNamed("r", skip, nil), podSelector{Selector: invalid, NamespaceSelector: has("team", "sre")})}, pod("a"), Decision{Behavior: BehaviorDrain},
		},
		"invalid selector of a later rule": {
			[]*clusterv1alpha1.MachineDrainRule{ruleNamed("a", skip, nil), forPods(ruleNamed("b", drain, nil), podSelector{Selector: invalid})}, pod("a"),
			Decision{Behavior: BehaviorSkip, By: "MachineDrainRule a"},
		},
		"invalid machine selector of a rule for others": {
			[]*clusterv1alpha1.MachineDrainRule{forPods(forMachines(ruleNamed("r", skip, nil), clusterv1alpha1.MachineDrainRuleMachineSelector{Selector: invalid}), podSelector{Selector: has("app", "db")})},
			pod("a"), Decision{Behavior: BehaviorDrain},
		},
		"invalid machine selector": {
			[]*clusterv1alpha1.MachineDrainRule{forMachines(ruleNamed("r", skip, nil), clusterv1alpha1.MachineDrainRuleMachineSelector{ClusterSelector: invalid})}, pod("a"),
			Decision{Behavior: BehaviorUndecided, Err: errors.New(`MachineDrainRule r: spec.machines[0].clusterSelector is invalid: "Like" is not a valid label selector operator`)},
		},
	} {
		t.Run(name, tc.check)
	}
}
