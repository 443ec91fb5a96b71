// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

// updateStatus makes conditions and phase of what the pass knows, whatever failed in it.
func (s *scope) updateStatus() {
	m := s.machine
	s.set(members.Paused(s.cluster, m, machineKind))
	s.set(s.bootstrapCondition())
	s.set(s.infrastructureCondition())
	for _, c := range s.nodeConditions() {
		s.set(c)
	}
	s.set(s.deletingCondition())
	s.set(s.updatingCondition())
	if s.facts.set != nil && s.deployment != nil {
		s.set(upToDateCondition(m, s.facts.set, s.deployment, s.updating, s.now))
	}
	ready := readyCondition(m, s.deleting.causes, s.now)
	s.set(ready)
	settle(s.stored.Status.Conditions, m.Status.Conditions, m.Generation, s.now)
	available, left := availableCondition(m, *s.condition(clusterv1alpha1.ReadyCondition), s.now)
	s.again(left)
	s.set(available)
	if phase := phaseOf(m); phase != m.Status.Phase {
		m.Status.Phase, m.Status.LastUpdated = phase, s.moment()
	}
}

func (s *scope) deletingCondition() metav1.Condition {
	c := metav1.Condition{Type: clusterv1alpha1.DeletingCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotDeletingReason}
	if s.isDeleting() {
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, s.deleting.reason, s.deleting.message
	}
	return c
}

func (s *scope) updatingCondition() metav1.Condition {
	c := metav1.Condition{Type: clusterv1alpha1.MachineUpdatingCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotUpdatingReason}
	if s.updating.reason != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, s.updating.reason, s.updating.message
	}
	return c
}

// phaseOf sums a Machine up for people. No code decides by it.
func phaseOf(m *machine) clusterv1alpha1.MachinePhase {
	switch {
	case m.DeletionTimestamp != nil:
		return clusterv1alpha1.MachinePhaseDeleting
	case conditions.IsTrue(m.Status.Conditions, clusterv1alpha1.MachineUpdatingCondition):
		return clusterv1alpha1.MachinePhaseUpdating
	case m.Status.NodeRef.IsDefined() && isProvisioned(m):
		return clusterv1alpha1.MachinePhaseRunning
	case m.Spec.ProviderID != "":
		return clusterv1alpha1.MachinePhaseProvisioned
	case hasBootstrapData(m) && !isProvisioned(m):
		return clusterv1alpha1.MachinePhaseProvisioning
	}
	return clusterv1alpha1.MachinePhasePending
}
