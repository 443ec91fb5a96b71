// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// CreateVMTask checks the configuration and claims name and instance UUID
// before the simulator creates the virtual machine.
func (g *Gate) CreateVMTask(ctx *simulator.Context, req *types.CreateVM_Task) soap.HasFault {
	body := &methods.CreateVM_TaskBody{}
	ref, fault := g.create(ctx, req)
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	body.Res = &types.CreateVM_TaskResponse{Returnval: ref}
	return body
}

// NewVM creates a virtual machine as an import does and waits for it. It is meant for
// callers inside the process that have no session; they act for Importer.
func (g *Gate) NewVM(ctx context.Context, registry *simulator.Registry, req *types.CreateVM_Task) (types.ManagedObjectReference, error) {
	sim := &simulator.Context{
		Context: ctx, Map: registry,
		Session: &simulator.Session{Registry: simulator.NewRegistry(), Map: registry},
	}
	if fault := checkReferences(sim, req); fault != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("create virtual machine %q: %w", req.Config.Name, soap.WrapVimFault(fault))
	}
	fault := g.lacking(g.Importer, append(creationNeeds(sim, req), need{req.This, "VApp.Import"}, need{req.Pool, "VApp.Import"}))
	var task types.ManagedObjectReference
	if fault == nil {
		task, fault = g.create(sim, req)
	}
	if fault == nil {
		var result types.AnyType
		if result, fault = g.result(sim, task); fault == nil {
			if ref, ok := result.(types.ManagedObjectReference); ok {
				return ref, nil
			}
			return types.ManagedObjectReference{}, fmt.Errorf("create virtual machine %q: the task returned %T", req.Config.Name, result)
		}
	}
	return types.ManagedObjectReference{}, fmt.Errorf("create virtual machine %q: %w", req.Config.Name, soap.WrapVimFault(fault))
}

// create starts the task of a creation. Faults that vCenter reports in the task fail the task. Faults of the call
// itself are returned.
func (g *Gate) create(ctx *simulator.Context, req *types.CreateVM_Task) (types.ManagedObjectReference, types.BaseMethodFault) {
	fault := first(
		checkVMFolder(ctx, &req.This, "folder"),
		checkPool(ctx, &req.Pool, "pool"),
		checkKind[*simulator.HostSystem](ctx, req.Host, "host"),
		checkHost(ctx, req.Pool, req.Host),
	)
	if fault != nil {
		return types.ManagedObjectReference{}, fault
	}
	release, fault := g.admit(ctx, req)
	if fault != nil {
		return failing(ctx, req.This, "CreateVM_Task", fault), nil
	}
	g.macs.assign(req.Config.DeviceChange)
	numberCards(nil, req.Config.DeviceChange)

	generation := g.now()
	task := simulator.CreateTask(req.This, "createVM", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		if g.lost(generation) {
			return nil, restarted()
		}
		return g.build(ctx, req)
	})
	task.Info.Name = "CreateVM_Task"
	ref := g.start(ctx, task)
	g.onEnd(ctx, ref, release)
	return ref, nil
}

// construction is a virtual machine that is being created.
type construction struct {
	ctx    *simulator.Context
	unlock func() // set once the virtual machine is in the inventory
}

// build runs while ctx holds the lock of the folder. The simulator adds a virtual machine to the inventory before it
// has configured it, and without its lock. build locks it until it is complete, so that no client reads a part of it.
func (g *Gate) build(ctx *simulator.Context, req *types.CreateVM_Task) (types.AnyType, types.BaseMethodFault) {
	folder, ok := ctx.Map.Get(req.This).(*simulator.Folder)
	if !ok { // destroyed since it was checked
		return nil, &types.ManagedObjectNotFound{Obj: req.This}
	}
	c := &construction{ctx: ctx}
	g.mu.Lock()
	g.building[req.This] = c
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		delete(g.building, req.This)
		unlock := c.unlock
		g.mu.Unlock()
		if unlock != nil {
			unlock()
		}
	}()
	cores := req.Config.NumCoresPerSocket
	res, ok := folder.CreateVMTask(ctx, req).(*methods.CreateVM_TaskBody)
	if !ok || res.Res == nil {
		return nil, &types.SystemError{Reason: "the simulator did not start the creation"}
	}
	result, fault := g.result(ctx, res.Res.Returnval)
	ref, _ := result.(types.ManagedObjectReference)
	if vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine); ok {
		chooseCores(vm, cores, true)
		keepVApp(vm, &req.Config)
		stampDisks(ctx, vm)
	}
	return result, fault
}

// entered locks a virtual machine that is being created. Its creator holds the
// lock at this moment, and shares it.
func (g *Gate) entered(vm *simulator.VirtualMachine) {
	if vm.Parent == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.building[*vm.Parent]; c != nil && c.unlock == nil {
		c.unlock = c.ctx.Map.AcquireLock(c.ctx, vm)
	}
}

// admit checks the configuration of a new virtual machine and claims its name
// and instance UUID until the returned function is called with the outcome.
func (g *Gate) admit(ctx *simulator.Context, req *types.CreateVM_Task) (func(types.TaskInfo), types.BaseMethodFault) {
	spec := &req.Config
	dc := datacenterOf(ctx, req.This)
	if dc == nil {
		return nil, &types.InvalidArgument{InvalidProperty: "folder"}
	}
	if spec.Files == nil || spec.Files.VmPathName == "" {
		return nil, &types.InvalidVmConfig{Property: "configSpec.files.vmPathName"}
	}
	cpus, firmware := spec.NumCPUs, spec.Firmware
	if cpus == 0 {
		cpus = 1
	}
	if firmware == "" {
		firmware = string(types.GuestOsDescriptorFirmwareTypeBios)
	}
	fault := first(
		checkName(spec.Name),
		checkValues(spec),
		checkTopology(cpus, spec.NumCoresPerSocket, firmware, spec.BootOptions),
		checkPlaces(ctx, dc, spec),
		checkSeen(ctx, hostsOf(ctx, req), spec),
	)
	if fault != nil {
		return nil, fault
	}
	identifyDisks(ctx, dc, spec.DeviceChange)
	release, fault := g.claim(ctx, slot{req.This, spec.Name}, &spec.InstanceUuid)
	if fault != nil {
		return nil, fault
	}
	remove := makeHome(ctx, dc, spec)
	return func(info types.TaskInfo) {
		if info.State != types.TaskInfoStateSuccess {
			remove()
		}
		release(info)
	}, nil
}

// claim reserves the name and the instance UUID, or returns the VM that has the name. An instance UUID in use is
// replaced.
func (g *Gate) claim(ctx *simulator.Context, at slot, given *string) (func(types.TaskInfo), types.BaseMethodFault) {
	owner := childNamed(ctx, at)
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, creating := g.names[at]; creating || owner != nil {
		duplicate := &types.DuplicateName{Name: at.name, Object: at.folder}
		if owner != nil {
			duplicate.Object = *owner
		}
		return nil, duplicate
	}
	if _, taken := g.uuids[*given]; taken && *given != "" {
		*given = uuid.NewString() // see PutBack: vCenter replaces a conflicting UUID
	}
	id := *given
	g.names[at] = struct{}{}
	if id != "" {
		g.uuids[id] = types.ManagedObjectReference{}
	}
	return func(info types.TaskInfo) { g.created(ctx, at, id, info) }, nil
}

// created turns the claim into ownership, or releases it if the creation failed.
func (g *Gate) created(ctx *simulator.Context, at slot, id string, info types.TaskInfo) {
	ref, ok := info.Result.(types.ManagedObjectReference)
	ok = ok && info.State == types.TaskInfoStateSuccess
	if vm, isVM := ctx.Map.Get(ref).(*simulator.VirtualMachine); ok && isVM && id == "" {
		id = strings.ToLower(vm.Config.InstanceUuid)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.names, at)
	switch {
	case ok && id != "":
		g.uuids[id] = ref
	case g.uuids[id] == types.ManagedObjectReference{}:
		delete(g.uuids, id)
	}
}

// childNamed returns the child of the folder that has the name, or nil.
func childNamed(ctx *simulator.Context, at slot) *types.ManagedObjectReference {
	folder, ok := ctx.Map.Get(at.folder).(*simulator.Folder)
	if !ok {
		return nil
	}
	var found *types.ManagedObjectReference
	ctx.WithLock(folder, func() {
		if e := ctx.Map.FindByName(at.name, folder.ChildEntity); e != nil {
			ref := e.Reference()
			found = &ref
		}
	})
	return found
}

func parentOf(obj mo.Reference) *types.ManagedObjectReference {
	if e, ok := obj.(mo.Entity); ok {
		return e.Entity().Parent
	}
	return nil
}

// ImportVApp checks the locations of an import before the simulator executes it.
func (g *Gate) ImportVApp(ctx *simulator.Context, req *types.ImportVApp) soap.HasFault {
	pool, isPool := ctx.Map.Get(req.This).(*simulator.ResourcePool)
	spec, isVM := req.Spec.(*types.VirtualMachineImportSpec)
	if !isPool || !isVM {
		return &methods.ImportVAppBody{Fault_: simulator.Fault("", &types.InvalidArgument{InvalidProperty: "spec"})}
	}
	dc := datacenterOf(ctx, req.This)
	folder := types.ManagedObjectReference{}
	if dc != nil {
		folder = dc.VmFolder
	}
	if req.Folder != nil {
		folder = *req.Folder
	}
	fault := first(
		checkVMFolder(ctx, &folder, "folder"),
		checkKind[*simulator.HostSystem](ctx, req.Host, "host"),
		checkHost(ctx, req.This, req.Host),
	)
	if fault == nil {
		var release func(types.TaskInfo)
		release, fault = g.admit(ctx, &types.CreateVM_Task{This: folder, Config: spec.ConfigSpec, Pool: req.This, Host: req.Host})
		if fault == nil {
			// The import's own task is not returned: its virtual machine takes the
			// place of the claim in the folder.
			release(types.TaskInfo{State: types.TaskInfoStateSuccess})
		}
	}
	if fault != nil {
		return &methods.ImportVAppBody{Fault_: simulator.Fault("", fault)}
	}
	g.macs.assign(spec.ConfigSpec.DeviceChange)
	numberCards(nil, spec.ConfigSpec.DeviceChange)
	var res soap.HasFault
	ctx.WithLock(pool, func() { res = pool.ImportVApp(ctx, req) })
	return res
}

// CreateChildVMTask is refused: the simulator's vApps do not check anything.
func (g *Gate) CreateChildVMTask(_ *simulator.Context, _ *types.CreateChildVM_Task) soap.HasFault {
	return &methods.CreateChildVM_TaskBody{Fault_: simulator.Fault("", &types.NotSupported{})}
}
