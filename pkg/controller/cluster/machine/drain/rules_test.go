// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// Behaviors MB134-135 of test/behaviours.
func TestRules_SelectMachinesByBothSelectors(t *testing.T) {
	type m = clusterv1alpha1.MachineDrainRuleMachineSelector
	machine, cluster := labels.Set{"os": "linux"}, labels.Set{"stage": "production"}
	other := m{Selector: has("os", "windows")}
	for name, tc := range map[string]struct {
		machines []m
		want     bool
	}{
		"none":                          {nil, true},
		"empty list":                    {[]m{}, true},
		"entry without selectors":       {[]m{{}}, true},
		"entry with empty selectors":    {[]m{{Selector: &metav1.LabelSelector{}, ClusterSelector: &metav1.LabelSelector{}}}, true},
		"both match, in one of two":     {[]m{other, {Selector: has("os", "linux"), ClusterSelector: has("stage", "production")}}, true},
		"only the machine matches":      {[]m{other, {Selector: has("os", "linux"), ClusterSelector: has("stage", "test")}}, false},
		"only the cluster matches":      {[]m{other, {Selector: has("os", "bsd"), ClusterSelector: has("stage", "production")}}, false},
		"each matches in another":       {[]m{{Selector: has("os", "linux"), ClusterSelector: has("stage", "test")}, {Selector: has("os", "bsd"), ClusterSelector: has("stage", "production")}}, false},
		"machine selector only":         {[]m{{Selector: has("os", "linux")}}, true},
		"cluster selector only":         {[]m{{ClusterSelector: has("stage", "production")}}, true},
		"invalid, other cluster":        {[]m{{Selector: invalid, ClusterSelector: has("stage", "test")}}, false},
		"invalid, this cluster":         {[]m{{Selector: invalid, ClusterSelector: has("stage", "production")}}, true},
		"invalid, and one that matches": {[]m{{Selector: invalid}, {Selector: has("os", "linux")}}, true},
		"invalid, and one for others":   {[]m{{Selector: invalid}, other}, true},
	} {
		t.Run(name, func(t *testing.T) {
			rules := RulesFor([]*clusterv1alpha1.MachineDrainRule{
				forMachines(ruleNamed("r", clusterv1alpha1.MachineDrainRuleDrainBehaviorSkip, nil), tc.machines...),
			}, machine, cluster)
			if got := len(rules) == 1; got != tc.want {
				t.Errorf("selected = %v, want %v", got, tc.want)
			}
		})
	}
}

// Behaviors MB136-137 of test/behaviours.
func TestRules_SelectPodsByBothSelectors(t *testing.T) {
	type p = clusterv1alpha1.MachineDrainRulePodSelector
	namespace := func() (labels.Set, error) { return labels.Set{"team": "sre"}, nil }
	other := p{Selector: has("app", "db")}
	for name, tc := range map[string]struct {
		pods []p
		want bool
	}{
		"none":                       {nil, true},
		"empty list":                 {[]p{}, true},
		"entry without selectors":    {[]p{{}}, true},
		"entry with empty selectors": {[]p{{Selector: &metav1.LabelSelector{}, NamespaceSelector: &metav1.LabelSelector{}}}, true},
		"both match, in one of two":  {[]p{other, {Selector: has("app", "web"), NamespaceSelector: has("team", "sre")}}, true},
		"only the pod matches":       {[]p{other, {Selector: has("app", "web"), NamespaceSelector: has("team", "dev")}}, false},
		"only the namespace matches": {[]p{other, {Selector: has("app", "cache"), NamespaceSelector: has("team", "sre")}}, false},
		"pod selector only":          {[]p{{Selector: has("app", "web")}}, true},
		"namespace selector only":    {[]p{{NamespaceSelector: has("team", "sre")}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := rule{MachineDrainRule: forPods(ruleNamed("r", clusterv1alpha1.MachineDrainRuleDrainBehaviorSkip, nil), tc.pods...), machine: yes}
			if diff := cmp.Diff(verdict{yes: tc.want}, r.forPod(pod("a", labeled("app", "web")), namespace), cmp.AllowUnexported(verdict{})); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}
