// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"path"
	"strings"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// ReconfigVMTask applies a configuration as a whole or not at all.
func (g *Gate) ReconfigVMTask(ctx *simulator.Context, req *types.ReconfigVM_Task) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.ReconfigVM_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	task := simulator.CreateTask(vm, "reconfigVm", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		return nil, g.reconfigure(ctx, vm, req)
	})
	task.Info.Name = "ReconfigVM_Task" // the simulator's own task keeps the short name
	task.Info.DescriptionId = "VirtualMachine.reconfigure"
	return &methods.ReconfigVM_TaskBody{Res: &types.ReconfigVM_TaskResponse{Returnval: task.Run(ctx)}}
}

// reconfigure runs with the lock of the virtual machine held by ctx.
func (g *Gate) reconfigure(ctx *simulator.Context, vm *simulator.VirtualMachine, req *types.ReconfigVM_Task) types.BaseMethodFault {
	release, fault := g.admitChange(ctx, vm, &req.Spec)
	if fault != nil {
		return fault
	}
	g.macs.assign(req.Spec.DeviceChange)
	numberCards(vm.Config.Hardware.Device, req.Spec.DeviceChange)
	identifyDisks(ctx, datacenterOf(ctx, vm.Self), req.Spec.DeviceChange)
	before, isVM := simulator.Checkpoint(vm).(*mo.VirtualMachine)

	res, ok := vm.ReconfigVMTask(ctx, req).(*methods.ReconfigVM_TaskBody)
	switch {
	case !ok || res.Fault_ != nil || res.Res == nil:
		fault = &types.SystemError{Reason: "the simulator did not start the reconfiguration"}
	default:
		_, fault = g.result(ctx, res.Res.Returnval)
	}
	release(fault)
	if fault == nil {
		chooseCores(vm, req.Spec.NumCoresPerSocket, false)
		keepVApp(vm, &req.Spec)
		g.associate(vm.Self, &req.Spec)
		if len(req.Spec.DeviceChange) > 0 {
			stampDisks(ctx, vm)
		}
	}
	if fault != nil && isVM {
		vm.VirtualMachine = *before
		// Nothing has changed in the end, but watchers may have read the middle.
		ctx.Update(vm, []types.PropertyChange{{Name: "config", Val: *before.Config}})
	}
	return fault
}

// admitChange checks a reconfiguration; the returned function takes its outcome.
func (g *Gate) admitChange(ctx *simulator.Context, vm *simulator.VirtualMachine, spec *types.VirtualMachineConfigSpec) (func(types.BaseMethodFault), types.BaseMethodFault) {
	dc := datacenterOf(ctx, vm.Self)
	if dc == nil || vm.Config == nil {
		return nil, &types.ManagedObjectNotFound{Obj: vm.Self}
	}
	if spec.ChangeVersion != "" && spec.ChangeVersion != vm.Config.ChangeVersion {
		return nil, &types.ConcurrentAccess{}
	}
	fault := first(checkValues(spec), checkPlaces(ctx, dc, spec), checkSeen(ctx, []types.ManagedObjectReference{*vm.Runtime.Host}, spec))
	if fault == nil {
		fault = checkExisting(vm.Config, spec.DeviceChange)
	}
	if fault == nil {
		fault = checkEffective(vm.Config, spec)
	}
	if fault == nil && vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
		fault = checkPowered(vm.Config, spec)
		if fault == nil {
			fault = checkPoweredCards(vm.Config, spec.DeviceChange)
		}
	}
	if fault == nil {
		fault = first(g.checkProfiles(spec), checkStorage(vm, spec))
	}
	if fault != nil {
		return nil, fault
	}
	keepBootOptions(vm.Config, spec)
	if spec.Name != "" && spec.Name != vm.Name {
		if fault := g.checkRename(ctx, vm, spec.Name); fault != nil {
			return nil, fault
		}
	}
	var vmx object.DatastorePath
	if vmx.FromString(vm.Config.Files.VmPathName) && path.Dir(vmx.Path) != vm.Config.Name {
		nameDisks(ctx, dc, spec.DeviceChange, vmx, strings.TrimSuffix(path.Base(vmx.Path), ".vmx"))
	}
	return g.claimUUID(vm, spec)
}

// checkEffective checks the topology that the virtual machine would have.
func checkEffective(config *types.VirtualMachineConfigInfo, spec *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	cpus, cores, firmware := spec.NumCPUs, spec.NumCoresPerSocket, spec.Firmware
	if cpus == 0 {
		cpus = config.Hardware.NumCPU
	}
	if cores == nil && spec.NumCPUs != 0 && !isAuto(config) {
		cores = config.Hardware.NumCoresPerSocket
	}
	if firmware == "" {
		firmware = config.Firmware
	}
	return checkTopology(cpus, cores, firmware, spec.BootOptions)
}

// claimUUID reserves the instance UUID of a reconfiguration. A UUID in use is replaced, as in PutBack.
func (g *Gate) claimUUID(vm *simulator.VirtualMachine, spec *types.VirtualMachineConfigSpec) (func(types.BaseMethodFault), types.BaseMethodFault) {
	id := spec.InstanceUuid
	if id == "" || id == vm.Config.InstanceUuid {
		return func(types.BaseMethodFault) {}, nil
	}
	old := vm.Config.InstanceUuid
	g.mu.Lock()
	defer g.mu.Unlock()
	if owner, taken := g.uuids[id]; taken && owner != vm.Self {
		id = uuid.NewString()
		spec.InstanceUuid = id
	}
	g.uuids[id] = vm.Self
	return func(fault types.BaseMethodFault) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if fault != nil {
			old, id = id, old
		}
		delete(g.uuids, old)
	}, nil
}

func (g *Gate) checkRename(ctx *simulator.Context, vm *simulator.VirtualMachine, name string) types.BaseMethodFault {
	if fault := checkName(name); fault != nil {
		return fault
	}
	if vm.Parent == nil {
		return nil
	}
	// The folder's lock is not taken: the lock of a child is held here, and the
	// simulator takes them in the other order. The list is read as the search
	// index reads it.
	if folder, ok := ctx.Map.Get(*vm.Parent).(*simulator.Folder); ok {
		if e := ctx.Map.FindByName(name, folder.ChildEntity); e != nil && e.Reference() != vm.Self {
			return &types.DuplicateName{Name: name, Object: e.Reference()}
		}
	}
	return nil
}

// RenameTask refuses a name that another child of the folder has.
func (g *Gate) RenameTask(ctx *simulator.Context, req *types.Rename_Task) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.Rename_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	if fault := g.checkRename(ctx, vm, req.NewName); fault != nil {
		return &methods.Rename_TaskBody{Res: &types.Rename_TaskResponse{Returnval: failing(ctx, vm.Self, "Rename_Task", fault)}}
	}
	var res soap.HasFault
	ctx.WithLock(vm, func() { res = vm.RenameTask(ctx, req) })
	return res
}
