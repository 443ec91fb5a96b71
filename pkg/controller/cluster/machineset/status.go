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

// tell fills the status of the set by what the pass has left; failed is why it ended early.
func (p *pass) tell(paused metav1.Condition, failed error) {
	st := &p.set.Status
	set := func(c metav1.Condition) {
		c.ObservedGeneration = p.set.Generation
		conditions.Set(&st.Conditions, p.now(), c)
	}
	set(paused)
	if paused.Status == metav1.ConditionTrue {
		if p.set.DeletionTimestamp != nil {
			set(members.DeletingWhilePaused(paused))
		}
		return // Nobody has looked.
	}
	if members.Observed(failed) {
		st.ObservedGeneration = p.set.Generation
	}
	if selector, err := metav1.LabelSelectorAsSelector(&p.set.Spec.Selector); err == nil {
		st.Selector = selector.String()
	}
	n := members.Count(p.machines)
	st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpToDateReplicas = &n.Replicas, &n.Ready, &n.Available, &n.UpToDate
	st.Versions = n.Versions
	up, down := p.scaling(n.Replicas, failed)
	for _, c := range []metav1.Condition{up, down, members.MachinesReady(p.machines), members.MachinesUpToDate(p.machines), members.Remediating(p.machines), p.deleting()} {
		set(c)
	}
	var reconciling *metav1.Condition
	if p.set.DeletionTimestamp == nil {
		reconciling = members.Reconciling(n.Available, p.wanted(), up, down)
	}
	conditions.SetBecause(&st.Conditions, p.now(), clusterv1alpha1.ReconcilingCondition, p.set.Generation, reconciling)
}

// wanted is how many Machines there shall be.
func (p *pass) wanted() int32 {
	if p.set.DeletionTimestamp != nil {
		return 0
	}
	return ptr.Deref(p.set.Spec.Replicas, 1)
}

func (p *pass) scaling(is int32, failed error) (up, down metav1.Condition) {
	up = metav1.Condition{Type: clusterv1alpha1.ScalingUpCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotScalingUpReason}
	down = metav1.Condition{Type: clusterv1alpha1.ScalingDownCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotScalingDownReason}
	wanted := p.wanted()
	if is < wanted {
		up.Status, up.Reason = metav1.ConditionTrue, clusterv1alpha1.ScalingUpReason
		up.Message = fmt.Sprintf("Scaling up from %d to %d replicas", is, wanted)
		if p.after > 0 {
			up.Message += fmt.Sprintf(": %s", p.pace)
		}
	}
	if is > wanted {
		down.Status, down.Reason = metav1.ConditionTrue, clusterv1alpha1.ScalingDownReason
		down.Message = fmt.Sprintf("Scaling down from %d to %d replicas", is, wanted)
	}
	switch {
	case failed == nil:
	case is < wanted:
		up.Reason = members.ReasonOf(failed, clusterv1alpha1.ScalingUpBlockedReason)
		up.Message += " is blocked because: " + failed.Error()
	case is > wanted:
		down.Message += " is blocked because: " + failed.Error()
	default:
		up.Message = failed.Error()
	}
	return up, down
}

func (p *pass) deleting() metav1.Condition {
	out := metav1.Condition{Type: clusterv1alpha1.DeletingCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotDeletingReason}
	if p.set.DeletionTimestamp != nil {
		out.Status, out.Reason = metav1.ConditionTrue, clusterv1alpha1.DeletingReason
		out.Message = fmt.Sprintf("Waiting for %d Machines to be deleted", len(p.machines))
	}
	return out
}
