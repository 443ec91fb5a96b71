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
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/external"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

// updateStatus computes conditions and phase from the results of the steps, even if steps have failed. It returns the
// time until the Machine becomes available.
func updateStatus(s *step.State, deleting step.Progress, nodeConditions []metav1.Condition) time.Duration {
	m := s.Machine
	updating := updatingOf(m)
	all := slices.Concat([]metav1.Condition{
		members.Paused(s.Cluster, m, step.MachineKind), external.BootstrapCondition(s), external.InfrastructureCondition(s),
	}, nodeConditions, []metav1.Condition{
		progressCondition(clusterv1alpha1.DeletingCondition, clusterv1alpha1.NotDeletingReason, s.IsDeleting(), deleting),
		progressCondition(clusterv1alpha1.MachineUpdatingCondition, clusterv1alpha1.NotUpdatingReason, updating.Reason != "", updating),
	})
	if s.Set != nil && s.Deployment != nil {
		all = append(all, upToDateCondition(m, s.Set, s.Deployment, updating, s.Now))
	}
	for _, c := range all {
		setCondition(m, c)
	}
	setCondition(m, readyCondition(m, deleting.Causes, s.Now))
	finishConditions(s.Stored.Status.Conditions, m.Status.Conditions, m.Generation, s.Now)
	available, left := availableCondition(m, *conditions.Find(m.Status.Conditions, clusterv1alpha1.ReadyCondition), s.Now)
	setCondition(m, available)
	setPhase(s)
	return left
}

// progressCondition returns a condition that is True with the given progress if isTrue is set, and False with
// falseReason otherwise.
func progressCondition(conditionType, falseReason string, isTrue bool, progress step.Progress) metav1.Condition {
	if !isTrue {
		return metav1.Condition{Type: conditionType, Status: metav1.ConditionFalse, Reason: falseReason}
	}
	return metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: progress.Reason, Message: progress.Message}
}

// updatingOf returns the progress of an in-place update. Other clients set its annotations; update extensions are not
// called. A Machine that is being deleted is not updated.
func updatingOf(m *machine) (p step.Progress) {
	_, begun := m.Annotations[clusterv1alpha1.UpdateInProgressAnnotation]
	pending := strings.Split(m.Annotations[clusterv1alpha1.PendingHooksAnnotation], ",")
	if m.DeletionTimestamp == nil && (begun || slices.Contains(pending, clusterv1alpha1.UpdateMachineHook)) {
		p.Reason, p.Message = clusterv1alpha1.InPlaceUpdatingReason, "In-place update in progress"
	}
	return p
}

// upToDateCondition returns the UpToDate condition of a Machine of a MachineDeployment. It compares the templates of
// MachineDeployment and MachineSet, because they determine whether the Machine is replaced. Changes of the Machine
// itself are ignored.
func upToDateCondition(m *machine, set *machineSet, d *deployment, updating step.Progress, now time.Time) metav1.Condition {
	c := metav1.Condition{Type: clusterv1alpha1.MachineUpToDateCondition, Status: metav1.ConditionFalse}
	differs := members.TemplateDifferences(&set.Spec.Template, &d.Spec.Template)
	if after := d.Spec.Rollout.After; after != nil && after.Time.Before(now) && set.CreationTimestamp.Time.Before(after.Time) {
		differs = append(differs, "MachineDeployment spec.rollout.after expired")
	}
	node := ""
	if m.Status.NodeInfo != nil {
		node = m.Status.NodeInfo.KubeletVersion
	}
	switch {
	case len(differs) > 0:
		c.Reason, c.Message = clusterv1alpha1.NotUpToDateReason, "* "+strings.Join(differs, "\n* ")
	case updating.Reason != "":
		c.Reason, c.Message = clusterv1alpha1.UpdatingReason, "* "+updating.Message
	case node != "" && m.Spec.Version != "" && node != m.Spec.Version:
		c.Reason = clusterv1alpha1.UpdatingReason
		c.Message = fmt.Sprintf("* Node.status.nodeInfo.kubeletVersion %s, %s required", node, m.Spec.Version)
	default:
		c.Status, c.Reason = metav1.ConditionTrue, clusterv1alpha1.UpToDateReason
	}
	return c
}

// setPhase sets the phase of a Machine, and its time if the phase has changed.
func setPhase(s *step.State) {
	if phase := phaseOf(s); phase != s.Machine.Status.Phase {
		s.Machine.Status.Phase, s.Machine.Status.LastUpdated = phase, s.Timestamp()
	}
}

// phaseOf returns the phase of a Machine. It is for users only; no controller reads it.
func phaseOf(s *step.State) clusterv1alpha1.MachinePhase {
	m := s.Machine
	switch {
	case m.DeletionTimestamp != nil:
		return clusterv1alpha1.MachinePhaseDeleting
	case s.Bootstrap.HasFailed(), s.Infra.HasFailed(), s.Infra.NotFound && step.IsProvisioned(m):
		return clusterv1alpha1.MachinePhaseFailed
	case conditions.IsTrue(m.Status.Conditions, clusterv1alpha1.MachineUpdatingCondition):
		return clusterv1alpha1.MachinePhaseUpdating
	case m.Status.NodeRef.IsDefined() && step.IsProvisioned(m):
		return clusterv1alpha1.MachinePhaseRunning
	case m.Spec.ProviderID != "":
		return clusterv1alpha1.MachinePhaseProvisioned
	case hasBootstrapData(m) && !step.IsProvisioned(m):
		return clusterv1alpha1.MachinePhaseProvisioning
	}
	return clusterv1alpha1.MachinePhasePending
}

// hasBootstrapData reports whether the Secret with the bootstrap data exists.
func hasBootstrapData(m *machine) bool {
	return step.IsTrue(m.Status.Initialization.BootstrapDataSecretCreated) ||
		!m.Spec.Bootstrap.ConfigRef.IsDefined() && m.Spec.Bootstrap.DataSecretName != nil
}
