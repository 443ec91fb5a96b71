// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

func TestVolumes_AreFoundByTheirSlots(t *testing.T) {
	nvme := &types.VirtualNVMEController{}
	nvme.Key, nvme.BusNumber = 31000, 1
	scsi := &types.VirtualLsiLogicSASController{}
	scsi.Key, scsi.BusNumber = 1002, 2
	disk := func(controller, unit int32) *types.VirtualDisk {
		d := &types.VirtualDisk{CapacityInKB: 1 << 20}
		d.ControllerKey, d.UnitNumber = controller, &unit
		d.Backing = &types.VirtualDiskSeSparseBackingInfo{Uuid: "uuid"}
		return d
	}
	fast, image := disk(31000, 3), disk(1002, 0)
	vm := &mo.VirtualMachine{}
	vm.Config = &types.VirtualMachineConfigInfo{
		Hardware: types.VirtualHardware{Device: []types.BaseVirtualDevice{scsi, nvme, image, fast}},
		ExtraConfig: []types.BaseOptionValue{
			&types.OptionValue{Key: observe.VolumeKey("fast"), Value: "nvme1:3"},
			&types.OptionValue{Key: observe.VolumeKey("gone"), Value: "scsi2:1"},
			&types.OptionValue{Key: "other", Value: "scsi2:0"},
		},
	}
	want := map[string]*types.VirtualDisk{"fast": fast, "gone": nil}
	if diff := cmp.Diff(want, observe.Volumes(vm)); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
	controllers := []observe.Controller{
		{Kind: "nvme", Key: 31000, Bus: 1, Units: []int32{3}},
		{Kind: "lsilogicsas", Key: 1002, Bus: 2, Units: []int32{0}},
	}
	if diff := cmp.Diff(controllers, observe.Controllers(vm)); diff != "" {
		t.Errorf("controllers (-want +got):\n%s", diff)
	}
	if observe.Capacity(fast) != 1<<30 || observe.DiskUUID(fast) != "uuid" {
		t.Errorf("disk = %d bytes, %q; want 1 GiB and uuid", observe.Capacity(fast), observe.DiskUUID(fast))
	}
}
