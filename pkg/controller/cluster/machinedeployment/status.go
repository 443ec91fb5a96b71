// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machinedeployment

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

// updateStatus computes the status of the MachineDeployment. failed is the error of the reconcile.
func (p *reconcileRun) updateStatus(paused metav1.Condition, failed error) {
	d, st := p.deployment, &p.deployment.Status
	set := func(c metav1.Condition) {
		c.ObservedGeneration = d.Generation
		conditions.Set(&st.Conditions, p.now(), c)
	}
	set(paused)
	if paused.Status == metav1.ConditionTrue {
		if d.DeletionTimestamp != nil {
			set(members.PausedDeletionCondition(paused))
		}
		return // The MachineSets were not read.
	}
	if failed == nil {
		st.ObservedGeneration = d.Generation
	}
	if selector, err := metav1.LabelSelectorAsSelector(&d.Spec.Selector); err == nil {
		st.Selector = selector.String()
	}
	all := p.allMachines()
	n := members.Count(all)
	if p.plan != nil {
		// The UpToDate condition of Machines of other templates may not have been updated yet.
		n.UpToDate = 0
		if p.plan.current != nil {
			n.UpToDate = members.Count(p.plan.current.machines).UpToDate
		}
	}
	st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpToDateReplicas = &n.Replicas, &n.Ready, &n.Available, &n.UpToDate
	st.Versions, st.Phase = n.Versions, p.phase(n.Replicas)
	rolling, available := p.rollingOutCondition(), p.availableCondition(n.Available)
	up, down := p.scalingConditions(n.Replicas, failed)
	for _, c := range []metav1.Condition{
		available, rolling, up, down, members.MachinesReady(all), members.MachinesUpToDate(all), members.Remediating(all), p.deletingCondition(all),
	} {
		set(c)
	}
	var reconciling *metav1.Condition
	if d.DeletionTimestamp == nil {
		reconciling = members.Reconciling(n.Available, p.desiredReplicas(), rolling, up, down)
	}
	conditions.SetBecause(&st.Conditions, p.now(), clusterv1alpha1.ReconcilingCondition, d.Generation, reconciling)
}

func (p *reconcileRun) allMachines() []*machine {
	var all []*machine
	for _, v := range p.setStates {
		all = append(all, v.machines...)
	}
	return all
}

// desiredReplicas returns the desired number of Machines.
func (p *reconcileRun) desiredReplicas() int32 {
	if p.deployment.DeletionTimestamp != nil {
		return 0
	}
	return ptr.Deref(p.deployment.Spec.Replicas, 1)
}

func (p *reconcileRun) phase(is int32) clusterv1alpha1.MachineDeploymentPhase {
	switch desired := p.desiredReplicas(); {
	case p.deployment.DeletionTimestamp != nil, is > desired:
		return clusterv1alpha1.MachineDeploymentPhaseScalingDown
	case is < desired:
		return clusterv1alpha1.MachineDeploymentPhaseScalingUp
	}
	return clusterv1alpha1.MachineDeploymentPhaseRunning
}

func (p *reconcileRun) availableCondition(is int32) metav1.Condition {
	out := metav1.Condition{Type: clusterv1alpha1.AvailableCondition, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.AvailableReason}
	desired := p.desiredReplicas()
	_, unavailable := fenceposts(p.deployment, desired)
	switch {
	case p.deployment.DeletionTimestamp != nil:
		out.Status, out.Reason, out.Message = metav1.ConditionFalse, clusterv1alpha1.NotAvailableReason, "Deletion in progress"
	case is < desired-unavailable:
		out.Status, out.Reason = metav1.ConditionFalse, clusterv1alpha1.NotAvailableReason
		out.Message = fmt.Sprintf("%d available replicas, at least %d required", is, desired-unavailable)
	}
	return out
}

// rollingOutCondition returns the RollingOut condition, which counts the Machines of old templates.
func (p *reconcileRun) rollingOutCondition() metav1.Condition {
	out := metav1.Condition{Type: clusterv1alpha1.RollingOutCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotRollingOutReason}
	if p.plan == nil {
		return out
	}
	var why []string
	n := int32(0)
	for _, v := range p.plan.old {
		if v.machineCount() == 0 {
			continue
		}
		n += v.machineCount()
		reasons := members.TemplateDifferences(&v.set.Spec.Template, &p.deployment.Spec.Template)
		if len(reasons) == 0 {
			reasons = []string{"MachineDeployment spec.rollout.after expired"}
		}
		why = append(why, reasons...)
	}
	if n == 0 {
		return out
	}
	slices.Sort(why)
	out.Status, out.Reason = metav1.ConditionTrue, clusterv1alpha1.RollingOutReason
	out.Message = fmt.Sprintf("Rolling out %d not up-to-date replicas: %s", n, strings.Join(slices.Compact(why), "; "))
	p.explain(&out)
	return out
}

func (p *reconcileRun) scalingConditions(is int32, failed error) (up, down metav1.Condition) {
	up = metav1.Condition{Type: clusterv1alpha1.ScalingUpCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotScalingUpReason}
	down = metav1.Condition{Type: clusterv1alpha1.ScalingDownCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotScalingDownReason}
	switch desired := p.desiredReplicas(); {
	case is < desired:
		up.Status, up.Reason = metav1.ConditionTrue, clusterv1alpha1.ScalingUpReason
		up.Message = fmt.Sprintf("Scaling up from %d to %d replicas", is, desired)
		p.explain(&up)
	case is > desired:
		down.Status, down.Reason = metav1.ConditionTrue, clusterv1alpha1.ScalingDownReason
		down.Message = fmt.Sprintf("Scaling down from %d to %d replicas", is, desired)
	}
	if failed != nil {
		up.Message = strings.TrimPrefix(up.Message+"; "+failed.Error(), "; ")
	}
	return up, down
}

// explain adds to c the reason and the message for which the current MachineSet has too few Machines.
func (p *reconcileRun) explain(c *metav1.Condition) {
	if p.plan == nil || p.plan.current == nil {
		return
	}
	s := p.plan.current.set
	up := conditions.Find(s.Status.Conditions, clusterv1alpha1.ScalingUpCondition)
	if up == nil || up.Status != metav1.ConditionTrue || up.Reason == clusterv1alpha1.ScalingUpReason {
		return
	}
	c.Reason = up.Reason
	c.Message += ". MachineSet " + s.Name + ": " + up.Message
}

func (p *reconcileRun) deletingCondition(all []*machine) metav1.Condition {
	out := metav1.Condition{Type: clusterv1alpha1.DeletingCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotDeletingReason}
	if p.deployment.DeletionTimestamp != nil {
		out.Status, out.Reason = metav1.ConditionTrue, clusterv1alpha1.DeletingReason
		out.Message = fmt.Sprintf("Waiting for %d MachineSets and %d Machines to be deleted", len(p.setStates), len(all))
	}
	return out
}
