// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

type oldCondition = clusterv1alpha1.DeprecatedCondition

func (s *scope) markTrue(kind string) {
	s.marks = append(s.marks, oldCondition{Type: kind, Status: metav1.ConditionTrue})
}

func (s *scope) markFalse(kind, reason string, severity clusterv1alpha1.ConditionSeverity, message string) {
	s.marks = append(s.marks, oldCondition{Type: kind, Status: metav1.ConditionFalse, Severity: severity, Reason: reason, Message: cut(message)})
}

func (s *scope) markUnknown(kind, reason, message string) {
	s.marks = append(s.marks, oldCondition{Type: kind, Status: metav1.ConditionUnknown, Reason: reason, Message: cut(message)})
}

// updateOld writes the conditions of the older form: what this pass has to say of them, over
// what was there, and their summary.
func (s *scope) updateOld() {
	old := members.Deprecated(&s.machine.Status.Deprecated)
	mirrors := []oldCondition{}
	if s.machine.Spec.Bootstrap.ConfigRef.IsDefined() {
		mirrors = append(mirrors, s.oldMirror(&s.bootstrap, clusterv1alpha1.BootstrapReadyV1Beta1Condition, clusterv1alpha1.WaitingForDataSecretV1Beta1Reason,
			isTrue(s.machine.Status.Initialization.BootstrapDataSecretCreated))...)
	}
	mirrors = append(mirrors, s.oldMirror(&s.infra, clusterv1alpha1.InfrastructureReadyCondition, clusterv1alpha1.WaitingForInfrastructureV1Beta1Reason,
		isProvisioned(s.machine))...)
	// What a stage of the deletion says comes after what the object itself says.
	for _, c := range append(mirrors, s.marks...) {
		s.setOld(old, c)
	}
	if c := oldReady(old.Conditions, !s.isDeleting() && s.machine.Spec.ProviderID == ""); c != nil {
		s.setOld(old, *c)
	}
	slices.SortStableFunc(old.Conditions, func(a, b oldCondition) int {
		first := func(c oldCondition) int {
			if c.Type == clusterv1alpha1.ReadyCondition {
				return 0
			}
			return 1
		}
		return cmp.Or(first(a)-first(b), strings.Compare(a.Type, b.Type))
	})
}

// oldMirror tells the Ready of an object that could be read; nothing of one that could not.
func (s *scope) oldMirror(e *external, kind, waiting string, done bool) []oldCondition {
	if e.object == nil {
		return nil
	}
	c := oldCondition{Type: kind, Status: metav1.ConditionTrue}
	ready, err := contract.Ready(e.object)
	switch {
	case err != nil:
		return nil
	case ready != nil:
		c.Status, c.Reason, c.Message = ready.Status, ready.Reason, cut(ready.Message)
		if c.Status == metav1.ConditionFalse {
			c.Severity = clusterv1alpha1.ConditionSeverityInfo
		}
		if c.Status == metav1.ConditionTrue {
			c.Reason, c.Message = "", ""
		}
	case !done && s.isDeleting():
		c.Status, c.Severity, c.Reason = metav1.ConditionFalse, clusterv1alpha1.ConditionSeverityInfo, clusterv1alpha1.DeletingReason
	case !done:
		c.Status, c.Severity, c.Reason = metav1.ConditionFalse, clusterv1alpha1.ConditionSeverityInfo, waiting
	}
	return []oldCondition{c}
}

// setOld sets a condition; its time is when anything of it changed last.
func (s *scope) setOld(old *clusterv1alpha1.V1Beta1DeprecatedStatus, c oldCondition) {
	i := slices.IndexFunc(old.Conditions, func(o oldCondition) bool { return o.Type == c.Type })
	c.LastTransitionTime = *s.moment()
	if i < 0 {
		old.Conditions = append(old.Conditions, c)
		return
	}
	was := old.Conditions[i]
	was.LastTransitionTime = c.LastTransitionTime
	if was != c {
		old.Conditions[i] = c
	}
}

// oldSummed are the conditions of the older form that Ready sums up, the weightiest first.
var oldSummed = []string{
	clusterv1alpha1.InfrastructureReadyCondition, clusterv1alpha1.BootstrapReadyV1Beta1Condition,
	clusterv1alpha1.MachineHealthCheckSucceededCondition, clusterv1alpha1.MachineOwnerRemediatedCondition,
	clusterv1alpha1.DrainingSucceededV1Beta1Condition,
}

// oldReady is the worst of the conditions that it sums up; nil if there is none of them. While
// a Machine is made, and only bootstrap and infrastructure say anything, it counts steps.
func oldReady(all []oldCondition, making bool) *oldCondition {
	var worst *oldCondition
	steps, done, onlySteps := 2, 0, true
	for i, kind := range oldSummed {
		at := slices.IndexFunc(all, func(c oldCondition) bool { return c.Type == kind })
		if at < 0 {
			continue
		}
		c := all[at]
		onlySteps = onlySteps && i < steps
		if c.Status == metav1.ConditionTrue {
			done++
		}
		if worst == nil || oldRank(c) < oldRank(*worst) {
			worst = &c
		}
	}
	if worst == nil {
		return nil
	}
	out := *worst
	out.Type = clusterv1alpha1.ReadyCondition
	if making && onlySteps && out.Status != metav1.ConditionTrue {
		out.Message = fmt.Sprintf("%d of %d completed", done, steps)
	}
	if out.Status == metav1.ConditionTrue {
		out.Reason, out.Message = "", ""
	}
	return &out
}

// oldRank orders conditions, the worst first.
func oldRank(c oldCondition) int {
	switch {
	case c.Status == metav1.ConditionFalse && c.Severity == clusterv1alpha1.ConditionSeverityError:
		return 0
	case c.Status == metav1.ConditionFalse && c.Severity == clusterv1alpha1.ConditionSeverityWarning:
		return 1
	case c.Status == metav1.ConditionFalse:
		return 2
	case c.Status == metav1.ConditionTrue:
		return 3 // Before Unknown, as v1beta1 has it.
	}
	return 4
}
