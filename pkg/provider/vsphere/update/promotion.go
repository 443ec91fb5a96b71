// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// promotion says whether a disk of the VM still depends on that of another one.
// The disks of a VM with snapshots depend on their own, which is none of this.
func promotion(in *Input, st *vmv1alpha1.VirtualMachineStatus) {
	switch {
	case in.VM.Spec.PromoteDisksMode == vmv1alpha1.PromoteDisksModeDisabled:
		in.setFalse(st, vmv1alpha1.ConditionDiskPromotionSynced, vmv1alpha1.ReasonDisabled, "")
	case linked(in.Observed):
		in.setFalse(st, vmv1alpha1.ConditionDiskPromotionSynced, vmv1alpha1.ReasonNotReady, "a disk depends on that of another virtual machine")
	default:
		in.setTrue(st, vmv1alpha1.ConditionDiskPromotionSynced)
	}
}

// linked is true for a VM without snapshots one of whose disks has a parent.
func linked(vm *mo.VirtualMachine) bool {
	if vm.Config == nil || vm.Snapshot != nil {
		return false
	}
	for _, device := range vm.Config.Hardware.Device {
		disk, ok := device.(*types.VirtualDisk)
		if !ok {
			continue
		}
		switch backing := disk.Backing.(type) {
		case *types.VirtualDiskFlatVer2BackingInfo:
			if backing.Parent != nil {
				return true
			}
		case *types.VirtualDiskSeSparseBackingInfo:
			if backing.Parent != nil {
				return true
			}
		}
	}
	return false
}
