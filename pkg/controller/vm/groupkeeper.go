// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	vmlisters "github.com/slipway-dev/slipway/pkg/generated/listers/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// namespace finds groups and virtual machines of a namespace, to tell which virtual machine
// keeps which group.
func (r *reconciler) namespace(name string) vmrecord.Namespace {
	return namespaceOf(name, r.groups, r.vms)
}

// namespaceOf finds by what the caches have: what they lack comes with an event.
func namespaceOf(namespace string, groups vmlisters.VirtualMachineGroupLister, vms controller.Store[*vmv1alpha1.VirtualMachine]) vmrecord.Namespace {
	return vmrecord.Namespace{
		Group: func(name string) *vmv1alpha1.VirtualMachineGroup {
			group, err := groups.VirtualMachineGroups(namespace).Get(name)
			if err != nil {
				return nil
			}
			return group
		},
		Machine: func(name string) *vmv1alpha1.VirtualMachine {
			vm, err := vms.Get(types.NamespacedName{Namespace: namespace, Name: name})
			if err != nil {
				return nil
			}
			return vm
		},
	}
}

// keepers queues the virtual machines that keep a group and those that it is in.
func (e *enqueuer) keepers(groups vmlisters.VirtualMachineGroupLister, namespace, group string) {
	for _, name := range namespaceOf(namespace, groups, e.Objects).Keepers(group) {
		e.Generic(types.NamespacedName{Namespace: namespace, Name: name})
	}
}

// members handles the events of virtual machines that come into groups and leave them: another
// one keeps the group then.
func (e *enqueuer) members(groups vmlisters.VirtualMachineGroupLister) cache.ResourceEventHandler {
	news := func(vm *vmv1alpha1.VirtualMachine) {
		if vm.Spec.GroupName != "" {
			e.keepers(groups, vm.Namespace, vm.Spec.GroupName)
		}
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			if !isInInitialList {
				news(obj.(*vmv1alpha1.VirtualMachine))
			}
		},
		UpdateFunc: func(oldObj, obj any) {
			old, vm := oldObj.(*vmv1alpha1.VirtualMachine), obj.(*vmv1alpha1.VirtualMachine)
			if old.Spec.GroupName != vm.Spec.GroupName {
				news(old)
				news(vm)
			}
		},
		DeleteFunc: func(obj any) {
			if vm, ok := controller.WithoutTombstone[*vmv1alpha1.VirtualMachine](obj); ok {
				news(vm)
			}
		},
	}
}
