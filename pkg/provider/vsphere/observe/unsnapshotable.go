// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// maxSnapshotDepth is how many snapshots may follow each other (VMware KB 1025279, "a
// maximum of 32 snapshots are supported in a chain").
const maxSnapshotDepth = 32

// Unsnapshotable is why vSphere refuses a snapshot of the VM, with its memory or to bring its
// guest to rest if asked for; empty if it does not. What it refuses is said by vSphere Virtual
// Machine Administration, Snapshot Limitations; of first class disks, which a snapshot keeps
// from being detached, by kubernetes-sigs/vsphere-csi-driver#478.
func Unsnapshotable(vm *mo.VirtualMachine, memory, quiesce bool) string {
	off := vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff
	for _, d := range vm.Config.Hardware.Device {
		if why := unsnapshotable(d, off, memory); why != "" {
			return why
		}
	}
	if quiesce && !off && (vm.Guest == nil || vm.Guest.ToolsRunningStatus != string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)) {
		return "VMware Tools does not run, which brings the guest to rest (spec.quiesce)"
	}
	depths := map[string]int{}
	for _, s := range Snapshots(vm) {
		depths[s.UniqueID] = depths[s.Parent] + 1
		if s.Current && depths[s.UniqueID] >= maxSnapshotDepth {
			return fmt.Sprintf("it runs on the last of %d snapshots that follow each other, which is as many as vSphere allows: remove some", depths[s.UniqueID])
		}
	}
	return ""
}

func unsnapshotable(device types.BaseVirtualDevice, off, memory bool) string {
	label := "device " + fmt.Sprint(device.GetVirtualDevice().Key)
	if info := device.GetVirtualDevice().DeviceInfo; info != nil {
		label = info.GetDescription().Label
	}
	switch d := device.(type) {
	case *types.VirtualDisk:
		switch mode := DiskMode(d.Backing); {
		case FirstClassID(d) != "":
			return fmt.Sprintf("%s is the disk of a claim, which could not be detached as long as there is a snapshot", label)
		case Shared(d.Backing):
			return fmt.Sprintf("%s is shared with other virtual machines", label)
		case physical(d.Backing):
			return fmt.Sprintf("%s is a raw device in physical compatibility mode", label)
		case !off && (mode == types.VirtualDiskModeIndependent_persistent || mode == types.VirtualDiskModeIndependent_nonpersistent):
			return fmt.Sprintf("%s is independent (%s): power the virtual machine off first", label, mode)
		}
	case types.BaseVirtualSCSIController:
		if sharing := d.GetVirtualSCSIController().SharedBus; sharing != "" && sharing != types.VirtualSCSISharingNoSharing {
			return fmt.Sprintf("%s shares its bus (%s)", label, sharing)
		}
	case *types.VirtualNVMEController:
		if sharing := d.SharedBus; sharing != "" && sharing != string(types.VirtualNVMEControllerSharingNoSharing) {
			return fmt.Sprintf("%s shares its bus (%s)", label, sharing)
		}
	case *types.VirtualPCIPassthrough:
		if _, vgpu := d.Backing.(*types.VirtualPCIPassthroughVmiopBackingInfo); !vgpu {
			return fmt.Sprintf("%s is a DirectPath I/O device", label)
		} else if memory && !off {
			return fmt.Sprintf("%s is a vGPU, of which no memory is kept: take the snapshot without memory", label)
		}
	}
	return ""
}

// DiskMode returns the mode of a disk, empty for a backing without one.
func DiskMode(b types.BaseVirtualDeviceBackingInfo) types.VirtualDiskMode {
	switch b := b.(type) {
	case *types.VirtualDiskFlatVer2BackingInfo:
		return types.VirtualDiskMode(b.DiskMode)
	case *types.VirtualDiskSeSparseBackingInfo:
		return types.VirtualDiskMode(b.DiskMode)
	case *types.VirtualDiskRawDiskMappingVer1BackingInfo:
		return types.VirtualDiskMode(b.DiskMode)
	}
	return ""
}

// physical is true for a raw device that the guest speaks to directly.
func physical(b types.BaseVirtualDeviceBackingInfo) bool {
	raw, ok := b.(*types.VirtualDiskRawDiskMappingVer1BackingInfo)
	return ok && raw.CompatibilityMode == string(types.VirtualDiskCompatibilityModePhysicalMode)
}
