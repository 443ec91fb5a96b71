// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/volumes"
)

// firstClassTask runs a task of a virtual machine for the volume service, and waits.
func (g *Gate) firstClassTask(ctx *simulator.Context, ref types.ManagedObjectReference, name string, do func(*simulator.VirtualMachine) types.BaseMethodFault) types.BaseMethodFault {
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return &types.ManagedObjectNotFound{Obj: ref}
	}
	task := simulator.CreateTask(vm, name, func(*simulator.Task) (types.AnyType, types.BaseMethodFault) { return nil, do(vm) })
	_, fault := g.result(ctx, task.Run(ctx))
	return fault
}

// AttachFirstClass implements volumes.Disks. A virtual machine without a paravirtual
// controller gets one (vsphere-csi-driver#1723).
func (g *Gate) AttachFirstClass(ctx *simulator.Context, ref types.ManagedObjectReference, a volumes.Attachment) types.BaseMethodFault {
	if a.Mode == "" {
		a.Mode = string(types.VirtualDiskModePersistent)
	}
	if fault := g.lacking(ctx.Session.UserName, []need{{ref, "VirtualMachine.Config.AddExistingDisk"}}); fault != nil {
		return fault
	}
	return g.firstClassTask(ctx, ref, "attachDisk", func(vm *simulator.VirtualMachine) types.BaseMethodFault {
		fcd := firstClass(ctx, a.ID)
		if fcd == nil {
			return &types.NotFound{}
		}
		if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn && g.inUse(ctx, vm, fcd, a.Sharing) {
			return &types.FileLocked{}
		}
		if a.ControllerKey == nil {
			key, fault := g.paravirtual(ctx, vm)
			if fault != nil {
				return fault
			}
			a.ControllerKey = &key
		}
		return g.attach(ctx, vm, fcd, a)
	})
}

// inUse reports whether a running virtual machine has the disk and does not share it.
func (g *Gate) inUse(ctx *simulator.Context, vm *simulator.VirtualMachine, fcd *types.VStorageObject, sharing string) bool {
	b, ok := fcd.Config.Backing.(types.BaseBaseConfigInfoFileBackingInfo)
	if !ok {
		return false
	}
	disk := &types.VirtualDisk{}
	disk.Backing = &types.VirtualDiskFlatVer2BackingInfo{Sharing: sharing,
		VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: b.GetBaseConfigInfoFileBackingInfo().FilePath}}
	return slices.ContainsFunc(ctx.Map.All("VirtualMachine"), func(e mo.Entity) bool {
		other, ok := e.(*simulator.VirtualMachine)
		return ok && other.Self != vm.Self && opens(ctx, other, disk)
	})
}

// paravirtual returns the key of a paravirtual controller with a free unit.
func (g *Gate) paravirtual(ctx *simulator.Context, vm *simulator.VirtualMachine) (int32, types.BaseMethodFault) {
	find := func() (int32, bool) {
		devices := object.VirtualDeviceList(vm.Config.Hardware.Device)
		for _, d := range devices.SelectByType((*types.ParaVirtualSCSIController)(nil)) {
			key, units := d.GetVirtualDevice().Key, 0
			for _, o := range devices {
				if o.GetVirtualDevice().ControllerKey == key {
					units++
				}
			}
			if units < 15 {
				return key, true
			}
		}
		return 0, false
	}
	if key, ok := find(); ok {
		return key, nil
	}
	controller, err := object.VirtualDeviceList(vm.Config.Hardware.Device).CreateSCSIController("pvscsi")
	if err != nil {
		return 0, &types.InvalidController{}
	}
	fault := g.reconfigure(ctx, vm, &types.ReconfigVM_Task{This: vm.Self, Spec: types.VirtualMachineConfigSpec{
		DeviceChange: []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: controller,
		}},
	}})
	if fault != nil {
		return 0, fault
	}
	key, _ := find()
	return key, nil
}

// DetachFirstClass implements volumes.Disks.
func (g *Gate) DetachFirstClass(ctx *simulator.Context, ref types.ManagedObjectReference, id types.ID) types.BaseMethodFault {
	if fault := g.lacking(ctx.Session.UserName, []need{{ref, "VirtualMachine.Config.RemoveDisk"}}); fault != nil {
		return fault
	}
	return g.firstClassTask(ctx, ref, "detachDisk", func(vm *simulator.VirtualMachine) types.BaseMethodFault {
		for _, disk := range disksOf(vm.Config) {
			if disk.VDiskId != nil && *disk.VDiskId == id {
				return g.detach(ctx, vm, disk)
			}
		}
		// Disks that a reconfiguration has removed count as attached until now.
		if fcd := firstClass(ctx, id); fcd != nil {
			fcd.Config.ConsumerId = slices.DeleteFunc(fcd.Config.ConsumerId, func(id types.ID) bool { return id.Id == vm.Config.Uuid })
		}
		return &types.NotFound{}
	})
}

// ExtendFirstClass implements volumes.Disks. A disk never shrinks, and not one that has
// snapshots grows (vsphere-csi-driver#2311).
func (g *Gate) ExtendFirstClass(ctx *simulator.Context, id types.ID, mib int64) types.BaseMethodFault {
	fcd := firstClass(ctx, id)
	if fcd == nil {
		return &types.NotFound{}
	}
	if fault := g.lacking(ctx.Session.UserName, fileNeeds(ctx, fcd)); fault != nil {
		return fault
	}
	if mib < fcd.Config.CapacityInMB {
		return &types.InvalidArgument{InvalidProperty: "newCapacityInMB"}
	}
	for _, ref := range volumes.Holders(ctx, id) {
		fault := g.firstClassTask(ctx, ref, "extendDisk", func(vm *simulator.VirtualMachine) types.BaseMethodFault {
			if vm.Snapshot != nil {
				return &types.InvalidState{}
			}
			for _, disk := range disksOf(vm.Config) {
				if disk.VDiskId == nil || *disk.VDiskId != id {
					continue
				}
				larger := *disk
				larger.CapacityInBytes, larger.CapacityInKB = mib<<20, mib<<10
				return g.reconfigure(ctx, vm, &types.ReconfigVM_Task{This: vm.Self, Spec: types.VirtualMachineConfigSpec{
					DeviceChange: []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{
						Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: &larger,
					}},
				}})
			}
			return nil
		})
		if fault != nil {
			return fault
		}
	}
	fcd.Config.CapacityInMB = mib
	return nil
}

// fileNeeds are those on the datastore of a first class disk, for calls that change its
// file: "Datastore.FileManagement" is among the privileges of the methods of
// VStorageObjectManager, and of those that Cloud Native Storage asks for.
func fileNeeds(ctx *simulator.Context, fcd *types.VStorageObject) []need {
	b, ok := fcd.Config.Backing.(types.BaseBaseConfigInfoFileBackingInfo)
	if !ok {
		return nil
	}
	return []need{{b.GetBaseConfigInfoFileBackingInfo().Datastore, "Datastore.FileManagement"}}
}
