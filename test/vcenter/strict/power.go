// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// tools rejects a soft power operation on a guest that does not answer.
func tools(vm *simulator.VirtualMachine) types.BaseMethodFault {
	if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		return &types.InvalidPowerState{
			RequestedState: types.VirtualMachinePowerStatePoweredOn,
			ExistingState:  vm.Runtime.PowerState,
		}
	}
	if vm.Guest == nil || vm.Guest.ToolsRunningStatus != string(types.VirtualMachineToolsRunningStatusGuestToolsRunning) {
		return &types.ToolsUnavailable{}
	}
	return nil
}

// soft runs do on the virtual machine with its lock held, if its tools run.
func soft(ctx *simulator.Context, ref types.ManagedObjectReference, do func(*simulator.VirtualMachine)) *soap.Fault {
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return simulator.Fault("", &types.ManagedObjectNotFound{Obj: ref})
	}
	var fault types.BaseMethodFault
	ctx.WithLock(vm, func() {
		if fault = tools(vm); fault == nil {
			do(vm)
		}
	})
	if fault != nil {
		return simulator.Fault("", fault)
	}
	return nil
}

// ShutdownGuest powers off through the guest, if its tools run.
func (g *Gate) ShutdownGuest(ctx *simulator.Context, req *types.ShutdownGuest) soap.HasFault {
	var res soap.HasFault
	if fault := soft(ctx, req.This, func(vm *simulator.VirtualMachine) {
		if res = (&methods.ShutdownGuestBody{Res: &types.ShutdownGuestResponse{}}); !g.ignores(req.This) {
			res = vm.ShutdownGuest(ctx, req)
		}
	}); fault != nil {
		return &methods.ShutdownGuestBody{Fault_: fault}
	}
	return res
}

// Ignore makes the guest of a virtual machine ignore shutdown requests.
func (g *Gate) Ignore(vm types.ManagedObjectReference, on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ignoring[vm] = on
}

func (g *Gate) ignores(vm types.ManagedObjectReference) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ignoring[vm]
}

// StandbyGuest suspends through the guest, if its tools run.
func (g *Gate) StandbyGuest(ctx *simulator.Context, req *types.StandbyGuest) soap.HasFault {
	var res soap.HasFault
	if fault := soft(ctx, req.This, func(vm *simulator.VirtualMachine) { res = vm.StandbyGuest(ctx, req) }); fault != nil {
		return &methods.StandbyGuestBody{Fault_: fault}
	}
	return res
}

// RebootGuest restarts the guest, if its tools run.
func (g *Gate) RebootGuest(ctx *simulator.Context, req *types.RebootGuest) soap.HasFault {
	if fault := soft(ctx, req.This, func(vm *simulator.VirtualMachine) { g.guests.Reboot(ctx, vm) }); fault != nil {
		return &methods.RebootGuestBody{Fault_: fault}
	}
	return &methods.RebootGuestBody{Res: &types.RebootGuestResponse{}}
}

// RelocateVMTask checks the destination before the simulator moves the
// references.
func (g *Gate) RelocateVMTask(ctx *simulator.Context, req *types.RelocateVM_Task) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.RelocateVM_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	fault := g.checkLocation(ctx, vm, &req.Spec)
	if fault != nil {
		return &methods.RelocateVM_TaskBody{Res: &types.RelocateVM_TaskResponse{
			Returnval: failing(ctx, vm.Self, "RelocateVM_Task", fault),
		}}
	}
	var res soap.HasFault
	ctx.WithLock(vm, func() {
		if fault = g.moveFiles(ctx, vm, &req.Spec); fault == nil {
			moveReferences(ctx, vm, &req.Spec)
			res = vm.RelocateVMTask(ctx, req)
		}
	})
	if fault != nil {
		return &methods.RelocateVM_TaskBody{Res: &types.RelocateVM_TaskResponse{
			Returnval: failing(ctx, vm.Self, "RelocateVM_Task", fault),
		}}
	}
	return res
}

// checkLocation refuses destinations of the wrong kind. A virtual appliance is
// no destination, as the simulator cannot move into one.
func (g *Gate) checkLocation(ctx *simulator.Context, vm *simulator.VirtualMachine, spec *types.VirtualMachineRelocateSpec) types.BaseMethodFault {
	fault := first(
		checkKind[*simulator.Datastore](ctx, spec.Datastore, "spec.datastore"),
		checkKind[*simulator.ResourcePool](ctx, spec.Pool, "spec.pool"),
		checkKind[*simulator.HostSystem](ctx, spec.Host, "spec.host"),
		checkVMFolder(ctx, spec.Folder, "spec.folder"),
	)
	if fault != nil {
		return fault
	}
	dc := datacenterOf(ctx, vm.Self)
	if dc == nil {
		return &types.ManagedObjectNotFound{Obj: vm.Self}
	}
	return checkPlaces(ctx, dc, &types.VirtualMachineConfigSpec{DeviceChange: spec.DeviceChange})
}
