// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machineset

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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
		return // Nobody has looked.
	}
	if failed == nil {
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
	p.tellOld(n, failed)
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
	}
	if is > wanted {
		down.Status, down.Reason = metav1.ConditionTrue, clusterv1alpha1.ScalingDownReason
		down.Message = fmt.Sprintf("Scaling down from %d to %d replicas", is, wanted)
	}
	switch {
	case failed == nil:
	case is < wanted:
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

// tellOld fills what readers of Cluster API's v1beta1 look for.
func (p *pass) tellOld(n members.Counts, failed error) {
	old := members.Deprecated(&p.set.Status.Deprecated)
	old.ReadyReplicas, old.AvailableReplicas, old.FullyLabeledReplicas = n.NodeReady, n.Available, 0
	labeled := labels.SelectorFromSet(p.set.Spec.Template.Metadata.Labels)
	for _, m := range p.machines {
		if labeled.Matches(labels.Set(m.Labels)) {
			old.FullyLabeledReplicas++
		}
	}
	yes := func(kind string) clusterv1alpha1.DeprecatedCondition {
		return clusterv1alpha1.DeprecatedCondition{Type: kind, Status: metav1.ConditionTrue}
	}
	created := yes(clusterv1alpha1.MachinesCreatedV1Beta1Condition)
	if failed != nil && n.Replicas < p.wanted() {
		created.Status, created.Severity, created.Message = metav1.ConditionFalse, clusterv1alpha1.ConditionSeverityError, failed.Error()
		created.Reason = clusterv1alpha1.MachineCreationFailedV1Beta1Reason
		if errors.Is(failed, errNoTemplate) {
			created.Reason = clusterv1alpha1.InfrastructureTemplateCloningFailedV1Beta1Reason
		}
	}
	resized := yes(clusterv1alpha1.ResizedV1Beta1Condition)
	if n.Replicas != p.wanted() {
		resized.Status, resized.Severity, resized.Reason = metav1.ConditionFalse, clusterv1alpha1.ConditionSeverityWarning, clusterv1alpha1.ScalingUpReason
		if n.Replicas > p.wanted() {
			resized.Reason = clusterv1alpha1.ScalingDownReason
		}
	}
	ready := members.OldForm(members.MachinesReady(p.machines), clusterv1alpha1.ConditionSeverityInfo, "")
	sum := yes(clusterv1alpha1.ReadyCondition)
	for _, c := range []clusterv1alpha1.DeprecatedCondition{created, resized, ready} {
		if sum.Status == metav1.ConditionTrue && c.Status != metav1.ConditionTrue {
			sum.Status, sum.Severity, sum.Reason, sum.Message = c.Status, c.Severity, c.Reason, c.Message
		}
	}
	members.SetDeprecated(old, p.now(), sum, created, resized, ready)
}
