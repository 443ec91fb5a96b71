// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// MarkAsTemplate notifies the watchers of the virtual machine, which the simulator does not.
func (g *Gate) MarkAsTemplate(ctx *simulator.Context, req *types.MarkAsTemplate) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.MarkAsTemplateBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	var res soap.HasFault
	ctx.WithLock(vm, func() {
		res = vm.MarkAsTemplate(req)
		tellTemplate(ctx, vm)
	})
	return res
}

// MarkAsVirtualMachine notifies the watchers of the virtual machine, which the simulator does not.
func (g *Gate) MarkAsVirtualMachine(ctx *simulator.Context, req *types.MarkAsVirtualMachine) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.MarkAsVirtualMachineBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	var res soap.HasFault
	ctx.WithLock(vm, func() {
		res = vm.MarkAsVirtualMachine(req)
		tellTemplate(ctx, vm)
	})
	return res
}

func tellTemplate(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	var pool any // A template has none.
	if vm.ResourcePool != nil {
		pool = *vm.ResourcePool
	}
	ctx.Update(vm, []types.PropertyChange{
		{Name: "config.template", Val: vm.Config.Template},
		{Name: "summary.config.template", Val: vm.Summary.Config.Template},
		{Name: "resourcePool", Val: pool},
	})
}
