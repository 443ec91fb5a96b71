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

// withHealthCondition returns a copy of m with the condition for v.
func withHealthCondition(m *machine, v checkResult, now time.Time) *machine {
	next := m.DeepCopy()
	c := metav1.Condition{Type: clusterv1alpha1.MachineHealthCheckSucceededCondition, ObservedGeneration: m.Generation}
	switch {
	case v.healthy:
		c.Status, c.Reason = metav1.ConditionTrue, clusterv1alpha1.HealthCheckSucceededReason
	case v.isUnhealthy():
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v.reason, v.message
	default:
		return next
	}
	conditions.Set(&next.Status.Conditions, now, c)
	return next
}

// requestOwner requests remediation by the owner of m, unless the owner has already been requested.
func requestOwner(m *machine, now time.Time) {
	if current := conditions.Find(m.Status.Conditions, clusterv1alpha1.MachineOwnerRemediatedCondition); current != nil && current.Status != metav1.ConditionTrue {
		return
	}
	c := metav1.Condition{
		Type: clusterv1alpha1.MachineOwnerRemediatedCondition, Status: metav1.ConditionFalse,
		Reason: clusterv1alpha1.WaitingForRemediationReason, Message: "Waiting for remediation", ObservedGeneration: m.Generation,
	}
	conditions.Set(&m.Status.Conditions, now, c)
}

// setExternallyRemediated sets the ExternallyRemediated condition of m, or removes it if reason is empty.
func setExternallyRemediated(m *machine, now time.Time, reason, message string) {
	if reason == "" {
		meta.RemoveStatusCondition(&m.Status.Conditions, clusterv1alpha1.MachineExternallyRemediatedCondition)
		return
	}
	conditions.Set(&m.Status.Conditions, now, metav1.Condition{
		Type: clusterv1alpha1.MachineExternallyRemediatedCondition, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: m.Generation,
	})
}

// updateStatus computes the status of a check.
func updateStatus(c *check, paused metav1.Condition, targets []target, well int, allow allowance, now time.Time) {
	st := &c.Status
	paused.ObservedGeneration = c.Generation
	conditions.Set(&st.Conditions, now, paused)
	if paused.Status == metav1.ConditionTrue {
		return // The Machines were not read.
	}
	names := []string{}
	for _, t := range targets {
		names = append(names, t.machine.Name)
	}
	slices.Sort(names)
	total, healthy := int32(len(targets)), int32(well)
	st.ExpectedMachines, st.CurrentHealthy, st.RemediationsAllowed = &total, &healthy, &allow.remaining
	st.Targets, st.ObservedGeneration = names[:min(len(names), maxTargets)], c.Generation
	condition := metav1.Condition{
		Type: clusterv1alpha1.MachineHealthCheckRemediationAllowedCondition, Status: metav1.ConditionTrue,
		Reason: clusterv1alpha1.RemediationAllowedReason, ObservedGeneration: c.Generation,
	}
	var stalled *metav1.Condition
	if !allow.allowed {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, clusterv1alpha1.TooManyUnhealthyReason, allow.message
		stalled = &condition
	}
	conditions.Set(&st.Conditions, now, condition)
	conditions.SetBecause(&st.Conditions, now, clusterv1alpha1.StalledCondition, c.Generation, stalled)
}

// maxTargets is the API's maximum number of targets in the status.
const maxTargets = 10000
