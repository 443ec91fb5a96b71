// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package group relates a virtual machine to the group that its spec names.
package group

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
	vmlisters "github.com/slipway-dev/slipway/pkg/generated/listers/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// Reconciler reads groups and their virtual machines from caches. If the caches lack one, its event queues the virtual
// machine again.
type Reconciler struct {
	Groups vmlisters.VirtualMachineGroupLister
	VMs    controller.Store[*vmv1alpha1.VirtualMachine]
}

// Membership is the membership of a virtual machine in the group of its spec.
type Membership struct {
	// reason and message describe why the virtual machine is not linked to the group. reason is empty if it is linked.
	reason, message string
	// inherits is the power state that the virtual machine inherits from the group. It is empty if there is none.
	inherits vmv1alpha1.PowerState
}

// MemberOf returns the membership of vm in the group of its spec. group is nil if it does not exist. A power state in
// the spec of vm takes precedence over the group's.
func MemberOf(vm *vmv1alpha1.VirtualMachine, group *vmv1alpha1.VirtualMachineGroup) Membership {
	name := vm.Spec.GroupName
	switch {
	case group == nil:
		return Membership{reason: vmv1alpha1.ReasonNotFound, message: fmt.Sprintf("VirtualMachineGroup %q does not exist", name)}
	case !group.HasMember(vmv1alpha1.MachineMemberKind, vm.Name):
		return Membership{reason: vmv1alpha1.ReasonNotLinked, message: fmt.Sprintf("spec.bootOrder of VirtualMachineGroup %q does not list this virtual machine", name)}
	}
	m := group.MemberStatus(vmv1alpha1.MachineMemberKind, vm.Name)
	if m == nil || vm.Spec.PowerState != "" {
		return Membership{}
	}
	return Membership{inherits: m.DesiredPowerState}
}

// Reconcile reports whether the virtual machine is linked to the group of its spec. It copies the power state that the
// group requests to the status.
func (r *Reconciler) Reconcile(_ context.Context, s step.State) (report step.Report, _ error) {
	if s.VM.Spec.GroupName == "" {
		report.Remove(vmv1alpha1.ConditionGroupLinked)
		s.VM.Status.InheritedPowerState = ""
		return report, nil
	}
	m := MemberOf(s.VM, r.group(s.VM.Namespace, s.VM.Spec.GroupName))
	s.VM.Status.InheritedPowerState = m.inherits
	if m.reason != "" {
		report.False(vmv1alpha1.ConditionGroupLinked, m.reason, m.message)
	} else {
		report.True(vmv1alpha1.ConditionGroupLinked)
	}
	return report, nil
}

// group returns a group, or nil if the cache lacks it.
func (r *Reconciler) group(namespace, name string) *vmv1alpha1.VirtualMachineGroup {
	group, err := r.Groups.VirtualMachineGroups(namespace).Get(name)
	if err != nil {
		return nil
	}
	return group
}

// Placement returns the group's placement of a virtual machine that has no zone, with the zones of the other members.
// It returns nil if the group does not restrict the zone.
func (r *Reconciler) Placement(vm *vmv1alpha1.VirtualMachine) *provider.Placement {
	if vm.Spec.GroupName == "" || provider.ZoneOf(vm) != "" || vm.RequestedZone() != "" {
		return nil
	}
	group := r.group(vm.Namespace, vm.Spec.GroupName)
	if group == nil || group.Spec.Placement == nil || !group.HasMember(vmv1alpha1.MachineMemberKind, vm.Name) {
		return nil
	}
	placement := &provider.Placement{Policy: group.Spec.Placement.Policy, Group: group.Name, Others: map[types.NamespacedName]string{}}
	for _, member := range group.Members() {
		if !member.Matches(vmv1alpha1.MachineMemberKind, member.Name) || member.Name == vm.Name {
			continue
		}
		key := types.NamespacedName{Namespace: vm.Namespace, Name: member.Name}
		if other, err := r.VMs.Get(key); err == nil && other != nil && other.Spec.GroupName == group.Name {
			placement.Others[key] = provider.ZoneOf(other)
		}
	}
	return placement
}

// Namespace returns functions that find groups and virtual machines in a namespace. They are used to determine which
// virtual machine stores which group.
func (r *Reconciler) Namespace(namespace string) vmrecord.Namespace {
	return vmrecord.Namespace{
		Group: func(name string) *vmv1alpha1.VirtualMachineGroup { return r.group(namespace, name) },
		Machine: func(name string) *vmv1alpha1.VirtualMachine {
			vm, err := r.VMs.Get(types.NamespacedName{Namespace: namespace, Name: name})
			if err != nil {
				return nil
			}
			return vm
		},
	}
}
