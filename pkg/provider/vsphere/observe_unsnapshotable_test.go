// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

func TestUnsnapshotable_ReportsTheReason(t *testing.T) {
	disk := func(b types.BaseVirtualDeviceBackingInfo) *types.VirtualDisk {
		return &types.VirtualDisk{VirtualDevice: types.VirtualDevice{Key: 2000, Backing: b, DeviceInfo: &types.Description{Label: "Hard disk 1"}}}
	}
	claim := disk(&types.VirtualDiskFlatVer2BackingInfo{})
	claim.VDiskId = &types.ID{Id: "disk"}
	independent := disk(&types.VirtualDiskFlatVer2BackingInfo{DiskMode: string(types.VirtualDiskModeIndependent_persistent)})
	vgpu := &types.VirtualPCIPassthrough{VirtualDevice: types.VirtualDevice{Key: 13000, Backing: &types.VirtualPCIPassthroughVmiopBackingInfo{Vgpu: "grid"}}}
	chain := func(depth int) *types.VirtualMachineSnapshotInfo {
		var list []types.VirtualMachineSnapshotTree
		for i := depth; i > 0; i-- {
			list = []types.VirtualMachineSnapshotTree{{Snapshot: types.ManagedObjectReference{Value: string(rune('a' + i))}, ChildSnapshotList: list}}
		}
		return &types.VirtualMachineSnapshotInfo{RootSnapshotList: list, CurrentSnapshot: &types.ManagedObjectReference{Value: string(rune('a' + depth))}}
	}
	const on, off = types.VirtualMachinePowerStatePoweredOn, types.VirtualMachinePowerStatePoweredOff
	for name, tc := range map[string]struct {
		device          types.BaseVirtualDevice
		power           types.VirtualMachinePowerState
		memory, quiesce bool
		tools           bool
		tree            *types.VirtualMachineSnapshotInfo
		wantMessage     string
	}{
		"a regular disk":           {disk(&types.VirtualDiskFlatVer2BackingInfo{DiskMode: "persistent"}), on, true, false, false, nil, ""},
		"the disk of a claim":      {claim, off, false, false, false, nil, "Hard disk 1 is the disk of a claim"},
		"a shared disk":            {disk(&types.VirtualDiskFlatVer2BackingInfo{Sharing: string(types.VirtualDiskSharingSharingMultiWriter)}), off, false, false, false, nil, "is shared"},
		"a raw device, physical":   {disk(&types.VirtualDiskRawDiskMappingVer1BackingInfo{CompatibilityMode: "physicalMode"}), off, false, false, false, nil, "physical"},
		"a raw device, virtual":    {disk(&types.VirtualDiskRawDiskMappingVer1BackingInfo{CompatibilityMode: "virtualMode"}), on, false, false, false, nil, ""},
		"an independent disk, on":  {independent, on, false, false, false, nil, "independent"},
		"an independent disk, off": {independent, off, false, false, false, nil, ""},
		"a shared bus":             {&types.ParaVirtualSCSIController{VirtualSCSIController: types.VirtualSCSIController{SharedBus: types.VirtualSCSISharingPhysicalSharing}}, off, false, false, false, nil, "shares its bus"},
		"an unshared bus":          {&types.ParaVirtualSCSIController{VirtualSCSIController: types.VirtualSCSIController{SharedBus: types.VirtualSCSISharingNoSharing}}, off, false, false, false, nil, ""},
		"a shared NVMe bus":        {&types.VirtualNVMEController{SharedBus: string(types.VirtualNVMEControllerSharingPhysicalSharing)}, off, false, false, false, nil, "shares its bus"},
		"DirectPath":               {&types.VirtualPCIPassthrough{VirtualDevice: types.VirtualDevice{Key: 13000, Backing: &types.VirtualPCIPassthroughDynamicBackingInfo{}}}, off, false, false, false, nil, "device 13000 is a DirectPath"},
		"a vGPU with memory":       {vgpu, on, true, false, false, nil, "vGPU"},
		"a vGPU without memory":    {vgpu, on, false, false, false, nil, ""},
		"a vGPU, powered off":      {vgpu, off, true, false, false, nil, ""},
		"quiesced without Tools":   {vgpu, on, false, true, false, nil, "VMware Tools"},
		"quiesced with Tools":      {vgpu, on, false, true, true, nil, ""},
		"quiesced, powered off":    {vgpu, off, false, true, false, nil, ""},
		"the 32nd in a chain":      {vgpu, off, false, false, false, chain(31), ""},
		"the 33rd in a chain":      {vgpu, off, false, false, false, chain(32), "32 snapshots"},
	} {
		t.Run(name, func(t *testing.T) {
			vm := &mo.VirtualMachine{Config: &types.VirtualMachineConfigInfo{}, Snapshot: tc.tree, Guest: &types.GuestInfo{}}
			vm.Runtime.PowerState = tc.power
			vm.Config.Hardware.Device = []types.BaseVirtualDevice{tc.device}
			if tc.tools {
				vm.Guest.ToolsRunningStatus = string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
			}
			got := observe.SnapshotObstacle(vm, tc.memory, tc.quiesce)
			if (got == "") != (tc.wantMessage == "") || !strings.Contains(got, tc.wantMessage) {
				t.Errorf("%q, want a reason with %q", got, tc.wantMessage)
			}
		})
	}
}
