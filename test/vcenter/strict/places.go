// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"strconv"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// checkPlaces refuses datastores and networks that the datacenter does not
// have, wherever a configuration names them.
func checkPlaces(ctx *simulator.Context, dc *simulator.Datacenter, spec *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	if spec.Files != nil {
		for _, path := range []string{
			spec.Files.VmPathName, spec.Files.SnapshotDirectory, spec.Files.SuspendDirectory, spec.Files.LogDirectory,
		} {
			if fault := checkPath(ctx, dc, path); fault != nil {
				return fault
			}
		}
	}
	for i, c := range spec.DeviceChange {
		if fault := checkDevice(ctx, dc, i, c.GetVirtualDeviceConfigSpec()); fault != nil {
			return fault
		}
	}
	return nil
}

func checkPath(ctx *simulator.Context, dc *simulator.Datacenter, path string) types.BaseMethodFault {
	if path == "" {
		return nil
	}
	var p object.DatastorePath
	if !p.FromString(path) {
		return &types.InvalidDatastorePath{InvalidDatastore: types.InvalidDatastore{Name: path}, DatastorePath: path}
	}
	if p.Datastore == "" || ctx.Map.FindByName(p.Datastore, dc.Datastore) == nil {
		return &types.InvalidDatastorePath{InvalidDatastore: types.InvalidDatastore{Name: p.Datastore}, DatastorePath: path}
	}
	return nil
}

func checkDevice(ctx *simulator.Context, dc *simulator.Datacenter, i int, change *types.VirtualDeviceConfigSpec) types.BaseMethodFault {
	invalid := &types.InvalidDeviceSpec{
		InvalidVmConfig: types.InvalidVmConfig{Property: "virtualDeviceSpec.device"}, DeviceIndex: int32(i),
	}
	if change.Device == nil || change.Operation == "" {
		return invalid
	}
	if change.Operation == types.VirtualDeviceConfigSpecOperationRemove {
		return nil
	}
	device := change.Device.GetVirtualDevice()
	if disk, ok := change.Device.(*types.VirtualDisk); ok {
		if _, file := device.Backing.(types.BaseVirtualDeviceFileBackingInfo); !file || disk.CapacityInKB < 0 || disk.CapacityInBytes < 0 {
			return invalid
		}
	}
	if backing, ok := device.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
		return checkPath(ctx, dc, backing.GetVirtualDeviceFileBackingInfo().FileName)
	}
	if _, card := change.Device.(types.BaseVirtualEthernetCard); !card {
		return nil
	}
	if device.Backing == nil {
		return invalid
	}
	if !checkCardBacking(ctx, dc, device.Backing) {
		return &types.InvalidDeviceBacking{InvalidDeviceSpec: *invalid}
	}
	return nil
}

// checkExisting refuses edits and removals of devices that do not exist, smaller disks, and edits with another file
// than the current one of the disk (judgement: the behaviour of vCenter for a stale backing is not documented).
func checkExisting(config *types.VirtualMachineConfigInfo, changes []types.BaseVirtualDeviceConfigSpec) types.BaseMethodFault {
	devices := object.VirtualDeviceList(config.Hardware.Device)
	for i, c := range changes {
		change := c.GetVirtualDeviceConfigSpec()
		if change.Operation == types.VirtualDeviceConfigSpecOperationAdd {
			continue
		}
		old := devices.FindByKey(change.Device.GetVirtualDevice().Key)
		if old == nil {
			return &types.InvalidDeviceSpec{
				InvalidVmConfig: types.InvalidVmConfig{Property: "virtualDeviceSpec.device.key"}, DeviceIndex: int32(i),
			}
		}
		if fault := growDisk(old, change); fault != nil {
			return fault
		}
	}
	return checkUnits(config, changes)
}

// checkUnits refuses disks at units that their SCSI controller does not have: 0 to 15 without 7, and
// 0 to 64 on a paravirtual one from virtual hardware version 14 on (VMware's configuration maximums;
// the fault is a judgement).
func checkUnits(config *types.VirtualMachineConfigInfo, changes []types.BaseVirtualDeviceConfigSpec) types.BaseMethodFault {
	controllers := object.VirtualDeviceList(config.Hardware.Device)
	for _, c := range changes {
		if change := c.GetVirtualDeviceConfigSpec(); change.Operation == types.VirtualDeviceConfigSpecOperationAdd {
			controllers = append(controllers, change.Device)
		}
	}
	for i, c := range changes {
		change := c.GetVirtualDeviceConfigSpec()
		device := change.Device.GetVirtualDevice()
		if _, disk := change.Device.(*types.VirtualDisk); !disk || device.UnitNumber == nil || change.Operation != types.VirtualDeviceConfigSpecOperationAdd {
			continue
		}
		controller, scsi := controllers.FindByKey(device.ControllerKey).(types.BaseVirtualSCSIController)
		if !scsi {
			continue
		}
		last := int32(15)
		if _, pv := controller.(*types.ParaVirtualSCSIController); pv && hardwareVersion(config.Version) >= 14 {
			last = 64
		}
		if unit := *device.UnitNumber; unit < 0 || unit > last || unit == 7 {
			return &types.InvalidDeviceSpec{
				InvalidVmConfig: types.InvalidVmConfig{Property: "virtualDeviceSpec.device.unitNumber"}, DeviceIndex: int32(i),
			}
		}
	}
	return nil
}

// hardwareVersion is the number of a virtual hardware version, such as vmx-21; 0 if it is none.
func hardwareVersion(name string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "vmx-"))
	if err != nil {
		return 0
	}
	return n
}

// growDisk refuses to shrink a disk, and completes the capacity of an edited disk, because the simulator needs both
// units.
func growDisk(old types.BaseVirtualDevice, change *types.VirtualDeviceConfigSpec) types.BaseMethodFault {
	was, isDisk := old.(*types.VirtualDisk)
	disk, ok := change.Device.(*types.VirtualDisk)
	if !isDisk || !ok || change.Operation != types.VirtualDeviceConfigSpecOperationEdit {
		return nil
	}
	want := max(disk.CapacityInBytes, disk.CapacityInKB*1024)
	if disk.CapacityInKB != was.CapacityInKB && disk.CapacityInBytes == was.CapacityInBytes {
		want = disk.CapacityInKB * 1024 // given in KB on a copy of the old device
	}
	if want == 0 {
		want = was.CapacityInKB * 1024
	}
	if want < was.CapacityInKB*1024 {
		return &types.InvalidDeviceOperation{}
	}
	if file := fileOf(disk); file != "" && fileOf(was) != file {
		return &types.InvalidDeviceBacking{}
	}
	disk.CapacityInBytes, disk.CapacityInKB = want, want/1024
	return nil
}

func datacenterOf(ctx *simulator.Context, ref types.ManagedObjectReference) *simulator.Datacenter {
	for {
		obj := ctx.Map.Get(ref)
		if dc, ok := obj.(*simulator.Datacenter); ok {
			return dc
		}
		parent := parentOf(obj)
		if parent == nil {
			return nil
		}
		ref = *parent
	}
}
