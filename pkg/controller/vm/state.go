// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"slices"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
)

// desiredPowerState is the power state that vm has to have, as far as its status tells.
func desiredPowerState(vm *vmv1alpha1.VirtualMachine) vmv1alpha1.PowerState {
	return vm.DesiredPowerState(vm.Status.PowerState)
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

func waitsForIP(vm *vmv1alpha1.VirtualMachine) bool {
	return vm.Status.PowerState == vmv1alpha1.PoweredOn && wantsNetwork(vm) && !step.HasIP(vm)
}

func waitsForDiskPromotion(vm *vmv1alpha1.VirtualMachine) bool {
	return vm.Spec.PromoteDisksMode != vmv1alpha1.PromoteDisksModeDisabled &&
		!isTrue(vm, vmv1alpha1.ConditionDiskPromotionSynced)
}

// hasFinalizer says whether vm carries our finalizer.
func hasFinalizer(vm *vmv1alpha1.VirtualMachine) bool {
	return slices.Contains(vm.Finalizers, vmv1alpha1.VirtualMachineFinalizer)
}

// holds is true for a condition that is True or that the virtual machine does not
// have because nothing of it asks for one.
func holds(vm *vmv1alpha1.VirtualMachine, conditionType string) bool {
	return findCondition(vm, conditionType) == nil || isTrue(vm, conditionType)
}
