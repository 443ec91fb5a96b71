// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/esx"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// CloneVMTask makes a full clone.
func (g *Gate) CloneVMTask(ctx *simulator.Context, req *types.CloneVM_Task) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.CloneVM_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	if req.Spec.Location.Folder == nil {
		req.Spec.Location.Folder = &req.Folder
	}
	fault := g.checkLocation(ctx, vm, &req.Spec.Location)
	if fault != nil {
		return &methods.CloneVM_TaskBody{Fault_: simulator.Fault("", fault)}
	}
	generation := g.now()
	// The task locks the destination, so that clones of one template run concurrently. vCenter shows the task on the
	// source.
	task := simulator.CreateTask(*req.Spec.Location.Folder, "cloneVm", func(task *simulator.Task) (types.AnyType, types.BaseMethodFault) {
		ctx.Map.AtomicUpdate(ctx, task, []types.PropertyChange{{Name: "info.entity", Val: vm.Self}})
		return g.clone(ctx, vm, req, generation)
	})
	task.Info.Name, task.Info.DescriptionId, task.Info.EntityName = "CloneVM_Task", "VirtualMachine.clone", vm.Name
	return &methods.CloneVM_TaskBody{Res: &types.CloneVM_TaskResponse{Returnval: g.start(ctx, task)}}
}

func (g *Gate) clone(ctx *simulator.Context, vm *simulator.VirtualMachine, req *types.CloneVM_Task, generation int) (types.AnyType, types.BaseMethodFault) {
	if g.lost(generation) {
		return nil, restarted()
	}
	var source *mo.VirtualMachine
	ctx.WithLock(vm, func() { source, _ = simulator.Checkpoint(vm).(*mo.VirtualMachine) })
	if source == nil || source.Config == nil {
		return nil, &types.ManagedObjectNotFound{Obj: vm.Self}
	}
	if from := req.Spec.Snapshot; from != nil {
		if fault := asOf(ctx, source, *from); fault != nil {
			return nil, fault
		}
	}
	at := &req.Spec.Location
	pool := at.Pool
	if pool == nil {
		if pool = source.ResourcePool; pool == nil || source.Config.Template {
			return nil, &types.InvalidArgument{InvalidProperty: "spec.location.pool"}
		}
	}
	spec := cloneSpec(source, req.Name, datastoreName(ctx, source, at.Datastore))
	if fault := placeDisks(ctx, spec.DeviceChange, at); fault != nil {
		return nil, fault
	}
	changes := at.DeviceChange
	if over := req.Spec.Config; over != nil {
		changes = append(changes, over.DeviceChange...)
		rest := *over
		rest.DeviceChange, rest.Name, rest.Files = nil, "", nil
		Overlay(&spec, &rest)
	}
	host := at.Host
	if host == nil {
		host = compatibleHost(ctx, *pool, spec.Files.VmPathName)
	}
	task, fault := g.create(ctx, &types.CreateVM_Task{This: *at.Folder, Config: spec, Pool: *pool, Host: host})
	if fault != nil {
		return nil, fault
	}
	result, fault := g.result(ctx, task)
	if fault != nil {
		return nil, fault
	}
	ref, _ := result.(types.ManagedObjectReference)
	if fault := g.finishClone(ctx, ref, changes, &req.Spec); fault != nil {
		return nil, fault
	}
	return ref, nil
}

// finishClone completes a clone after its creation. If that fails the clone is removed.
func (g *Gate) finishClone(ctx *simulator.Context, ref types.ManagedObjectReference, changes []types.BaseVirtualDeviceConfigSpec, spec *types.VirtualMachineCloneSpec) (fault types.BaseMethodFault) {
	clone, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return &types.ManagedObjectNotFound{Obj: ref}
	}
	defer func() {
		if fault != nil {
			ctx.WithLock(clone, func() { clone.DestroyTask(ctx, &types.Destroy_Task{This: ref}) })
		}
	}()
	if len(changes) != 0 {
		ctx.WithLock(clone, func() {
			fault = g.reconfigure(ctx, clone, &types.ReconfigVM_Task{This: ref, Spec: types.VirtualMachineConfigSpec{DeviceChange: changes}})
		})
		if fault != nil {
			return fault
		}
	}
	if spec.Template {
		ctx.WithLock(clone, func() { clone.MarkAsTemplate(&types.MarkAsTemplate{This: ref}) })
		return nil
	}
	if spec.Customization != nil {
		var res soap.HasFault
		ctx.WithLock(clone, func() {
			res = clone.CustomizeVMTask(ctx, &types.CustomizeVM_Task{This: ref, Spec: *spec.Customization})
		})
		body, ok := res.(*methods.CustomizeVM_TaskBody)
		if !ok || body.Res == nil {
			return &types.CustomizationFault{}
		}
		if _, fault := g.result(ctx, body.Res.Returnval); fault != nil {
			return fault
		}
	}
	if spec.PowerOn {
		var res soap.HasFault
		ctx.WithLock(clone, func() { res = clone.PowerOnVMTask(ctx, &types.PowerOnVM_Task{This: ref}) })
		if body, ok := res.(*methods.PowerOnVM_TaskBody); ok && body.Res != nil {
			_, _ = g.result(ctx, body.Res.Returnval) // vCenter keeps a clone that does not power on
		}
	}
	return nil
}

func datastoreName(ctx *simulator.Context, source *mo.VirtualMachine, ref *types.ManagedObjectReference) string {
	if ref != nil {
		if ds, ok := ctx.Map.Get(*ref).(*simulator.Datastore); ok {
			return ds.Name
		}
	}
	var path object.DatastorePath
	path.FromString(source.Config.Files.VmPathName)
	return path.Datastore
}

// asOf changes source to its state at a snapshot.
func asOf(ctx *simulator.Context, source *mo.VirtualMachine, ref types.ManagedObjectReference) types.BaseMethodFault {
	snapshot, ok := ctx.Map.Get(ref).(*simulator.VirtualMachineSnapshot)
	if !ok {
		return &types.ManagedObjectNotFound{Obj: ref}
	}
	if snapshot.Vm != source.Self {
		return &types.InvalidArgument{InvalidProperty: "spec.snapshot"}
	}
	ctx.WithLock(snapshot, func() {
		config := snapshot.Config
		config.ExtraConfig = slices.Clone(config.ExtraConfig)
		config.Hardware.Device = slices.Clone(config.Hardware.Device)
		source.Config = &config
	})
	return nil
}

// cloneSpec describes a copy of the source under another name.
func cloneSpec(source *mo.VirtualMachine, name, datastore string) types.VirtualMachineConfigSpec {
	config := source.Config
	spec := types.VirtualMachineConfigSpec{
		Name:                name,
		Version:             config.Version,
		GuestId:             config.GuestId,
		Annotation:          config.Annotation,
		Firmware:            config.Firmware,
		BootOptions:         config.BootOptions,
		Flags:               &config.Flags,
		CpuHotAddEnabled:    config.CpuHotAddEnabled,
		CpuHotRemoveEnabled: config.CpuHotRemoveEnabled,
		MemoryHotAddEnabled: config.MemoryHotAddEnabled,
		CpuAllocation:       config.CpuAllocation,
		MemoryAllocation:    config.MemoryAllocation,
		NumCPUs:             config.Hardware.NumCPU,
		NumCoresPerSocket:   config.Hardware.NumCoresPerSocket,
		MemoryMB:            int64(config.Hardware.MemoryMB),
		Files:               &types.VirtualMachineFileInfo{VmPathName: "[" + datastore + "]"},
	}
	spec.VAppConfig = vAppSpec(config)
	if isAuto(config) {
		spec.NumCoresPerSocket = nil
	}
	for _, o := range config.ExtraConfig {
		if o.GetOptionValue().Key != "govcsim" { // the simulator's mark, which it sets itself
			spec.ExtraConfig = append(spec.ExtraConfig, o)
		}
	}
	builtIn := map[int32]bool{}
	for _, d := range esx.VirtualDevice {
		builtIn[d.GetVirtualDevice().Key] = true
	}
	for _, d := range config.Hardware.Device {
		if !builtIn[d.GetVirtualDevice().Key] {
			spec.DeviceChange = append(spec.DeviceChange, cloneDevice(d, datastore))
		}
	}
	return spec
}

// cloneDevice describes a new device like d: disks get new files, cards new
// addresses.
func cloneDevice(d types.BaseVirtualDevice, datastore string) types.BaseVirtualDeviceConfigSpec {
	change := &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: d}
	switch device := d.(type) {
	case *types.VirtualDisk:
		change.FileOperation = types.VirtualDeviceConfigSpecFileOperationCreate
		thin := types.NewBool(true)
		if flat, ok := device.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok {
			thin = flat.ThinProvisioned
		}
		device.Backing = &types.VirtualDiskFlatVer2BackingInfo{
			VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: "[" + datastore + "]"},
			DiskMode:                     string(types.VirtualDiskModePersistent),
			ThinProvisioned:              thin,
		}
		device.VDiskId = nil // a copy of a first class disk is an ordinary disk (judgement)
	case types.BaseVirtualEthernetCard:
		card := device.GetVirtualEthernetCard()
		card.MacAddress, card.AddressType = "", string(types.VirtualEthernetCardMacTypeGenerated)
	}
	return change
}
