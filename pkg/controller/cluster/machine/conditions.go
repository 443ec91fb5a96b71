// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

// setCondition sets a condition that this controller owns. finishConditions later sets a missing transition time.
func setCondition(m *machine, c metav1.Condition) {
	c.Message = limitMessage(c.Message)
	if old := conditions.Find(m.Status.Conditions, c.Type); old != nil {
		*old = c
		return
	}
	m.Status.Conditions = append(m.Status.Conditions, c)
}

// limitMessage limits the length of a condition message and preserves its lines, because owners of Machines aggregate
// equal messages.
func limitMessage(text string) string {
	lines := strings.Split(text, "\n")
	left := conditions.MaxMessage
	for i, line := range lines {
		if left <= 0 {
			lines = lines[:i]
			break
		}
		lines[i] = conditions.TruncateLine(line, left)
		left -= len(lines[i]) + 1
	}
	return strings.Join(lines, "\n")
}

// ownedConditions are the conditions that only this controller writes.
var ownedConditions = []string{
	clusterv1alpha1.AvailableCondition, clusterv1alpha1.ReadyCondition, clusterv1alpha1.MachineUpToDateCondition,
	clusterv1alpha1.MachineBootstrapConfigReadyCondition, clusterv1alpha1.InfrastructureReadyCondition,
	clusterv1alpha1.MachineNodeReadyCondition, clusterv1alpha1.MachineNodeHealthyCondition,
	clusterv1alpha1.MachineUpdatingCondition, clusterv1alpha1.PausedCondition, clusterv1alpha1.DeletingCondition,
}

// finishConditions sets transition times and observed generations of the owned conditions, and sorts all conditions:
// the summaries first, then those of other controllers, then health and deletion.
func finishConditions(was []metav1.Condition, all []metav1.Condition, generation int64, now time.Time) {
	at := metav1.NewTime(now.UTC().Truncate(time.Second))
	for i := range all {
		c := &all[i]
		if !slices.Contains(ownedConditions, c.Type) {
			continue
		}
		c.ObservedGeneration = generation
		if c.LastTransitionTime.IsZero() {
			c.LastTransitionTime = at
			if before := conditions.Find(was, c.Type); before != nil && before.Status == c.Status {
				c.LastTransitionTime = before.LastTransitionTime
			}
		}
	}
	slices.SortStableFunc(all, func(a, b metav1.Condition) int {
		if r := rank(a.Type) - rank(b.Type); r != 0 {
			return r
		}
		return strings.Compare(a.Type, b.Type)
	})
}

// firstConditions and lastConditions are the conditions at the beginning and the end of the list, in their order.
var (
	firstConditions = []string{
		clusterv1alpha1.AvailableCondition, clusterv1alpha1.ReadyCondition, clusterv1alpha1.MachineUpToDateCondition,
		clusterv1alpha1.MachineBootstrapConfigReadyCondition, clusterv1alpha1.InfrastructureReadyCondition,
		clusterv1alpha1.MachineNodeHealthyCondition, clusterv1alpha1.MachineNodeReadyCondition,
	}
	lastConditions = []string{
		clusterv1alpha1.MachineHealthCheckSucceededCondition, clusterv1alpha1.MachineOwnerRemediatedCondition,
		clusterv1alpha1.MachineUpdatingCondition, clusterv1alpha1.PausedCondition, clusterv1alpha1.DeletingCondition,
	}
)

func rank(conditionType string) int {
	if i := slices.Index(firstConditions, conditionType); i >= 0 {
		return i
	}
	return len(firstConditions) + 1 + slices.Index(lastConditions, conditionType)
}
