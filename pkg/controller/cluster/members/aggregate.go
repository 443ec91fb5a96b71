// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

// maxGroups is the maximum number of different Machine messages in an aggregated message.
const maxGroups = 5

// MachinesReady returns a condition that aggregates the Ready condition of Machines.
func MachinesReady(all []*machine) metav1.Condition {
	return aggregate(all, clusterv1alpha1.ReadyCondition, clusterv1alpha1.MachinesReadyCondition,
		clusterv1alpha1.ReadyReason, clusterv1alpha1.NotReadyReason, clusterv1alpha1.ReadyUnknownReason)
}

// MachinesUpToDate returns a condition that aggregates the UpToDate condition of Machines. It ignores Machines without
// this condition: new ones, and those that belong to no MachineDeployment.
func MachinesUpToDate(all []*machine) metav1.Condition {
	all = slices.DeleteFunc(slices.Clone(all), func(m *machine) bool {
		return conditions.Find(m.Status.Conditions, clusterv1alpha1.MachineUpToDateCondition) == nil
	})
	return aggregate(all, clusterv1alpha1.MachineUpToDateCondition, clusterv1alpha1.MachinesUpToDateCondition,
		clusterv1alpha1.UpToDateReason, clusterv1alpha1.NotUpToDateReason, clusterv1alpha1.UpToDateUnknownReason)
}

// aggregate returns a condition that is False if from is False for any Machine, else Unknown if it is Unknown for any,
// else True. The message names the Machines.
func aggregate(all []*machine, from, to, good, bad, unknown string) metav1.Condition {
	out := metav1.Condition{Type: to, Status: metav1.ConditionTrue, Reason: good}
	if len(all) == 0 {
		out.Reason = clusterv1alpha1.NoReplicasReason
		return out
	}
	names := map[metav1.ConditionStatus]map[string][]string{metav1.ConditionFalse: {}, metav1.ConditionUnknown: {}}
	for _, m := range all {
		status, text := metav1.ConditionUnknown, "Condition "+from+" not yet reported"
		if c := conditions.Find(m.Status.Conditions, from); c != nil {
			status, text = c.Status, c.Message
			if text == "" {
				text = c.Reason
			}
		}
		if said := names[status]; said != nil {
			said[text] = append(said[text], m.Name)
		}
	}
	switch {
	case len(names[metav1.ConditionFalse]) > 0:
		out.Status, out.Reason = metav1.ConditionFalse, bad
	case len(names[metav1.ConditionUnknown]) > 0:
		out.Status, out.Reason = metav1.ConditionUnknown, unknown
	default:
		return out
	}
	said := append(groupMessages(names[metav1.ConditionFalse]), groupMessages(names[metav1.ConditionUnknown])...)
	if len(said) > maxGroups {
		said = append(said[:maxGroups], fmt.Sprintf("%d other messages", len(said)-maxGroups))
	}
	out.Message = strings.Join(said, "; ")
	return out
}

// groupMessages returns one text for each message with the names of its Machines, the most frequent message first.
func groupMessages(said map[string][]string) []string {
	type group struct {
		text  string
		names []string
	}
	var groups []group
	for text, names := range said {
		slices.Sort(names)
		groups = append(groups, group{text, names})
	}
	slices.SortFunc(groups, func(a, b group) int {
		if by := len(b.names) - len(a.names); by != 0 {
			return by
		}
		return strings.Compare(a.text, b.text)
	})
	var out []string
	for _, g := range groups {
		out = append(out, MachineNames(g.names)+": "+g.text)
	}
	return out
}

// MachineNames formats the names of Machines for a message.
func MachineNames(names []string) string {
	if len(names) == 1 {
		return "Machine " + names[0]
	}
	return "Machines " + conditions.JoinLimited(names, ", ")
}

// Remediating returns a condition that names the Machines that are being replaced because they failed their health
// check.
func Remediating(all []*machine) metav1.Condition {
	var now, notReplaced []string
	for _, m := range all {
		switch {
		case NeedsRemediation(m):
			c := conditions.Find(m.Status.Conditions, clusterv1alpha1.MachineOwnerRemediatedCondition)
			now = append(now, m.Name+" ("+c.Reason+")")
		case IsUnhealthy(m):
			notReplaced = append(notReplaced, m.Name)
		}
	}
	slices.Sort(now)
	slices.Sort(notReplaced)
	out := metav1.Condition{Type: clusterv1alpha1.RemediatingCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotRemediatingReason}
	switch {
	case len(now) > 0:
		out.Status, out.Reason, out.Message = metav1.ConditionTrue, clusterv1alpha1.RemediatingReason, MachineNames(now)
	case len(notReplaced) > 0:
		out.Message = MachineNames(notReplaced) + " unhealthy; the owner does not replace them"
	}
	return out
}
