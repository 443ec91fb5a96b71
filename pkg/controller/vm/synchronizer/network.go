// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package synchronizer

import (
	"context"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// Network gives the default interface to a virtual machine that has none and
// whose network is not disabled. The creation strategy does the same, so only
// objects that came another way are changed. Where a preference may say that there is
// none, the spec stays as it is, and the effective spec has the interface or not.
type Network struct{}

// Sync implements Synchronizer.
func (Network) Sync(
	_ context.Context, vm *vmv1alpha1.VirtualMachine, _ *vmv1alpha1.VirtualMachineInstance,
) (*vmv1alpha1.VirtualMachine, error) {
	if n := vm.Spec.Network; vm.DeletionTimestamp != nil || vm.Spec.Preference != nil || n != nil && (n.Disabled || len(n.Interfaces) > 0) {
		return vm, nil
	}
	if vm.Spec.Network == nil {
		vm.Spec.Network = &vmv1alpha1.VirtualMachineNetworkSpec{}
	}
	vm.Spec.Network.Interfaces = []vmv1alpha1.VirtualMachineNetworkInterface{apply.DefaultInterface()}
	return vm, nil
}
