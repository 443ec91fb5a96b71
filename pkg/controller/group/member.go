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

// seen is a member as its object shows it.
type seen struct {
	uid string
	// powerState that it has, and own, which its spec sets.
	powerState, own vmv1alpha1.PowerState
	// follows is the power state that it inherits, by what it has taken note of.
	follows vmv1alpha1.PowerState
	// synced is true if it has that power state, or its own.
	synced bool
	// ready is its condition; nil if it has none.
	ready *metav1.Condition
	// why it is not linked; nil if it is.
	why *unlinked
}

// seeMachine is a virtual machine as a member of g.
func seeMachine(g *group, name string, vm *vmv1alpha1.VirtualMachine) seen {
	if vm == nil {
		return seen{why: missing(vmv1alpha1.MachineMemberKind, name)}
	}
	s := seen{uid: string(vm.UID), powerState: vm.Status.PowerState, own: vm.Spec.PowerState, why: elsewhere(g, vmv1alpha1.MachineMemberKind, name, vm.Spec.GroupName)}
	s.follows = vm.Status.InheritedPowerState
	created := conditions.Find(vm.Status.Conditions, vmv1alpha1.ConditionCreated)
	// One that vSphere does not have does not run.
	absent := created != nil && created.Status == metav1.ConditionFalse
	s.synced = vm.Status.PowerState == vm.DesiredPowerState(vm.Status.PowerState) ||
		absent && vm.DesiredPowerState(vm.Status.PowerState) != vmv1alpha1.PoweredOn
	s.ready = conditions.Find(vm.Status.Conditions, vmv1alpha1.ConditionReady)
	if vm.DeletionTimestamp != nil {
		s.ready = &metav1.Condition{Status: metav1.ConditionFalse, Reason: vmv1alpha1.ReasonDeleting}
	}
	return s
}

// seeGroup is another group as a member of g.
func seeGroup(g *group, name string, member *group, find groups) seen {
	if member == nil {
		return seen{why: missing(vmv1alpha1.GroupMemberKind, name)}
	}
	s := seen{
		uid: string(member.UID), powerState: member.Status.PowerState, own: member.Spec.PowerState, follows: member.Status.PowerState,
		why: elsewhere(g, vmv1alpha1.GroupMemberKind, name, member.Spec.GroupName),
	}
	if s.why == nil {
		s.why = misplaced(member, find)
	}
	current := member.Status.ObservedGeneration == member.Generation
	s.synced = current && conditions.IsTrue(member.Status.Conditions, vmv1alpha1.ConditionPowerStateSynced)
	if s.ready = conditions.Find(member.Status.Conditions, vmv1alpha1.ConditionReady); !current {
		s.ready = nil
	}
	return s
}

func missing(kind, name string) *unlinked {
	return &unlinked{vmv1alpha1.ReasonNotFound, fmt.Sprintf("%s %q does not exist", kind, name)}
}

// elsewhere says that a member names another group than g, or none.
func elsewhere(g *group, kind, name, names string) *unlinked {
	switch names {
	case g.Name:
		return nil
	case "":
		return &unlinked{vmv1alpha1.ReasonNotLinked, fmt.Sprintf("%s %q names no group: its spec.groupName has to be %s", kind, name, g.Name)}
	}
	return &unlinked{vmv1alpha1.ReasonNotLinked, fmt.Sprintf("%s %q is in VirtualMachineGroup %q by its spec.groupName", kind, name, names)}
}

// member is one of a group: what is told of it, and what is seen.
type member struct {
	*vmv1alpha1.VirtualMachineGroupMemberStatus
	seen seen
}

// show writes what is seen of m now into what is told of it.
func (w *walk) show(m member) {
	s := &m.seen
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
	if s.why != nil {
		meta.RemoveStatusCondition(&m.Conditions, vmv1alpha1.ConditionPowerStateSynced)
		meta.RemoveStatusCondition(&m.Conditions, vmv1alpha1.ConditionReady)
		set(vmv1alpha1.ConditionGroupLinked, false, s.why.reason, s.why.message)
		return
	}
	set(vmv1alpha1.ConditionGroupLinked, true, vmv1alpha1.ReasonSucceeded, "")
	follows := s.own != "" || s.follows == w.target && m.DesiredPowerState == w.target
	switch {
	case follows && s.synced:
		set(vmv1alpha1.ConditionPowerStateSynced, true, vmv1alpha1.ReasonSucceeded, "")
	case s.own == "" && m.DesiredPowerState != w.target:
		set(vmv1alpha1.ConditionPowerStateSynced, false, vmv1alpha1.ReasonPending, "")
	default:
		set(vmv1alpha1.ConditionPowerStateSynced, false, vmv1alpha1.TransitionTo(cmp.Or(s.own, w.target)), "")
	}
	if s.ready == nil {
		meta.RemoveStatusCondition(&m.Conditions, vmv1alpha1.ConditionReady)
		return
	}
	set(vmv1alpha1.ConditionReady, s.ready.Status == metav1.ConditionTrue, s.ready.Reason, "")
}

// passes is true for a member for which the next step need not wait, with the time since
// when; it is zero for one that is not there.
func (w *walk) passes(m member) (ok bool, since time.Time) {
	if m.seen.why != nil {
		return w.target != vmv1alpha1.PoweredOn, since
	}
	wanted := []string{vmv1alpha1.ConditionPowerStateSynced}
	if w.target == vmv1alpha1.PoweredOn {
		wanted = append(wanted, vmv1alpha1.ConditionReady)
	}
	for _, kind := range wanted {
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
