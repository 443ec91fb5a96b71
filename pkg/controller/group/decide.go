// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// machines returns a VM of the namespace, or nil if it does not exist.
type machines func(name string) *vmv1alpha1.VirtualMachine

// decide returns the status of g at the time now, and the time at which the status can change without an event, or zero.
func decide(g *group, vms machines, find groups, now time.Time) (status *vmv1alpha1.VirtualMachineGroupStatus, until time.Time) {
	now = now.Truncate(time.Microsecond) // the resolution of MicroTime in JSON
	next := g.DeepCopy()
	st := &next.Status
	st.ObservedGeneration = g.Generation
	parent, problem := parentOf(g, find)
	setLinked(next, problem, now)
	target := g.Spec.PowerState
	if target == "" && parent != nil {
		if m := parent.MemberStatus(vmv1alpha1.GroupMemberKind, g.Name); m != nil {
			target = m.DesiredPowerState
		}
	}
	if st.PowerState != target || st.PowerStateTime == nil {
		st.PowerState, st.PowerStateTime = target, &metav1.MicroTime{Time: now}
	}
	w := &walk{steps: g.Spec.BootOrder, target: target, begin: st.PowerStateTime.Time, now: now, generation: g.Generation}
	st.Members = w.observeMembers(g, vms, find)
	h := w.advance()
	w.summarize(next, h)
	if h != nil {
		until = h.until
	}
	return st, until
}

// setLinked sets the GroupLinked condition of g, which reports whether g is in the group that spec.groupName names.
func setLinked(g *group, problem *linkProblem, now time.Time) {
	switch {
	case g.Spec.GroupName == "":
		meta.RemoveStatusCondition(&g.Status.Conditions, vmv1alpha1.ConditionGroupLinked)
	case problem != nil:
		set(g, now, vmv1alpha1.ConditionGroupLinked, problem.reason, problem.message)
	default:
		set(g, now, vmv1alpha1.ConditionGroupLinked, "", "")
	}
}

// set sets a condition of g. It is True if reason is empty.
func set(g *group, now time.Time, conditionType, reason, message string) {
	status := metav1.ConditionFalse
	if reason == "" {
		status, reason = metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded
	}
	conditions.Set(&g.Status.Conditions, now, metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message, ObservedGeneration: g.Generation})
}

// observeMembers sets the members of the walk from the previous status and the current objects. It returns the new
// status of the members, which the later steps of the walk change.
func (w *walk) observeMembers(g *group, vms machines, find groups) []vmv1alpha1.VirtualMachineGroupMemberStatus {
	before := map[vmv1alpha1.VirtualMachineGroupMember]*vmv1alpha1.VirtualMachineGroupMemberStatus{}
	for i := range g.Status.Members {
		m := &g.Status.Members[i]
		before[vmv1alpha1.VirtualMachineGroupMember{Kind: m.Kind, Name: m.Name}] = m
	}
	all := make([]vmv1alpha1.VirtualMachineGroupMemberStatus, len(g.Members()))
	n := 0
	for i := range w.steps {
		var members []member
		for _, named := range w.steps[i].Members {
			named.Kind = cmp.Or(named.Kind, vmv1alpha1.MachineMemberKind)
			m := member{VirtualMachineGroupMemberStatus: &all[n]}
			n++
			if old := before[named]; old != nil {
				old.DeepCopyInto(m.VirtualMachineGroupMemberStatus)
			}
			m.Kind, m.Name = named.Kind, named.Name
			if named.Kind == vmv1alpha1.GroupMemberKind {
				m.observed = observeGroup(g, named.Name, find(named.Name), find)
			} else {
				m.observed = observeMachine(g, named.Name, vms(named.Name))
			}
			w.setStatus(m)
			members = append(members, m)
		}
		w.members = append(w.members, members)
	}
	return all
}

// summarize sets the conditions of the group. h is the reason why not all members have the desired power state of the group
// yet, or nil.
func (w *walk) summarize(g *group, h *halt) {
	var absent, unsynced, unready []string
	for _, step := range w.members {
		for _, m := range step {
			switch {
			case m.observed.problem != nil:
				absent = append(absent, m.observed.problem.message)
			case !conditions.IsTrue(m.Conditions, vmv1alpha1.ConditionPowerStateSynced):
				unsynced = append(unsynced, m.Name)
			case !conditions.IsTrue(m.Conditions, vmv1alpha1.ConditionReady):
				unready = append(unready, m.Name)
			}
		}
	}
	reason, message := "", ""
	switch {
	case h != nil:
		reason, message = h.reason, h.message
	case len(unsynced) > 0:
		reason, message = vmv1alpha1.ReasonNotReady, fmt.Sprintf("not in the desired power state: %s", conditions.JoinLimited(unsynced, ", "))
		if w.target != "" {
			reason = vmv1alpha1.PowerTransitionReason(w.target)
		}
	}
	set(g, w.now, vmv1alpha1.ConditionPowerStateSynced, reason, message)
	switch {
	case len(absent) > 0:
		reason, message = vmv1alpha1.ReasonNotLinked, conditions.JoinLimited(absent, "; ")
	case reason != "":
	case len(unready) > 0:
		reason, message = vmv1alpha1.ReasonNotReady, fmt.Sprintf("not Ready: %s", conditions.JoinLimited(unready, ", "))
	}
	set(g, w.now, vmv1alpha1.ConditionReady, reason, message)
}
