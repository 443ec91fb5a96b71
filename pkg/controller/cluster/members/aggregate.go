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

// maxGroups is how many different texts of Machines a message repeats.
const maxGroups = 5

// MachinesReady sums up the Ready of Machines.
func MachinesReady(all []*machine) metav1.Condition {
	return aggregate(all, clusterv1alpha1.ReadyCondition, clusterv1alpha1.MachinesReadyCondition,
		clusterv1alpha1.ReadyReason, clusterv1alpha1.NotReadyReason, clusterv1alpha1.ReadyUnknownReason)
}

// MachinesUpToDate sums up the UpToDate of those Machines that have it: a Machine that was
// just made, or that no MachineDeployment made, does not.
func MachinesUpToDate(all []*machine) metav1.Condition {
	all = slices.DeleteFunc(slices.Clone(all), func(m *machine) bool {
		return conditions.Find(m.Status.Conditions, clusterv1alpha1.MachineUpToDateCondition) == nil
	})
	return aggregate(all, clusterv1alpha1.MachineUpToDateCondition, clusterv1alpha1.MachinesUpToDateCondition,
		clusterv1alpha1.UpToDateReason, clusterv1alpha1.NotUpToDateReason, clusterv1alpha1.UpToDateUnknownReason)
}

// aggregate is False if the condition from of any Machine is, else Unknown if that of any is
// unknown, else True, and says which Machines say what.
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
	said := append(texts(names[metav1.ConditionFalse]), texts(names[metav1.ConditionUnknown])...)
	if len(said) > maxGroups {
		said = append(said[:maxGroups], fmt.Sprintf("%d other texts", len(said)-maxGroups))
	}
	out.Message = strings.Join(said, "; ")
	return out
}

// texts are what Machines say, that which most say first.
func texts(said map[string][]string) []string {
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
		out = append(out, Names(g.names)+": "+g.text)
	}
	return out
}

// Names names Machines in a text.
func Names(names []string) string {
	if len(names) == 1 {
		return "Machine " + names[0]
	}
	return "Machines " + conditions.List(names, ", ")
}

// Remediating says which Machines are being replaced because they failed their health check.
func Remediating(all []*machine) metav1.Condition {
	var now, not []string
	for _, m := range all {
		switch {
		case ToRemediate(m):
			c := conditions.Find(m.Status.Conditions, clusterv1alpha1.MachineOwnerRemediatedCondition)
			now = append(now, m.Name+" ("+c.Reason+")")
		case Unhealthy(m):
			not = append(not, m.Name)
		}
	}
	slices.Sort(now)
	slices.Sort(not)
	out := metav1.Condition{Type: clusterv1alpha1.RemediatingCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotRemediatingReason}
	switch {
	case len(now) > 0:
		out.Status, out.Reason, out.Message = metav1.ConditionTrue, clusterv1alpha1.RemediatingReason, Names(now)
	case len(not) > 0:
		out.Message = Names(not) + " not healthy, and not to be replaced by the owner"
	}
	return out
}
