// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// healthConditions are the conditions that describe the health of a Node, with their healthy status.
var healthConditions = []struct {
	kind corev1.NodeConditionType
	good corev1.ConditionStatus
}{
	{corev1.NodeReady, corev1.ConditionTrue},
	{corev1.NodeMemoryPressure, corev1.ConditionFalse},
	{corev1.NodeDiskPressure, corev1.ConditionFalse},
	{corev1.NodePIDPressure, corev1.ConditionFalse},
}

// notReported is the message for a condition that a Node does not have.
const notReported = "Condition not yet reported"

func findCondition(node *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == kind {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

// readyCondition mirrors the Ready condition of a Node, with its transition time.
func readyCondition(node *corev1.Node) metav1.Condition {
	c := metav1.Condition{Type: clusterv1alpha1.MachineNodeReadyCondition, Status: metav1.ConditionUnknown, Reason: clusterv1alpha1.NodeReadyUnknownReason}
	of := findCondition(node, corev1.NodeReady)
	if of == nil {
		c.Message = "* Node.Ready: " + notReported
		return c
	}
	c.LastTransitionTime = of.LastTransitionTime
	switch of.Status {
	case corev1.ConditionTrue:
		c.Status, c.Reason = metav1.ConditionTrue, clusterv1alpha1.NodeReadyReason
		return c
	case corev1.ConditionFalse:
		c.Status, c.Reason = metav1.ConditionFalse, clusterv1alpha1.NodeNotReadyReason
	case corev1.ConditionUnknown: // Already set.
	}
	if of.Message != "" {
		c.Message = "* Node.Ready: " + of.Message
	}
	return c
}

// healthyCondition summarizes the conditions of a Node. It is False if any is bad, else Unknown if any is unknown. If
// all such conditions have the same message, it is listed once.
func healthyCondition(node *corev1.Node) metav1.Condition {
	c := metav1.Condition{Type: clusterv1alpha1.MachineNodeHealthyCondition, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.NodeHealthyReason}
	var lines, said []string
	bad, unknown, missing := false, false, false
	for _, s := range healthConditions {
		of := findCondition(node, s.kind)
		switch {
		case of == nil:
			unknown, missing = true, true
			lines = append(lines, fmt.Sprintf("* Node.%s: %s", s.kind, notReported))
			continue
		case of.Status == s.good:
			continue
		case of.Status == corev1.ConditionUnknown:
			unknown = true
		default:
			bad = true
		}
		message := of.Message
		if message == "" {
			message = fmt.Sprintf("Condition is %s", of.Status)
		}
		said = append(said, message)
		lines = append(lines, fmt.Sprintf("* Node.%s: %s", s.kind, message))
	}
	if len(said) > 1 && len(slices.Compact(slices.Clone(said))) == 1 && !missing {
		lines = []string{"* Node.AllConditions: " + said[0]}
	}
	c.Message = strings.Join(lines, "\n")
	switch {
	case bad:
		c.Status, c.Reason = metav1.ConditionFalse, clusterv1alpha1.NodeNotHealthyReason
	case unknown:
		c.Status, c.Reason = metav1.ConditionUnknown, clusterv1alpha1.NodeHealthyUnknownReason
	}
	return c
}
