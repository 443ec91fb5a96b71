// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package synchronizer

import (
	"context"
	"fmt"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// Firmware gives a BIOS UUID to a virtual machine that has none. The UID of the
// object decides it, so that a repeated pass gives the same one. The creation strategy
// does the same, so only objects that came another way are changed.
type Firmware struct{}

// Sync implements Synchronizer.
func (Firmware) Sync(
	_ context.Context, vm *vmv1alpha1.VirtualMachine, _ *vmv1alpha1.VirtualMachineInstance,
) (*vmv1alpha1.VirtualMachine, error) {
	if vm.DeletionTimestamp != nil || vm.Spec.Firmware != nil && vm.Spec.Firmware.UUID != "" {
		return vm, nil
	}
	if vm.UID == "" {
		return vm, fmt.Errorf("choosing the BIOS UUID of virtual machine %s/%s: it has no UID", vm.Namespace, vm.Name)
	}
	if vm.Spec.Firmware == nil {
		vm.Spec.Firmware = &vmv1alpha1.VirtualMachineFirmware{}
	}
	vm.Spec.Firmware.UUID = apply.FirmwareUUID(vm.UID)
	return vm, nil
}
