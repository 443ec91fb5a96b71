// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// maxSnapshotDepth is the maximum length of a snapshot chain (VMware KB 1025279, "a maximum of 32 snapshots are
// supported in a chain").
const maxSnapshotDepth = 32

// SnapshotObstacle returns why vSphere refuses a snapshot of the VM, with memory or quiescing if requested. It
// returns an empty string if vSphere supports the snapshot. The limitations are documented in vSphere Virtual
// Machine Administration, Snapshot Limitations. For first class disks, which cannot be detached while there is a
// snapshot, see kubernetes-sigs/vsphere-csi-driver#478.
func SnapshotObstacle(vm *mo.VirtualMachine, memory, quiesce bool) string {
	off := vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff
	for _, d := range vm.Config.Hardware.Device {
		if why := deviceObstacle(d, off, memory); why != "" {
			return why
		}
	}
	if quiesce && !off && (vm.Guest == nil || vm.Guest.ToolsRunningStatus != string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)) {
		return "spec.quiesce requires VMware Tools, which is not running"
	}
	depths := map[string]int{}
	for _, s := range Snapshots(vm) {
		depths[s.UniqueID] = depths[s.Parent] + 1
		if s.Current && depths[s.UniqueID] >= maxSnapshotDepth {
			return fmt.Sprintf("the snapshot chain already has %d snapshots, the maximum in vSphere: delete some of them", depths[s.UniqueID])
		}
	}
	return ""
}

func deviceObstacle(device types.BaseVirtualDevice, off, memory bool) string {
	label := "device " + fmt.Sprint(device.GetVirtualDevice().Key)
	if info := device.GetVirtualDevice().DeviceInfo; info != nil {
		label = info.GetDescription().Label
	}
	switch d := device.(type) {
	case *types.VirtualDisk:
		switch mode := DiskMode(d.Backing); {
		case FirstClassID(d) != "":
			return fmt.Sprintf("%s is the disk of a claim, which cannot be detached while there is a snapshot", label)
		case Shared(d.Backing):
			return fmt.Sprintf("%s is shared with other virtual machines", label)
		case isPhysicalRDM(d.Backing):
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
			return fmt.Sprintf("%s is a vGPU, whose memory cannot be saved: create the snapshot without memory", label)
		}
	}
	return ""
}

// DiskMode returns a disk's mode. It returns an empty string for a backing without a mode.
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

// isPhysicalRDM reports whether the guest accesses a raw device directly.
func isPhysicalRDM(b types.BaseVirtualDeviceBackingInfo) bool {
	raw, ok := b.(*types.VirtualDiskRawDiskMappingVer1BackingInfo)
	return ok && raw.CompatibilityMode == string(types.VirtualDiskCompatibilityModePhysicalMode)
}
