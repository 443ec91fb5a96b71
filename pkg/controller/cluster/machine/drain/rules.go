// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// Rules are the MachineDrainRules that apply or may apply to a Machine, in the order of evaluation.
type Rules []rule

type rule struct {
	*clusterv1alpha1.MachineDrainRule
	// machine is whether the rule applies to the Machine: yes or unknown.
	machine verdict
}

// RulesFor returns the rules that apply to a Machine and Cluster with the given labels, sorted by name. all are the
// rules in the namespace of the Machine.
func RulesFor(all []*clusterv1alpha1.MachineDrainRule, machine, cluster labels.Set) Rules {
	var selected Rules
	for _, r := range all {
		if v := forMachine(r, machine, cluster); !v.isNo() {
			selected = append(selected, rule{MachineDrainRule: r, machine: v})
		}
	}
	slices.SortFunc(selected, func(a, b rule) int { return cmp.Compare(a.Name, b.Name) })
	return selected
}

// forMachine returns whether a rule applies to a Machine. A rule without spec.machines applies to all.
func forMachine(r *clusterv1alpha1.MachineDrainRule, machine, cluster labels.Set) verdict {
	v := verdict{yes: len(r.Spec.Machines) == 0}
	for i, m := range r.Spec.Machines {
		path := fmt.Sprintf("spec.machines[%d]", i)
		v = v.or(matches(m.Selector, path+".selector", machine).
			and(matches(m.ClusterSelector, path+".clusterSelector", cluster)))
	}
	return v
}

// forPod returns whether a rule applies to a Pod. A rule without spec.pods applies to all. namespace is called only if
// a selector needs the labels of the Namespace.
func (r rule) forPod(pod *corev1.Pod, namespace func() (labels.Set, error)) verdict {
	v := verdict{yes: len(r.Spec.Pods) == 0}
	for i, p := range r.Spec.Pods {
		path := fmt.Sprintf("spec.pods[%d]", i)
		one := matches(p.Selector, path+".selector", pod.Labels)
		if p.NamespaceSelector != nil {
			set, err := namespace()
			if err != nil {
				one = one.and(verdict{err: err})
			} else {
				one = one.and(matches(p.NamespaceSelector, path+".namespaceSelector", set))
			}
		}
		v = v.or(one)
	}
	return v
}

// selectNamespaces reports whether a rule needs the labels of Namespaces.
func (rules Rules) selectNamespaces() bool {
	return slices.ContainsFunc(rules, func(r rule) bool {
		return slices.ContainsFunc(r.Spec.Pods, func(p clusterv1alpha1.MachineDrainRulePodSelector) bool { return p.NamespaceSelector != nil })
	})
}

// decide returns the decision of the first rule that applies. If none applies, the Pod is drained with order 0.
func (rules Rules) decide(pod *corev1.Pod, namespace func() (labels.Set, error)) Decision {
	for _, r := range rules {
		v := r.machine.and(r.forPod(pod, namespace))
		if v.isNo() {
			continue
		}
		if v.err != nil {
			return newUndecided(fmt.Errorf("MachineDrainRule %s: %w", r.Name, v.err))
		}
		by := "MachineDrainRule " + r.Name
		switch r.Spec.Drain.Behavior {
		case clusterv1alpha1.MachineDrainRuleDrainBehaviorDrain:
			return Decision{Behavior: BehaviorDrain, Order: ptr.Deref(r.Spec.Drain.Order, 0), By: by}
		case clusterv1alpha1.MachineDrainRuleDrainBehaviorSkip:
			return Decision{Behavior: BehaviorSkip, By: by}
		case clusterv1alpha1.MachineDrainRuleDrainBehaviorWaitCompleted:
			return Decision{Behavior: BehaviorWaitCompleted, By: by}
		default:
			return newUndecided(fmt.Errorf("MachineDrainRule %s: spec.drain.behavior %q is unknown", r.Name, r.Spec.Drain.Behavior))
		}
	}
	return Decision{Behavior: BehaviorDrain}
}
