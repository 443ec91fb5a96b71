// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "cmp"

// DesiredPowerState is the power state that the virtual machine has to have: that of its
// spec, or for a member of a group that leaves it unset that of the group. One that nobody
// asks for any power state of stays as it is, which is observed, and so does one that is off
// when its group is suspended; before it is made it is powered off.
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

// TransitionTo is the reason of what is not in a power state yet.
func TransitionTo(state PowerState) string {
	switch state {
	case PoweredOff:
		return ReasonPoweringOff
	case Suspended:
		return ReasonSuspending
	default:
		return ReasonPoweringOn
	}
}
