// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"fmt"
	"strconv"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Priorities of a reconcile by the state of the virtual machine, highest first. The values are those in VM Operator's
// documentation.
const (
	// PriorityCreating is for a virtual machine whose Created condition is not True.
	PriorityCreating = 100
	// PriorityPowerStateChange is for a virtual machine whose power state is not the desired one.
	PriorityPowerStateChange = 99
	// PriorityDeleting is for a virtual machine that is being deleted.
	PriorityDeleting = 98
	// PriorityWaitingForIP is for a virtual machine that runs with a network and has no address.
	PriorityWaitingForIP = 97
	// PriorityWaitingForDiskPromo is for a virtual machine whose disks must still be promoted.
	PriorityWaitingForDiskPromo = 96
)

// Priority returns the priority of reconciling obj, or fallback if the state of obj needs no other priority. The
// priority is valid even if there is an error. The error means that the override annotation is not an integer and was
// ignored.
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

// priorityOfState returns the priority of the first state that matches.
func priorityOfState(vm *vmv1alpha1.VirtualMachine, fallback int) int {
	switch {
	case vm.DeletionTimestamp != nil:
		return PriorityDeleting
	case !isTrue(vm, vmv1alpha1.ConditionCreated):
		return PriorityCreating
	case vm.DesiredPowerState(vm.Status.PowerState) != vm.Status.PowerState:
		return PriorityPowerStateChange
	case waitsForIP(vm):
		return PriorityWaitingForIP
	case vm.Spec.PromoteDisksMode != vmv1alpha1.PromoteDisksModeDisabled && !isTrue(vm, vmv1alpha1.ConditionDiskPromotionSynced):
		return PriorityWaitingForDiskPromo
	}
	return fallback
}
