// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// isPaused is true when the Machine is to be left alone, its deletion included. Any value of
// the annotation counts.
func isPaused(c *cluster, m *machine) bool { return len(pausedBy(c, m)) > 0 }

// pausedBy are the sentences that say who has paused the Machine.
func pausedBy(c *cluster, m *machine) []string {
	var by []string
	if c != nil && isTrue(c.Spec.Paused) {
		by = append(by, "Cluster spec.paused is set to true")
	}
	if _, ok := m.Annotations[clusterv1alpha1.PausedAnnotation]; ok {
		by = append(by, "Machine has the "+clusterv1alpha1.PausedAnnotation+" annotation")
	}
	return by
}

func pausedCondition(c *cluster, m *machine) metav1.Condition {
	by := pausedBy(c, m)
	if len(by) == 0 {
		return metav1.Condition{Type: clusterv1alpha1.PausedCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotPausedReason}
	}
	return metav1.Condition{
		Type: clusterv1alpha1.PausedCondition, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.PausedReason, Message: strings.Join(by, ", "),
	}
}
