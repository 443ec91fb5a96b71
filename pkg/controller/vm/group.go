// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	vmlisters "github.com/slipway-dev/slipway/pkg/generated/listers/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// indexByGroup has the virtual machines that name a group.
const indexByGroup = "group"

func byGroup(vm *vmv1alpha1.VirtualMachine) []string {
	if vm.Spec.GroupName == "" {
		return nil
	}
	return []string{vm.Namespace + "/" + vm.Spec.GroupName}
}

// membership is what a virtual machine is in the group that its spec names.
type membership struct {
	// reason and message say why it is not linked; reason is empty if it is.
	reason, message string
	// inherits is the power state that it has by the group; empty for none.
	inherits vmv1alpha1.PowerState
}

// memberOf is what vm is in the group that its spec names; nil for one that does not exist.
// A power state of its own goes before that of the group.
func memberOf(vm *vmv1alpha1.VirtualMachine, group *vmv1alpha1.VirtualMachineGroup) membership {
	name := vm.Spec.GroupName
	switch {
	case group == nil:
		return membership{reason: vmv1alpha1.ReasonNotFound, message: fmt.Sprintf("VirtualMachineGroup %q does not exist", name)}
	case !group.Names(vmv1alpha1.MachineMemberKind, vm.Name):
		return membership{reason: vmv1alpha1.ReasonNotLinked, message: fmt.Sprintf("spec.bootOrder of VirtualMachineGroup %q does not name this virtual machine", name)}
	}
	m := group.Member(vmv1alpha1.MachineMemberKind, vm.Name)
	if m == nil || vm.Spec.PowerState != "" {
		return membership{}
	}
	return membership{inherits: m.DesiredPowerState}
}

// joinGroup shows whether the virtual machine is linked to the group that its spec names,
// and takes over the power state that the group asks it for.
func (r *reconciler) joinGroup(p *pass) {
	if p.VM.Spec.GroupName == "" {
		meta.RemoveStatusCondition(&p.VM.Status.Conditions, vmv1alpha1.ConditionGroupLinked)
		p.VM.Status.InheritedPowerState = ""
		return
	}
	m := memberOf(p.VM, r.group(p.VM))
	p.VM.Status.InheritedPowerState = m.inherits
	if m.reason != "" {
		setFalse(p.VM, p.Now, vmv1alpha1.ConditionGroupLinked, m.reason, m.message)
		return
	}
	setTrue(p.VM, p.Now, vmv1alpha1.ConditionGroupLinked)
}

// group is the one that the spec of vm names, by what the cache has: one that it lacks comes
// with an event. Until then vm stays as it is.
func (r *reconciler) group(vm *vmv1alpha1.VirtualMachine) *vmv1alpha1.VirtualMachineGroup {
	group, err := r.groups.VirtualMachineGroups(vm.Namespace).Get(vm.Spec.GroupName)
	if err != nil {
		return nil
	}
	return group
}

// placement is where a virtual machine that is in no zone goes in relation to the others of
// its group; nil if that is all the same.
func (r *reconciler) placement(vm *vmv1alpha1.VirtualMachine) *provider.Placement {
	if vm.Spec.GroupName == "" || provider.ZoneOf(vm) != "" || vm.AsksForZone() != "" {
		return nil
	}
	group := r.group(vm)
	if group == nil || group.Spec.Placement == nil || !group.Names(vmv1alpha1.MachineMemberKind, vm.Name) {
		return nil
	}
	placement := &provider.Placement{Policy: group.Spec.Placement.Policy, Group: group.Name, Others: map[types.NamespacedName]string{}}
	for _, member := range group.Members() {
		if !member.Is(vmv1alpha1.MachineMemberKind, member.Name) || member.Name == vm.Name {
			continue
		}
		key := types.NamespacedName{Namespace: vm.Namespace, Name: member.Name}
		if other, err := r.vms.Get(key); err == nil && other != nil && other.Spec.GroupName == group.Name {
			placement.Others[key] = provider.ZoneOf(other)
		}
	}
	return placement
}

// groups handles the events of groups: those of their virtual machines are queued for which
// something is another now.
func (e *enqueuer) groups(vms cache.Indexer, groups vmlisters.VirtualMachineGroupLister) cache.ResourceEventHandler {
	wake := func(key string, old, group *vmv1alpha1.VirtualMachineGroup) {
		named, err := vms.ByIndex(indexByGroup, key)
		if err != nil {
			return // only for an index that does not exist
		}
		if group != nil && (old == nil || !vmrecord.SameGroup(old, group)) {
			e.keepers(groups, group.Namespace, group.Name)
		}
		for _, obj := range named {
			if vm := obj.(*vmv1alpha1.VirtualMachine); memberOf(vm, old) != memberOf(vm, group) {
				e.Generic(controller.KeyOf(vm))
			}
		}
	}
	keyOf := func(group *vmv1alpha1.VirtualMachineGroup) string { return group.Namespace + "/" + group.Name }
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			if group := obj.(*vmv1alpha1.VirtualMachineGroup); !isInInitialList {
				wake(keyOf(group), nil, group)
			}
		},
		UpdateFunc: func(old, obj any) {
			group := obj.(*vmv1alpha1.VirtualMachineGroup)
			wake(keyOf(group), old.(*vmv1alpha1.VirtualMachineGroup), group)
		},
		DeleteFunc: func(obj any) {
			if group, ok := controller.WithoutTombstone[*vmv1alpha1.VirtualMachineGroup](obj); ok {
				wake(keyOf(group), group, nil)
			}
		},
	}
}
