// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// DestroyTask destroys a virtual machine with its disks, or a folder with its contents, as vCenter does. The
// simulator would leave virtual machines without a parent.
func (g *Gate) DestroyTask(ctx *simulator.Context, req *types.Destroy_Task) soap.HasFault {
	if vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine); ok {
		return g.destroyMachine(ctx, vm, req)
	}
	if req.This.Type == "VirtualMachine" {
		return &methods.Destroy_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	// The task takes the gate's place in the lock order: a folder's lock must not
	// be held while those of its children are taken.
	task := simulator.CreateTask(gateRef, "destroy", func(task *simulator.Task) (types.AnyType, types.BaseMethodFault) {
		ctx.Map.AtomicUpdate(ctx, task, []types.PropertyChange{{Name: "info.entity", Val: req.This}})
		return nil, g.destroyFolder(ctx, req.This)
	})
	task.Info.Name, task.Info.DescriptionId = "Destroy_Task", "Folder.destroy"
	return &methods.Destroy_TaskBody{Res: &types.Destroy_TaskResponse{Returnval: task.Run(ctx)}}
}

func (g *Gate) destroyFolder(ctx *simulator.Context, ref types.ManagedObjectReference) types.BaseMethodFault {
	folder, ok := ctx.Map.Get(ref).(*simulator.Folder)
	if !ok {
		return &types.ManagedObjectNotFound{Obj: ref}
	}
	var children []types.ManagedObjectReference
	ctx.WithLock(folder, func() { children = slices.Clone(folder.ChildEntity) })
	for _, child := range children {
		var fault types.BaseMethodFault
		switch child.Type {
		case "Folder":
			fault = g.destroyFolder(ctx, child)
		case "VirtualMachine":
			fault = g.destroyVM(ctx, child)
		}
		if fault != nil {
			return fault
		}
	}
	var res soap.HasFault
	ctx.WithLock(folder, func() { res = folder.DestroyTask(ctx, &types.Destroy_Task{This: ref}) })
	return g.destroyed(ctx, res)
}

func (g *Gate) destroyVM(ctx *simulator.Context, ref types.ManagedObjectReference) types.BaseMethodFault {
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return nil // a concurrent call was faster
	}
	return g.destroyed(ctx, g.destroyMachine(ctx, vm, &types.Destroy_Task{This: ref}))
}

func (g *Gate) destroyed(ctx *simulator.Context, res soap.HasFault) types.BaseMethodFault {
	body, ok := res.(*methods.Destroy_TaskBody)
	if !ok || body.Res == nil {
		return &types.SystemError{Reason: "the simulator did not start to destroy the object"}
	}
	_, fault := g.result(ctx, body.Res.Returnval)
	return fault
}
