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

// set sets a condition that this controller owns. One that has no time yet gets it when all
// are known: see settle.
func set(m *machine, c metav1.Condition) {
	c.Message = cut(c.Message)
	if old := conditions.Find(m.Status.Conditions, c.Type); old != nil {
		*old = c
		return
	}
	m.Status.Conditions = append(m.Status.Conditions, c)
}

// cut bounds the message of a condition, which keeps its lines: owners of Machines count how
// many say the same.
func cut(text string) string {
	lines := strings.Split(text, "\n")
	left := conditions.MaxMessage
	for i, line := range lines {
		if left <= 0 {
			lines = lines[:i]
			break
		}
		lines[i] = conditions.Line(line, left)
		left -= len(lines[i]) + 1
	}
	return strings.Join(lines, "\n")
}

// owned are the conditions that this controller alone writes.
var owned = []string{
	clusterv1alpha1.AvailableCondition, clusterv1alpha1.ReadyCondition, clusterv1alpha1.MachineUpToDateCondition,
	clusterv1alpha1.MachineBootstrapConfigReadyCondition, clusterv1alpha1.InfrastructureReadyCondition,
	clusterv1alpha1.MachineNodeReadyCondition, clusterv1alpha1.MachineNodeHealthyCondition,
	clusterv1alpha1.MachineUpdatingCondition, clusterv1alpha1.PausedCondition, clusterv1alpha1.DeletingCondition,
}

// settle gives the conditions their times, the generation that they are about, and their
// order: those that sum up first, then those of others, and what is done at last.
func settle(was []metav1.Condition, all []metav1.Condition, generation int64, now time.Time) {
	at := metav1.NewTime(now.UTC().Truncate(time.Second))
	for i := range all {
		c := &all[i]
		if !slices.Contains(owned, c.Type) {
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

// first and last are conditions in the order in which they are listed; all others stand between.
var (
	first = []string{
		clusterv1alpha1.AvailableCondition, clusterv1alpha1.ReadyCondition, clusterv1alpha1.MachineUpToDateCondition,
		clusterv1alpha1.MachineBootstrapConfigReadyCondition, clusterv1alpha1.InfrastructureReadyCondition,
		clusterv1alpha1.MachineNodeHealthyCondition, clusterv1alpha1.MachineNodeReadyCondition,
	}
	last = []string{
		clusterv1alpha1.MachineHealthCheckSucceededCondition, clusterv1alpha1.MachineOwnerRemediatedCondition,
		clusterv1alpha1.MachineUpdatingCondition, clusterv1alpha1.PausedCondition, clusterv1alpha1.DeletingCondition,
	}
)

func rank(kind string) int {
	if i := slices.Index(first, kind); i >= 0 {
		return i
	}
	return len(first) + 1 + slices.Index(last, kind)
}
