// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "cmp"

// DesiredPowerState returns the desired power state of the virtual machine. A group member without its own power state
// inherits the state of the group. If the group has none, the observed state is returned, or PoweredOff before the VM
// is created. A group that is Suspended does not change a member that is not powered on.
func (vm *VirtualMachine) DesiredPowerState(observed PowerState) PowerState {
	switch inherited := vm.Status.InheritedPowerState; {
	case vm.Spec.PowerState != "":
		return vm.Spec.PowerState
	case vm.Spec.GroupName == "":
		return PoweredOn
	case inherited == "", inherited == Suspended && observed != PoweredOn:
		return cmp.Or(observed, PoweredOff)
	default:
		return inherited
	}
}

// PowerTransitionReason returns the condition reason for a VM that does not have the power state yet.
func PowerTransitionReason(state PowerState) string {
	switch state {
	case PoweredOff:
		return ReasonPoweringOff
	case Suspended:
		return ReasonSuspending
	default:
		return ReasonPoweringOn
	}
}
