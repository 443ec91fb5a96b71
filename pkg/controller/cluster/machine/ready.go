// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

const (
	// longDeletion is the time after which the summary reports a long deletion. longDrain is the time after which it
	// reports the causes of a slow drain.
	longDeletion = 15 * time.Minute
	longDrain    = 5 * time.Minute
	// notReported is the message for a missing condition.
	notReported = "Condition not yet reported"
)

// weight is the effect of a condition on the summary.
type weight int

const (
	good weight = iota
	unknown
	bad
)

// readyCondition summarizes the conditions of a Machine, including its readiness gates. causes are the causes of a slow
// drain.
func readyCondition(m *machine, causes []string, now time.Time) metav1.Condition {
	worst := good
	var problems, infos []string
	for _, in := range readyInputs(m) {
		c := conditions.Find(m.Status.Conditions, in.kind)
		switch {
		case c == nil && in.optional:
			continue
		case c == nil:
			c = &metav1.Condition{Type: in.kind, Status: metav1.ConditionUnknown, Message: notReported}
		case in.kind == clusterv1alpha1.DeletingCondition && m.DeletionTimestamp != nil:
			brief := *c
			brief.Message = deletionSummary(m, c.Reason, causes, now)
			c = &brief
		}
		w := weigh(m, c, in.negative)
		worst = max(worst, w)
		switch {
		case w != good:
			problems = append(problems, conditionLine(c))
		case c.Message != "":
			infos = append(infos, conditionLine(c))
		}
	}
	out := metav1.Condition{Type: clusterv1alpha1.ReadyCondition, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.ReadyReason}
	switch worst {
	case bad:
		out.Status, out.Reason = metav1.ConditionFalse, clusterv1alpha1.NotReadyReason
	case unknown:
		out.Status, out.Reason = metav1.ConditionUnknown, clusterv1alpha1.ReadyUnknownReason
	case good:
		problems = infos
	}
	out.Message = strings.Join(groupControlPlane(problems), "\n")
	return out
}

// readyInput is a condition that is included in the summary.
type readyInput struct {
	kind string
	// negative is true if the status True is bad. optional is true if a missing condition is ignored.
	negative, optional bool
}

func readyInputs(m *machine) []readyInput {
	all := []readyInput{
		{kind: clusterv1alpha1.DeletingCondition, negative: true},
		{kind: clusterv1alpha1.MachineUpdatingCondition, negative: true},
		{kind: clusterv1alpha1.MachineBootstrapConfigReadyCondition},
		{kind: clusterv1alpha1.InfrastructureReadyCondition},
		{kind: clusterv1alpha1.MachineNodeHealthyCondition},
		{kind: clusterv1alpha1.MachineHealthCheckSucceededCondition, optional: true},
	}
	for _, g := range m.Spec.ReadinessGates {
		all = append(all, readyInput{kind: g.ConditionType, negative: g.Polarity == clusterv1alpha1.NegativePolarityCondition})
	}
	return all
}

// weigh returns the effect of a condition on the summary. If the Machine is being deleted, deleted parts are good.
func weigh(m *machine, c *metav1.Condition, negative bool) weight {
	parts := []string{clusterv1alpha1.MachineBootstrapConfigReadyCondition, clusterv1alpha1.InfrastructureReadyCondition, clusterv1alpha1.MachineNodeHealthyCondition}
	missingReasons := []string{
		clusterv1alpha1.ObjectDeletedReason, clusterv1alpha1.ObjectDoesNotExistReason,
		clusterv1alpha1.NodeDeletedReason, clusterv1alpha1.NodeDoesNotExistReason,
	}
	switch {
	case m.DeletionTimestamp != nil && slices.Contains(parts, c.Type) && slices.Contains(missingReasons, c.Reason):
		return good
	case c.Status == metav1.ConditionUnknown:
		return unknown
	case (c.Status == metav1.ConditionTrue) == negative:
		return bad
	}
	return good
}

// conditionLine returns the summary's text for a condition.
func conditionLine(c *metav1.Condition) string {
	text := c.Message
	if text == "" {
		text = c.Reason
	}
	lines := strings.Split(text, "\n")
	if len(lines) == 1 && !isBullet(text) {
		return fmt.Sprintf("* %s: %s", c.Type, text)
	}
	// Bullet points are indented below the condition.
	all := !slices.ContainsFunc(lines, func(l string) bool { return !isBullet(l) })
	for i, l := range lines {
		switch {
		case all:
			lines[i] = "  " + l
		case isBullet(l):
			lines[i] = "    " + l
		default:
			lines[i] = "  * " + l
		}
	}
	return fmt.Sprintf("* %s:\n%s", c.Type, strings.Join(lines, "\n"))
}

func isBullet(l string) bool { return strings.HasPrefix(strings.TrimLeft(l, " "), "* ") }

// deletionSummary returns the summary's text for a deletion. It contains no exact times, so that many Machines have the
// same text.
func deletionSummary(m *machine, reason string, causes []string, now time.Time) string {
	if now.Sub(m.DeletionTimestamp.Time) <= longDeletion {
		return "Machine deletion in progress, stage: " + reason
	}
	text := "Machine deletion in progress for more than 15m, stage: " + reason
	d := m.Status.Deletion
	if reason == clusterv1alpha1.DrainingNodeReason && d != nil && d.NodeDrainStartTime != nil &&
		now.Sub(d.NodeDrainStartTime.Time) > longDrain && len(causes) > 0 {
		text += ", delay likely due to " + strings.Join(causes, ", ")
	}
	return text
}

// controlPlaneParts are prefixes of lines about components of a control plane.
var controlPlaneParts = []string{"* APIServer", "* ControllerManager", "* Scheduler", "* EtcdPodHealthy:"}

// groupControlPlane merges the lines of control plane components if there are several and all have the same text.
func groupControlPlane(lines []string) []string {
	var out []string
	var said string
	count := 0
	for _, l := range lines {
		name, text, _ := strings.Cut(l, ":")
		if !slices.ContainsFunc(controlPlaneParts, func(p string) bool { return strings.HasPrefix(name+":", p) }) {
			out = append(out, l)
			continue
		}
		count++
		if count == 1 {
			said = text
			out = append(out, "* Control plane components:"+text)
		} else if text != said {
			return lines
		}
	}
	if count == 1 {
		return lines
	}
	return out
}

// availableCondition returns True if a Machine has been Ready for minReadySeconds. Otherwise it also returns the
// remaining time.
func availableCondition(m *machine, ready metav1.Condition, now time.Time) (metav1.Condition, time.Duration) {
	c := metav1.Condition{Type: clusterv1alpha1.AvailableCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotReadyReason}
	if ready.Status != metav1.ConditionTrue {
		return c, 0
	}
	var seconds int32
	if m.Spec.MinReadySeconds != nil {
		seconds = *m.Spec.MinReadySeconds
	}
	left := ready.LastTransitionTime.Add(time.Duration(seconds) * time.Second).Sub(now)
	if left > 0 {
		c.Reason = clusterv1alpha1.WaitingForMinReadySecondsReason
		return c, left
	}
	c.Status, c.Reason = metav1.ConditionTrue, clusterv1alpha1.AvailableReason
	return c, 0
}
