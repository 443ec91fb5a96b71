// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machineset

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

// updateStatus computes the status of the MachineSet. failed is the error of the reconcile.
func (p *reconcileRun) updateStatus(paused metav1.Condition, failed error) {
	st := &p.set.Status
	set := func(c metav1.Condition) {
		c.ObservedGeneration = p.set.Generation
		conditions.Set(&st.Conditions, p.now(), c)
	}
	set(paused)
	if paused.Status == metav1.ConditionTrue {
		if p.set.DeletionTimestamp != nil {
			set(members.PausedDeletionCondition(paused))
		}
		return // The Machines were not read.
	}
	if members.HasProcessedSpec(failed) {
		st.ObservedGeneration = p.set.Generation
	}
	if selector, err := metav1.LabelSelectorAsSelector(&p.set.Spec.Selector); err == nil {
		st.Selector = selector.String()
	}
	n := members.Count(p.machines)
	st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpToDateReplicas = &n.Replicas, &n.Ready, &n.Available, &n.UpToDate
	st.Versions = n.Versions
	up, down := p.scalingConditions(n.Replicas, failed)
	for _, c := range []metav1.Condition{up, down, members.MachinesReady(p.machines), members.MachinesUpToDate(p.machines), members.Remediating(p.machines), p.deletingCondition()} {
		set(c)
	}
	var reconciling *metav1.Condition
	if p.set.DeletionTimestamp == nil {
		reconciling = members.Reconciling(n.Available, p.desiredReplicas(), up, down)
	}
	conditions.SetBecause(&st.Conditions, p.now(), clusterv1alpha1.ReconcilingCondition, p.set.Generation, reconciling)
}

// desiredReplicas returns the desired number of Machines.
func (p *reconcileRun) desiredReplicas() int32 {
	if p.set.DeletionTimestamp != nil {
		return 0
	}
	return ptr.Deref(p.set.Spec.Replicas, 1)
}

func (p *reconcileRun) scalingConditions(is int32, failed error) (up, down metav1.Condition) {
	up = metav1.Condition{Type: clusterv1alpha1.ScalingUpCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotScalingUpReason}
	down = metav1.Condition{Type: clusterv1alpha1.ScalingDownCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotScalingDownReason}
	desired := p.desiredReplicas()
	if is < desired {
		up.Status, up.Reason = metav1.ConditionTrue, clusterv1alpha1.ScalingUpReason
		up.Message = fmt.Sprintf("Scaling up from %d to %d replicas", is, desired)
		if p.delay > 0 {
			up.Message += fmt.Sprintf(": %s", p.creationLimits)
		}
	}
	if is > desired {
		down.Status, down.Reason = metav1.ConditionTrue, clusterv1alpha1.ScalingDownReason
		down.Message = fmt.Sprintf("Scaling down from %d to %d replicas", is, desired)
	}
	switch {
	case failed == nil:
	case is < desired:
		up.Reason = members.ReasonOf(failed, clusterv1alpha1.ScalingUpBlockedReason)
		up.Message += " is blocked because: " + failed.Error()
	case is > desired:
		down.Message += " is blocked because: " + failed.Error()
	default:
		up.Message = failed.Error()
	}
	return up, down
}

func (p *reconcileRun) deletingCondition() metav1.Condition {
	out := metav1.Condition{Type: clusterv1alpha1.DeletingCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotDeletingReason}
	if p.set.DeletionTimestamp != nil {
		out.Status, out.Reason = metav1.ConditionTrue, clusterv1alpha1.DeletingReason
		out.Message = fmt.Sprintf("Waiting for %d Machines to be deleted", len(p.machines))
	}
	return out
}
