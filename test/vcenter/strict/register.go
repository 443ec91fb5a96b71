// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// UnregisterVM removes a virtual machine from the inventory "without removing any of the virtual machine's files from
// storage" (vSphere Automation API, vm unregister), so that it can be registered again unchanged.
//
// An orphaned virtual machine can be unregistered in every power state, because that is how administrators remove it.
func (g *Gate) UnregisterVM(ctx *simulator.Context, req *types.UnregisterVM) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.UnregisterVMBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	d, _ := g.sight.Disguise(req.This)
	if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn && d.State != types.VirtualMachineConnectionStateOrphaned {
		return &methods.UnregisterVMBody{Fault_: simulator.Fault("", &types.InvalidPowerState{
			RequestedState: types.VirtualMachinePowerStatePoweredOff, ExistingState: vm.Runtime.PowerState,
		})}
	}
	if _, fault := g.Unregister(ctx, vm); fault != nil {
		return &methods.UnregisterVMBody{Fault_: simulator.Fault("", fault)}
	}
	return &methods.UnregisterVMBody{Res: &types.UnregisterVMResponse{}}
}

// Unregister is TakeOut for an administrator: vCenter's list of tasks shows it ("Unregister virtual machine",
// description VirtualMachine.unregister in the descriptions that govmomi recorded of a vCenter,
// simulator/vpx/task_manager.go). The removal of its host and a restore of vCenter create no task of a virtual
// machine.
func (g *Gate) Unregister(ctx *simulator.Context, vm *simulator.VirtualMachine) (string, types.BaseMethodFault) {
	path, fault := g.TakeOut(ctx, vm)
	if fault == nil {
		g.recent.add("VirtualMachine.unregister", vm.Self)
	}
	return path, fault
}

// TakeOut removes a virtual machine from the inventory, whatever its state, and
// returns the path of its .vmx file, by which PutBack finds it. One that was destroyed
// while its lock was waited for is not there any more.
func (g *Gate) TakeOut(ctx *simulator.Context, vm *simulator.VirtualMachine) (string, types.BaseMethodFault) {
	var fault types.BaseMethodFault
	ctx.WithLock(vm, func() { fault = known(ctx, vm) })
	if fault != nil {
		return "", fault
	}
	// The folder before its child, as elsewhere.
	if folder, ok := ctx.Map.Get(*vm.Parent).(*simulator.Folder); ok {
		ctx.Map.RemoveReference(ctx, folder, &folder.ChildEntity, vm.Self)
		defer touch(ctx, folder)
	}
	for _, holder := range holders(ctx, &vm.VirtualMachine) {
		ctx.Map.RemoveReference(ctx, holder.obj, holder.field, vm.Self)
	}
	var kept *mo.VirtualMachine
	// No task runs on it while its lock is held. The simulator panics if a task's virtual machine is deleted.
	ctx.WithLock(vm, func() {
		if fault = known(ctx, vm); fault == nil {
			kept, _ = simulator.Checkpoint(vm).(*mo.VirtualMachine)
			ctx.Map.Remove(ctx, vm.Self)
		}
	})
	if fault != nil {
		return "", fault
	}
	path := kept.Config.Files.VmPathName
	g.mu.Lock()
	g.shelf[path] = kept
	g.mu.Unlock()
	return path, nil
}

// known refuses an operation whose virtual machine was removed from the inventory while it waited.
func known(ctx *simulator.Context, vm *simulator.VirtualMachine) types.BaseMethodFault {
	if ctx.Map.Get(vm.Self) == nil {
		return &types.ManagedObjectNotFound{Obj: vm.Self}
	}
	return nil
}

// holder is a list of virtual machines in an object.
type holder struct {
	obj   mo.Reference
	field *[]types.ManagedObjectReference
}

func holders(ctx *simulator.Context, vm *mo.VirtualMachine) []holder {
	var all []holder
	if vm.Runtime.Host != nil {
		if host, ok := ctx.Map.Get(*vm.Runtime.Host).(*simulator.HostSystem); ok {
			all = append(all, holder{host, &host.Vm})
		}
	}
	if vm.ResourcePool != nil {
		if pool, ok := ctx.Map.Get(*vm.ResourcePool).(*simulator.ResourcePool); ok {
			all = append(all, holder{pool, &pool.Vm})
		}
	}
	for _, ref := range vm.Datastore {
		if ds, ok := ctx.Map.Get(ref).(*simulator.Datastore); ok {
			all = append(all, holder{ds, &ds.Vm})
		}
	}
	return all
}

// touch notifies the watchers of a folder that its children have changed.
func touch(ctx *simulator.Context, folder *simulator.Folder) {
	ctx.WithLock(folder, func() {
		ctx.Update(folder, []types.PropertyChange{{Name: "childEntity", Val: folder.ChildEntity}})
	})
}

// Placement is the location for restoring a virtual machine. A nil field means the previous location.
type Placement struct {
	Name               string
	Folder, Pool, Host *types.ManagedObjectReference
	// Former restores the previous managed object ID, unless another object has it by now.
	Former bool
	// OtherUUID generates another instance UUID.
	OtherUUID bool
}

// PutBack enters a virtual machine that TakeOut has removed, under another managed object
// ID: "all high-level information stored with the management server" about it was
// removed, "such as statistics, resource pool association, permissions, and alarms"
// (vSphere Automation API, vm unregister). Its instance UUID is in the .vmx file and
// stays, unless another has it by now: vCenter changes it "when VirtualCenter
// detects an identifier conflict" (API, VirtualMachineConfigSpec.instanceUuid).
func (g *Gate) PutBack(ctx *simulator.Context, path string, at Placement) (types.ManagedObjectReference, types.BaseMethodFault) {
	none := types.ManagedObjectReference{}
	g.mu.Lock()
	kept := g.shelf[path]
	g.mu.Unlock()
	if kept == nil {
		return none, &types.NotFound{}
	}
	vm := &simulator.VirtualMachine{DataSets: map[string]*simulator.DataSet{}}
	vm.VirtualMachine = *kept
	former := vm.Self
	if fault := place(ctx, vm, at); fault != nil {
		return none, fault
	}
	folder, ok := ctx.Map.Get(*vm.Parent).(*simulator.Folder)
	if !ok {
		return none, &types.ManagedObjectNotFound{Obj: *vm.Parent}
	}
	if owner := childNamed(ctx, slot{folder.Self, vm.Name}); owner != nil {
		return none, &types.DuplicateName{Name: vm.Name, Object: *owner}
	}
	g.mu.Lock()
	if g.shelf[path] == nil { // a concurrent call was faster
		g.mu.Unlock()
		return none, &types.AlreadyExists{Name: path}
	}
	delete(g.shelf, path)
	if !at.Former || ctx.Map.Get(former) != nil {
		ctx.Map.NewEntity(vm)
	}
	if _, taken := g.uuids[vm.Config.InstanceUuid]; taken || at.OtherUUID {
		vm.Config.InstanceUuid = uuid.NewString()
		vm.Summary.Config.InstanceUuid = vm.Config.InstanceUuid
	}
	g.uuids[vm.Config.InstanceUuid] = vm.Self
	g.mu.Unlock()
	vm.Summary.Vm = &vm.Self
	vm.RecentTask = nil

	for _, holder := range holders(ctx, &vm.VirtualMachine) {
		ctx.Map.AddReference(ctx, holder.obj, holder.field, vm.Self)
	}
	ctx.Map.AppendReference(ctx, folder, &folder.ChildEntity, vm.Self)
	ctx.Map.Put(vm)
	for _, obj := range ctx.Map.AllReference("VirtualMachineSnapshot") {
		if snapshot, ok := obj.(*simulator.VirtualMachineSnapshot); ok && snapshot.Vm == former {
			snapshot.Vm = vm.Self
		}
	}
	touch(ctx, folder)
	return vm.Self, nil
}

// place returns the location for restoring a virtual machine. A host that no longer exists is replaced by another one
// of the pool's cluster.
func place(ctx *simulator.Context, vm *simulator.VirtualMachine, at Placement) types.BaseMethodFault {
	if at.Name != "" {
		vm.Name, vm.Config.Name, vm.Summary.Config.Name = at.Name, at.Name, at.Name
	}
	if at.Folder != nil {
		vm.Parent = at.Folder
	}
	if at.Pool != nil {
		vm.ResourcePool = at.Pool
	}
	if at.Host != nil {
		vm.Runtime.Host = at.Host
	}
	if _, there := ctx.Map.Get(*vm.Runtime.Host).(*simulator.HostSystem); !there {
		hosts := ctx.Map.All("HostSystem")
		if len(hosts) == 0 {
			return &types.NoHost{}
		}
		ref := hosts[0].Reference()
		vm.Runtime.Host = &ref
	}
	vm.Summary.Runtime.Host = vm.Runtime.Host
	return nil
}

// RegisterVMTask registers an unregistered virtual machine. After it has checked the datastore paths, it passes other
// calls to the simulator.
func (g *Gate) RegisterVMTask(ctx *simulator.Context, req *types.RegisterVM_Task) soap.HasFault {
	fault := first(
		checkVMFolder(ctx, &req.This, "folder"),
		checkPool(ctx, req.Pool, "pool"),
		checkKind[*simulator.HostSystem](ctx, req.Host, "host"),
	)
	if fault == nil {
		if dc := datacenterOf(ctx, req.This); dc == nil || req.Path == "" {
			fault = &types.InvalidArgument{InvalidProperty: "path"}
		} else {
			fault = checkPath(ctx, dc, req.Path)
		}
	}
	if fault != nil {
		return &methods.RegisterVM_TaskBody{Fault_: simulator.Fault("", fault)}
	}
	g.mu.Lock()
	_, kept := g.shelf[req.Path]
	g.mu.Unlock()
	if kept {
		task := simulator.CreateTask(gateRef, "registerVm", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
			ref, fault := g.PutBack(ctx, req.Path, Placement{Name: req.Name, Folder: &req.This, Pool: req.Pool, Host: req.Host})
			if fault != nil {
				return nil, fault
			}
			return ref, nil
		})
		task.Info.Name, task.Info.DescriptionId, task.Info.Entity = "RegisterVM_Task", "Folder.registerVm", &gateRef
		return &methods.RegisterVM_TaskBody{Res: &types.RegisterVM_TaskResponse{Returnval: task.Run(ctx)}}
	}
	folder, ok := ctx.Map.Get(req.This).(*simulator.Folder)
	if !ok { // destroyed since it was checked
		return &methods.RegisterVM_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	var res soap.HasFault
	ctx.WithLock(folder, func() { res = folder.RegisterVMTask(ctx, req) })
	return res
}

// Shelf lists the .vmx files of virtual machines that are not in the inventory.
func (g *Gate) Shelf() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	paths := make([]string, 0, len(g.shelf))
	for path := range g.shelf {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// Acting returns a context for changes of the inventory that no client requests.
func Acting(registry *simulator.Registry) *simulator.Context {
	return &simulator.Context{
		Context: context.Background(), Map: registry,
		Session: &simulator.Session{Registry: simulator.NewRegistry(), Map: registry},
	}
}

// Failed returns the error of a fault that an event caused.
func Failed(doing string, fault types.BaseMethodFault) error {
	if fault == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, soap.WrapVimFault(fault))
}
