// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"path"
	"slices"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/volumes"
)

// firstClass returns the first class disk with the ID.
func firstClass(ctx *simulator.Context, id types.ID) *types.VStorageObject {
	if d, ok := volumes.FirstClass(ctx)[id]; ok {
		return &d.VStorageObject.VStorageObject
	}
	return nil
}

func fileOf(disk *types.VirtualDisk) string {
	if b, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
		return b.GetVirtualDeviceFileBackingInfo().FileName
	}
	return ""
}

func disksOf(config *types.VirtualMachineConfigInfo) []*types.VirtualDisk {
	var disks []*types.VirtualDisk
	for _, d := range config.Hardware.Device {
		if disk, ok := d.(*types.VirtualDisk); ok {
			disks = append(disks, disk)
		}
	}
	return disks
}

// AttachDiskTask attaches a first class disk, with the device that the simulator leaves
// out. It is independent and persistent, as container volumes are (judgement).
func (g *Gate) AttachDiskTask(ctx *simulator.Context, req *types.AttachDisk_Task) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.AttachDisk_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	task := simulator.CreateTask(vm, "attachDisk", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		fcd := firstClass(ctx, req.DiskId)
		if fcd == nil {
			return nil, &types.NotFound{}
		}
		if len(fcd.Config.ConsumerId) != 0 {
			return nil, &types.InvalidState{} // attached already
		}
		place := volumes.Attachment{UnitNumber: req.UnitNumber, Mode: string(types.VirtualDiskModeIndependent_persistent)}
		if req.ControllerKey != 0 {
			place.ControllerKey = &req.ControllerKey
		}
		return nil, g.attach(ctx, vm, fcd, place)
	})
	task.Info.Name, task.Info.DescriptionId = "AttachDisk_Task", "VirtualMachine.attachDisk"
	return &methods.AttachDisk_TaskBody{Res: &types.AttachDisk_TaskResponse{Returnval: task.Run(ctx)}}
}

// attach attaches a first class disk whose virtual machine's lock is held by ctx.
func (g *Gate) attach(ctx *simulator.Context, vm *simulator.VirtualMachine, fcd *types.VStorageObject, place volumes.Attachment) types.BaseMethodFault {
	backing, ok := fcd.Config.Backing.(types.BaseBaseConfigInfoFileBackingInfo)
	if !ok {
		return &types.InvalidArgument{InvalidProperty: "diskId"}
	}
	devices := object.VirtualDeviceList(vm.Config.Hardware.Device)
	var controller types.BaseVirtualController
	if key := place.ControllerKey; key != nil {
		if controller, ok = devices.FindByKey(*key).(types.BaseVirtualController); !ok {
			return &types.InvalidController{}
		}
	} else {
		found, err := devices.FindDiskController("")
		if err != nil {
			return &types.InvalidController{}
		}
		controller = found
	}
	disk := devices.CreateDisk(controller, types.ManagedObjectReference{}, backing.GetBaseConfigInfoFileBackingInfo().FilePath)
	disk.VDiskId, disk.CapacityInKB, disk.CapacityInBytes = &fcd.Config.Id, fcd.Config.CapacityInMB<<10, fcd.Config.CapacityInMB<<20
	if flat, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok {
		flat.Datastore, flat.DiskMode, flat.Sharing = nil, place.Mode, place.Sharing
		flat.Uuid = diskUUID(fcd)
	}
	if place.UnitNumber != nil {
		disk.UnitNumber = place.UnitNumber
	}
	fault := g.reconfigure(ctx, vm, &types.ReconfigVM_Task{This: vm.Self, Spec: types.VirtualMachineConfigSpec{
		DeviceChange: []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: disk,
		}},
	}})
	if fault == nil {
		fcd.Config.ConsumerId = append(fcd.Config.ConsumerId, types.ID{Id: vm.Config.Uuid})
	}
	return fault
}

// diskUUID is the UUID that guests see for the disk in every VM. It is stored in the disk's descriptor.
func diskUUID(fcd *types.VStorageObject) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(fcd.Config.Id.Id)).String()
}

// DetachDiskTask detaches a first class disk and keeps the disk.
func (g *Gate) DetachDiskTask(ctx *simulator.Context, req *types.DetachDisk_Task) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.DetachDisk_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	task := simulator.CreateTask(vm, "detachDisk", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		for _, disk := range disksOf(vm.Config) {
			if disk.VDiskId != nil && *disk.VDiskId == req.DiskId {
				return nil, g.detach(ctx, vm, disk)
			}
		}
		return nil, &types.NotFound{}
	})
	task.Info.Name, task.Info.DescriptionId = "DetachDisk_Task", "VirtualMachine.detachDisk"
	return &methods.DetachDisk_TaskBody{Res: &types.DetachDisk_TaskResponse{Returnval: task.Run(ctx)}}
}

// detach detaches a disk from a virtual machine and keeps its file.
func (g *Gate) detach(ctx *simulator.Context, vm *simulator.VirtualMachine, disk *types.VirtualDisk) types.BaseMethodFault {
	fault := g.reconfigure(ctx, vm, &types.ReconfigVM_Task{This: vm.Self, Spec: types.VirtualMachineConfigSpec{
		DeviceChange: []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: disk,
		}},
	}})
	if fault == nil && disk.VDiskId != nil {
		if fcd := firstClass(ctx, *disk.VDiskId); fcd != nil {
			fcd.Config.ConsumerId = slices.DeleteFunc(fcd.Config.ConsumerId, func(id types.ID) bool { return id.Id == vm.Config.Uuid })
		}
	}
	return fault
}

// destroyWithDisks destroys a virtual machine with every attached disk, including disks of other owners
// (hashicorp/terraform#6572, vmware/vic#2471), except first class disks that are kept (API,
// BaseConfigInfo.keepAfterDeleteVm; "if not set, the default value is true", VslmCreateSpec).
func (g *Gate) destroyWithDisks(ctx *simulator.Context, vm *simulator.VirtualMachine) types.BaseMethodFault {
	if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
		return &types.InvalidPowerState{
			RequestedState: types.VirtualMachinePowerStatePoweredOff, ExistingState: vm.Runtime.PowerState,
		}
	}
	var lost []types.ID
	for _, disk := range disksOf(vm.Config) {
		if disk.VDiskId == nil {
			continue
		}
		fcd := firstClass(ctx, *disk.VDiskId)
		if fcd == nil || fcd.Config.KeepAfterDeleteVm != nil && !*fcd.Config.KeepAfterDeleteVm {
			lost = append(lost, *disk.VDiskId)
			continue
		}
		if fault := g.detach(ctx, vm, disk); fault != nil {
			return fault
		}
	}
	fault := g.destroyed(ctx, vm.DestroyTask(ctx, &types.Destroy_Task{This: vm.Self}))
	if fault == nil {
		volumes.Drop(ctx, lost...)
	}
	return fault
}

// AwaitRemovals waits until the directories of destroyed VMs are deleted. The simulator deletes them after the task
// has ended, under the lock of the file manager.
func AwaitRemovals(ctx *simulator.Context) {
	ctx.WithLock(ctx.Map.FileManager(), func() {})
}

// destroyMachine is Destroy_Task of a virtual machine. One without first class disks is
// the simulator's.
func (g *Gate) destroyMachine(ctx *simulator.Context, vm *simulator.VirtualMachine, req *types.Destroy_Task) soap.HasFault {
	var res soap.HasFault
	own := &simulator.Context{Context: ctx.Context, Map: ctx.Map}
	lost, dc := g.unshared(ctx, vm), datacenterOf(ctx, vm.Self)
	AwaitRemovals(own) // the simulator panics if files are deleted while it lists them
	var firstClass bool
	own.WithLock(vm, func() {
		firstClass = slices.ContainsFunc(disksOf(vm.Config), func(d *types.VirtualDisk) bool { return d.VDiskId != nil })
	})
	if !firstClass {
		ctx.WithLock(vm, func() {
			if fault := known(ctx, vm); fault != nil {
				res = &methods.Destroy_TaskBody{Fault_: simulator.Fault("", fault)}
				return
			}
			res = vm.DestroyTask(ctx, req)
		})
		if body, ok := res.(*methods.Destroy_TaskBody); ok && body.Res != nil {
			g.takeAlong(ctx, dc, body.Res.Returnval, lost)
		}
		return res
	}
	task := simulator.CreateTask(vm, "destroy", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		return nil, g.destroyWithDisks(ctx, vm)
	})
	task.Info.Name, task.Info.DescriptionId = "Destroy_Task", "VirtualMachine.destroy"
	ref := task.Run(ctx)
	g.takeAlong(ctx, dc, ref, lost)
	return &methods.Destroy_TaskBody{Res: &types.Destroy_TaskResponse{Returnval: ref}}
}

// checkLocks refuses a disk that another running virtual machine has open. Only disks that both attach as
// multi-writer can be shared (VMware KB 1034165). Disks in the home directory are not checked, because attaching them
// is refused elsewhere.
func checkLocks(ctx *simulator.Context, method *simulator.Method) types.BaseMethodFault {
	vm, ok := ctx.Map.Get(method.This).(*simulator.VirtualMachine)
	if !ok {
		return nil
	}
	var disks []*types.VirtualDisk
	var vmx object.DatastorePath
	own := &simulator.Context{Context: ctx.Context, Map: ctx.Map}
	own.WithLock(vm, func() {
		vmx.FromString(vm.Config.Files.VmPathName)
		req, reconfigures := method.Body.(*types.ReconfigVM_Task)
		switch {
		case method.Name == "PowerOnVM_Task":
			disks = disksOf(vm.Config)
		case reconfigures && vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn:
			disks = added(&req.Spec)
		}
	})
	for _, disk := range disks {
		var p object.DatastorePath
		if !p.FromString(fileOf(disk)) || p.Path == "" || p.Datastore == vmx.Datastore && path.Dir(p.Path) == path.Dir(vmx.Path) {
			continue
		}
		for _, e := range ctx.Map.All("VirtualMachine") {
			other, ok := e.(*simulator.VirtualMachine)
			if ok && other.Self != vm.Self && opens(ctx, other, disk) {
				return &types.FileLocked{FileFault: types.FileFault{File: p.String()}}
			}
		}
	}
	return nil
}

// opens reports whether the other virtual machine runs with the disk and does not share it.
func opens(ctx *simulator.Context, other *simulator.VirtualMachine, disk *types.VirtualDisk) (locked bool) {
	own := &simulator.Context{Context: ctx.Context, Map: ctx.Map}
	own.WithLock(other, func() {
		if other.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
			return
		}
		locked = slices.ContainsFunc(disksOf(other.Config), func(d *types.VirtualDisk) bool {
			return fileOf(d) == fileOf(disk) && !(multiWriter(d) && multiWriter(disk))
		})
	})
	return locked
}

func multiWriter(disk *types.VirtualDisk) bool {
	b, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	return ok && b.Sharing == string(types.VirtualDiskSharingSharingMultiWriter)
}

// added returns the existing disks that a reconfiguration attaches.
func added(spec *types.VirtualMachineConfigSpec) []*types.VirtualDisk {
	var disks []*types.VirtualDisk
	for _, c := range spec.DeviceChange {
		change := c.GetVirtualDeviceConfigSpec()
		disk, ok := change.Device.(*types.VirtualDisk)
		if ok && change.Operation == types.VirtualDeviceConfigSpecOperationAdd && change.FileOperation == "" {
			disks = append(disks, disk)
		}
	}
	return disks
}
