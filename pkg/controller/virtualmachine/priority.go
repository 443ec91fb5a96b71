// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"fmt"
	"strconv"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Priorities of a reconcile request by the state of the virtual machine, higher
// first. The values are those of VM Operator's documentation.
const (
	// PriorityCreating is for a virtual machine whose Created condition is not True.
	PriorityCreating = 100
	// PriorityPowerStateChange is for one whose power state is not the desired one.
	PriorityPowerStateChange = 99
	// PriorityDeleting is for one that is being deleted.
	PriorityDeleting = 98
	// PriorityWaitingForIP is for one that runs with a network and has no address.
	PriorityWaitingForIP = 97
	// PriorityWaitingForDiskPromo is for one whose disks are still to be promoted.
	PriorityWaitingForDiskPromo = 96
)

// Priority returns the priority of reconciling obj, or fallback when nothing
// about obj asks for another. The returned priority holds in any case; the error
// only says that the override annotation was not an integer and was ignored.
func Priority(obj any, fallback int) (int, error) {
	vm, ok := obj.(*vmv1alpha1.VirtualMachine)
	if !ok {
		return fallback, nil
	}
	var invalid error
	if text, ok := vm.Annotations[vmv1alpha1.AnnotationReconcilePriority]; ok {
		override, err := strconv.Atoi(text)
		if err == nil {
			return override, nil
		}
		invalid = fmt.Errorf("annotation %s is %q, which is not an integer; it is ignored",
			vmv1alpha1.AnnotationReconcilePriority, text)
	}
	return priorityOfState(vm, fallback), invalid
}

// priorityOfState is the cascade over the state; the first match wins.
func priorityOfState(vm *vmv1alpha1.VirtualMachine, fallback int) int {
	switch {
	case vm.DeletionTimestamp != nil:
		return PriorityDeleting
	case !isTrue(vm, vmv1alpha1.ConditionCreated):
		return PriorityCreating
	case desiredPowerState(vm) != vm.Status.PowerState:
		return PriorityPowerStateChange
	case waitsForIP(vm):
		return PriorityWaitingForIP
	case waitsForDiskPromotion(vm):
		return PriorityWaitingForDiskPromo
	}
	return fallback
}

// desiredPowerState is spec.powerState with its default.
func desiredPowerState(vm *vmv1alpha1.VirtualMachine) vmv1alpha1.PowerState {
	if vm.Spec.PowerState == "" {
		return vmv1alpha1.PoweredOn
	}
	return vm.Spec.PowerState
}

// wantsNetwork is false when the network is disabled: no network section means the
// default interface. Where a preference decides whether there is one, the adapters tell.
func wantsNetwork(vm *vmv1alpha1.VirtualMachine) bool {
	n := vm.Spec.Network
	if vm.Spec.Preference == nil || n != nil && (n.Disabled || len(n.Interfaces) > 0) {
		return n == nil || !n.Disabled
	}
	return vm.Status.Network != nil && len(vm.Status.Network.Interfaces) > 0
}

func hasIP(vm *vmv1alpha1.VirtualMachine) bool {
	n := vm.Status.Network
	return n != nil && (n.PrimaryIP4 != "" || n.PrimaryIP6 != "")
}

func waitsForIP(vm *vmv1alpha1.VirtualMachine) bool {
	return vm.Status.PowerState == vmv1alpha1.PoweredOn && wantsNetwork(vm) && !hasIP(vm)
}

func waitsForDiskPromotion(vm *vmv1alpha1.VirtualMachine) bool {
	return vm.Spec.PromoteDisksMode != vmv1alpha1.PromoteDisksModeDisabled &&
		!isTrue(vm, vmv1alpha1.ConditionDiskPromotionSynced)
}
