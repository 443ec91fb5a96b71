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

// observedMember is the observed state of a member.
type observedMember struct {
	uid string
	// powerState is the observed power state; own is spec.powerState of the member.
	powerState, own vmv1alpha1.PowerState
	// inherited is the desired power state of the group as the member has recorded it.
	inherited vmv1alpha1.PowerState
	// synced is true if the member has the inherited power state, or its own if that is set.
	synced bool
	// ready is its condition Ready, or nil.
	ready *metav1.Condition
	// problem is why the member is not linked, or nil.
	problem *linkProblem
}

// observeMachine returns the observed state of a VM as a member of g.
func observeMachine(g *group, name string, vm *vmv1alpha1.VirtualMachine) observedMember {
	if vm == nil {
		return observedMember{problem: notFound(vmv1alpha1.MachineMemberKind, name)}
	}
	s := observedMember{uid: string(vm.UID), powerState: vm.Status.PowerState, own: vm.Spec.PowerState, problem: groupNameProblem(g, vmv1alpha1.MachineMemberKind, name, vm.Spec.GroupName)}
	s.inherited = vm.Status.InheritedPowerState
	created := conditions.Find(vm.Status.Conditions, vmv1alpha1.ConditionCreated)
	// A VM that does not exist in vSphere is not running.
	absent := created != nil && created.Status == metav1.ConditionFalse
	s.synced = vm.Status.PowerState == vm.DesiredPowerState(vm.Status.PowerState) ||
		absent && vm.DesiredPowerState(vm.Status.PowerState) != vmv1alpha1.PoweredOn
	s.ready = conditions.Find(vm.Status.Conditions, vmv1alpha1.ConditionReady)
	if vm.DeletionTimestamp != nil {
		s.ready = &metav1.Condition{Status: metav1.ConditionFalse, Reason: vmv1alpha1.ReasonDeleting}
	}
	return s
}

// observeGroup returns the observed state of another group as a member of g.
func observeGroup(g *group, name string, member *group, find groups) observedMember {
	if member == nil {
		return observedMember{problem: notFound(vmv1alpha1.GroupMemberKind, name)}
	}
	s := observedMember{
		uid: string(member.UID), powerState: member.Status.PowerState, own: member.Spec.PowerState, inherited: member.Status.PowerState,
		problem: groupNameProblem(g, vmv1alpha1.GroupMemberKind, name, member.Spec.GroupName),
	}
	if s.problem == nil {
		s.problem = nestingProblem(member, find)
	}
	current := member.Status.ObservedGeneration == member.Generation
	s.synced = current && conditions.IsTrue(member.Status.Conditions, vmv1alpha1.ConditionPowerStateSynced)
	if s.ready = conditions.Find(member.Status.Conditions, vmv1alpha1.ConditionReady); !current {
		s.ready = nil
	}
	return s
}

func notFound(kind, name string) *linkProblem {
	return &linkProblem{vmv1alpha1.ReasonNotFound, fmt.Sprintf("%s %q does not exist", kind, name)}
}

// groupNameProblem returns a problem if spec.groupName of a member is not g.
func groupNameProblem(g *group, kind, name, names string) *linkProblem {
	switch names {
	case g.Name:
		return nil
	case "":
		return &linkProblem{vmv1alpha1.ReasonNotLinked, fmt.Sprintf("spec.groupName of %s %q is empty, and must be %s", kind, name, g.Name)}
	}
	return &linkProblem{vmv1alpha1.ReasonNotLinked, fmt.Sprintf("spec.groupName of %s %q is %s", kind, name, names)}
}

// member is a member of a group: its status in the group and its observed state.
type member struct {
	*vmv1alpha1.VirtualMachineGroupMemberStatus
	observed observedMember
}

// setStatus writes the observed state of m into its status.
func (w *walk) setStatus(m member) {
	s := &m.observed
	if m.UID != s.uid {
		m.UID, m.Conditions = s.uid, nil
	}
	m.PowerState = s.powerState
	set := func(kind string, ok bool, reason, message string) {
		status := metav1.ConditionTrue
		if !ok {
			status = metav1.ConditionFalse
		}
		conditions.Set(&m.Conditions, w.now, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: w.generation})
	}
	if s.problem != nil {
		meta.RemoveStatusCondition(&m.Conditions, vmv1alpha1.ConditionPowerStateSynced)
		meta.RemoveStatusCondition(&m.Conditions, vmv1alpha1.ConditionReady)
		set(vmv1alpha1.ConditionGroupLinked, false, s.problem.reason, s.problem.message)
		return
	}
	set(vmv1alpha1.ConditionGroupLinked, true, vmv1alpha1.ReasonSucceeded, "")
	follows := s.own != "" || s.inherited == w.target && m.DesiredPowerState == w.target
	switch {
	case follows && s.synced:
		set(vmv1alpha1.ConditionPowerStateSynced, true, vmv1alpha1.ReasonSucceeded, "")
	case s.own == "" && m.DesiredPowerState != w.target:
		set(vmv1alpha1.ConditionPowerStateSynced, false, vmv1alpha1.ReasonPending, "")
	default:
		set(vmv1alpha1.ConditionPowerStateSynced, false, vmv1alpha1.PowerTransitionReason(cmp.Or(s.own, w.target)), "")
	}
	if s.ready == nil {
		meta.RemoveStatusCondition(&m.Conditions, vmv1alpha1.ConditionReady)
		return
	}
	set(vmv1alpha1.ConditionReady, s.ready.Status == metav1.ConditionTrue, s.ready.Reason, "")
}

// isDone reports whether the next step need not wait for a member, and since when. The time is zero for a member that does not
// exist.
func (w *walk) isDone(m member) (ok bool, since time.Time) {
	if m.observed.problem != nil {
		return w.target != vmv1alpha1.PoweredOn, since
	}
	required := []string{vmv1alpha1.ConditionPowerStateSynced}
	if w.target == vmv1alpha1.PoweredOn {
		required = append(required, vmv1alpha1.ConditionReady)
	}
	for _, kind := range required {
		c := conditions.Find(m.Conditions, kind)
		if c == nil || c.Status != metav1.ConditionTrue {
			return false, since
		}
		if c.LastTransitionTime.After(since) {
			since = c.LastTransitionTime.Time
		}
	}
	return true, since
}
