// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

// shown is m with what v says of it.
func shown(m *machine, v verdict, now time.Time) *machine {
	next := m.DeepCopy()
	c := metav1.Condition{Type: clusterv1alpha1.MachineHealthCheckSucceededCondition, ObservedGeneration: m.Generation}
	switch {
	case v.well:
		c.Status, c.Reason = metav1.ConditionTrue, clusterv1alpha1.HealthCheckSucceededReason
	case v.unwell():
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v.reason, v.message
	default:
		return next
	}
	conditions.Set(&next.Status.Conditions, now, c)
	return next
}

// askOwner asks the owner of m, which it changes, to replace it, unless that has been done
// and the owner is at it.
func askOwner(m *machine, now time.Time) {
	if is := conditions.Find(m.Status.Conditions, clusterv1alpha1.MachineOwnerRemediatedCondition); is != nil && is.Status != metav1.ConditionTrue {
		return
	}
	c := metav1.Condition{
		Type: clusterv1alpha1.MachineOwnerRemediatedCondition, Status: metav1.ConditionFalse,
		Reason: clusterv1alpha1.WaitingForRemediationReason, Message: "Waiting for remediation", ObservedGeneration: m.Generation,
	}
	conditions.Set(&m.Status.Conditions, now, c)
}

// asked says on m, which it changes, what became of asking somebody else to replace it; with
// an empty reason nobody is asked any more.
func asked(m *machine, now time.Time, reason, message string) {
	if reason == "" {
		meta.RemoveStatusCondition(&m.Status.Conditions, clusterv1alpha1.MachineExternallyRemediatedCondition)
		return
	}
	conditions.Set(&m.Status.Conditions, now, metav1.Condition{
		Type: clusterv1alpha1.MachineExternallyRemediatedCondition, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: m.Generation,
	})
}

// tell fills the status of a check.
func tell(c *check, paused metav1.Condition, targets []target, well int, allow allowance, now time.Time) {
	st := &c.Status
	paused.ObservedGeneration = c.Generation
	conditions.Set(&st.Conditions, now, paused)
	if paused.Status == metav1.ConditionTrue {
		return // Nobody has looked.
	}
	names := []string{}
	for _, t := range targets {
		names = append(names, t.machine.Name)
	}
	slices.Sort(names)
	total, healthy := int32(len(targets)), int32(well)
	st.ExpectedMachines, st.CurrentHealthy, st.RemediationsAllowed = &total, &healthy, &allow.more
	st.Targets, st.ObservedGeneration = names[:min(len(names), maxTargets)], c.Generation
	is := metav1.Condition{
		Type: clusterv1alpha1.MachineHealthCheckRemediationAllowedCondition, Status: metav1.ConditionTrue,
		Reason: clusterv1alpha1.RemediationAllowedReason, ObservedGeneration: c.Generation,
	}
	var stalled *metav1.Condition
	if !allow.ok {
		is.Status, is.Reason, is.Message = metav1.ConditionFalse, clusterv1alpha1.TooManyUnhealthyReason, allow.message
		stalled = &is
	}
	conditions.Set(&st.Conditions, now, is)
	conditions.SetBecause(&st.Conditions, now, clusterv1alpha1.StalledCondition, c.Generation, stalled)
}

// maxTargets is how many names a status has, as the API has it.
const maxTargets = 10000
