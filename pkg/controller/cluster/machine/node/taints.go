// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

var (
	uninitializedTaint = corev1.Taint{Key: clusterv1alpha1.NodeUninitializedTaintKey, Effect: corev1.TaintEffectNoSchedule}
	outdatedTaint      = corev1.Taint{Key: clusterv1alpha1.NodeOutdatedRevisionTaintKey, Effect: corev1.TaintEffectPreferNoSchedule}
)

// setTaints sets the taints of a Node, and records which of them came from the Machine.
func setTaints(w Source, node *corev1.Node) {
	removeTaint(node, uninitializedTaint)
	propagateTaints(w.Machine.Spec.Taints, node)
	if old, known := isOutdated(w); known && old {
		ensureTaint(node, outdatedTaint)
	} else if known {
		removeTaint(node, outdatedTaint)
	}
}

// propagateTaints copies the taints of a Machine to its Node. Taints with the propagation OnInitialization are only
// added before anything was recorded, and never removed.
func propagateTaints(all []clusterv1alpha1.MachineTaint, node *corev1.Node) {
	text, initialized := node.Annotations[clusterv1alpha1.TaintsFromMachineAnnotation]
	owned, keep := map[string]bool{}, map[string]bool{}
	for _, t := range all {
		taint := corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)}
		if t.Propagation == clusterv1alpha1.MachineTaintPropagationOnInitialization {
			keep[taintID(taint)] = true
			if initialized {
				continue
			}
		} else {
			owned[taintID(taint)] = true
		}
		ensureTaint(node, taint)
	}
	for _, entry := range splitList(text) {
		key, effect, ok := strings.Cut(entry, ":")
		if ok && !owned[entry] && !keep[entry] {
			removeTaint(node, corev1.Taint{Key: key, Effect: corev1.TaintEffect(effect)})
		}
	}
	annotate(node, clusterv1alpha1.TaintsFromMachineAnnotation, strings.Join(slices.Sorted(maps.Keys(owned)), ","))
}

// taintID returns the recorded form of a taint.
func taintID(t corev1.Taint) string { return t.Key + ":" + string(t.Effect) }

// ensureTaint adds a taint, or updates the value of the taint with the same key and effect.
func ensureTaint(node *corev1.Node, t corev1.Taint) {
	for i := range node.Spec.Taints {
		if old := &node.Spec.Taints[i]; old.MatchTaint(&t) {
			if old.Value != t.Value {
				*old = t
			}
			return
		}
	}
	node.Spec.Taints = append(node.Spec.Taints, t)
}

func removeTaint(node *corev1.Node, t corev1.Taint) {
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(old corev1.Taint) bool { return old.MatchTaint(&t) })
}

// isOutdated reports whether the MachineDeployment of a Machine has a newer template. It is not known if one of the
// revisions is missing.
func isOutdated(w Source) (old, known bool) {
	if w.Set == nil || w.Deployment == nil {
		return false, true
	}
	set, ok := revision(w.Set)
	if !ok {
		return false, false
	}
	newest, ok := revision(w.Deployment)
	return set < newest, ok
}
