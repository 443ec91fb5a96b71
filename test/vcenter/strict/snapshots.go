// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	// maxSnapshotDepth is the maximum length of a chain of snapshots (VMware KB 1025279).
	maxSnapshotDepth = 32
	// snapshotDataSize is that of the file with the state of a snapshot (judgement).
	snapshotDataSize = 30 << 10
)

// CreateSnapshotTask is the older form of CreateSnapshotExTask.
func (g *Gate) CreateSnapshotTask(ctx *simulator.Context, req *types.CreateSnapshot_Task) soap.HasFault {
	ex := &types.CreateSnapshotEx_Task{This: req.This, Name: req.Name, Description: req.Description, Memory: req.Memory}
	if req.Quiesce {
		ex.QuiesceSpec = &types.VirtualMachineGuestQuiesceSpec{}
	}
	res, _ := g.CreateSnapshotExTask(ctx, ex).(*methods.CreateSnapshotEx_TaskBody)
	body := &methods.CreateSnapshot_TaskBody{Fault_: res.Fault_}
	if res.Res != nil {
		body.Res = &types.CreateSnapshot_TaskResponse{Returnval: res.Res.Returnval}
	}
	return body
}

// CreateSnapshotExTask creates a snapshot if the virtual machine supports it, and sets realistic sizes of its files.
// The previous content of disks is stored until the simulator ends.
func (g *Gate) CreateSnapshotExTask(ctx *simulator.Context, req *types.CreateSnapshotEx_Task) soap.HasFault {
	body := &methods.CreateSnapshotEx_TaskBody{}
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		body.Fault_ = simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})
		return body
	}
	ref := g.onSnapshots(ctx, vm, "createSnapshotEx", func() (types.AnyType, types.BaseMethodFault) {
		var res soap.HasFault
		var fault types.BaseMethodFault
		running := false
		ctx.WithLock(vm, func() {
			running = vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn
			if fault = first(known(ctx, vm), unsnapshotable(vm, req)); fault == nil {
				res = vm.CreateSnapshotExTask(ctx, req)
			}
		})
		if fault != nil {
			return nil, fault
		}
		made, fault := g.result(ctx, res.(*methods.CreateSnapshotEx_TaskBody).Res.Returnval)
		if made, ok := made.(types.ManagedObjectReference); ok && fault == nil {
			ctx.WithLock(vm, func() {
				sizeSnapshot(vm, made, req.Memory && running)
				g.keepContents(made, contentsOf(ctx, vm))
			})
		}
		return made, fault
	})
	body.Res = &types.CreateSnapshotEx_TaskResponse{Returnval: ref}
	return body
}

// onSnapshots runs a task that changes the snapshots of a virtual machine, and with them the
// files of its disks.
func (g *Gate) onSnapshots(ctx *simulator.Context, vm *simulator.VirtualMachine, name string, do func() (types.AnyType, types.BaseMethodFault)) types.ManagedObjectReference {
	own := types.ManagedObjectReference{Type: "SlipwayOperation", Value: vm.Self.Value + "/snapshots"}
	task := simulator.CreateTask(own, name, func(task *simulator.Task) (types.AnyType, types.BaseMethodFault) {
		ctx.Map.AtomicUpdate(ctx, task, []types.PropertyChange{{Name: "info.entity", Val: vm.Self}})
		g.mu.Lock()
		g.running[vm.Self] = task.Self
		g.mu.Unlock()
		defer func() {
			g.mu.Lock()
			delete(g.running, vm.Self)
			g.mu.Unlock()
		}()
		result, fault := do()
		if fault != nil {
			return nil, fault
		}
		ctx.WithLock(vm, func() {
			if vm.Snapshot != nil {
				// The tree is copied, because readers keep it.
				tree := types.VirtualMachineSnapshotInfo{CurrentSnapshot: vm.Snapshot.CurrentSnapshot, RootSnapshotList: treeOf(vm.Snapshot.RootSnapshotList)}
				ctx.Update(vm, []types.PropertyChange{{Name: "snapshot", Val: &tree}})
			}
			if !locked(vm) { // otherwise the files are kept until they are consolidated
				layerDisks(ctx, vm)
			}
		})
		return result, nil
	})
	task.Info.Name, task.Info.DescriptionId = name, "VirtualMachine."+name
	return g.start(ctx, task)
}

func treeOf(list []types.VirtualMachineSnapshotTree) []types.VirtualMachineSnapshotTree {
	var out []types.VirtualMachineSnapshotTree
	for _, t := range list {
		t.ChildSnapshotList = treeOf(t.ChildSnapshotList)
		out = append(out, t)
	}
	return out
}

// unsnapshotable returns the reason why a virtual machine cannot have a snapshot (vSphere Virtual Machine
// Administration, Snapshot Limitations).
func unsnapshotable(vm *simulator.VirtualMachine, req *types.CreateSnapshotEx_Task) types.BaseMethodFault {
	on := vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff
	for _, d := range vm.Config.Hardware.Device {
		switch d := d.(type) {
		case *types.VirtualDisk:
			flat, ok := d.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
			if ok && on && (flat.DiskMode == string(types.VirtualDiskModeIndependent_persistent) || flat.DiskMode == string(types.VirtualDiskModeIndependent_nonpersistent)) {
				return &types.NotSupported{}
			}
		case types.BaseVirtualSCSIController:
			if s := d.GetVirtualSCSIController().SharedBus; s != "" && s != types.VirtualSCSISharingNoSharing {
				return &types.NotSupported{}
			}
		case *types.VirtualPCIPassthrough:
			return &types.NotSupported{}
		}
	}
	if req.QuiesceSpec != nil && on && (vm.Guest == nil || vm.Guest.ToolsRunningStatus != string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)) {
		return &types.FilesystemQuiesceFault{}
	}
	if vm.Snapshot != nil && vm.Snapshot.CurrentSnapshot != nil && depthOf(vm.Snapshot.RootSnapshotList, *vm.Snapshot.CurrentSnapshot) >= maxSnapshotDepth {
		return &types.TooManySnapshotLevels{}
	}
	return nil
}

// depthOf returns 1 for a root, and 0 for a snapshot that is not in the tree.
func depthOf(list []types.VirtualMachineSnapshotTree, ref types.ManagedObjectReference) int {
	for _, t := range list {
		if t.Snapshot == ref {
			return 1
		}
		if n := depthOf(t.ChildSnapshotList, ref); n > 0 {
			return n + 1
		}
	}
	return 0
}

// sizeSnapshot gives the files of a snapshot their sizes, and its memory a file.
func sizeSnapshot(vm *simulator.VirtualMachine, ref types.ManagedObjectReference, memory bool) {
	layout := *vm.LayoutEx
	layout.File, layout.Snapshot = append([]types.VirtualMachineFileLayoutExFileInfo(nil), layout.File...), append([]types.VirtualMachineFileLayoutExSnapshotLayout(nil), layout.Snapshot...)
	next := int32(0)
	for i := range layout.File {
		next = max(next, layout.File[i].Key+1)
	}
	for i := range layout.Snapshot {
		s := &layout.Snapshot[i]
		if s.Key != ref {
			continue
		}
		for j := range layout.File {
			if layout.File[j].Key == s.DataKey {
				layout.File[j].Size = snapshotDataSize
			}
		}
		if memory {
			s.MemoryKey = next
			layout.File = append(layout.File, types.VirtualMachineFileLayoutExFileInfo{
				Key: next, Name: fmt.Sprintf("%s%s.vmem", vm.Config.Files.SnapshotDirectory, ref.Value),
				Type: string(types.VirtualMachineFileLayoutExFileTypeSnapshotMemory), Size: int64(vm.Config.Hardware.MemoryMB) << 20,
			})
		}
	}
	vm.LayoutEx = &layout
}

// RemoveSnapshotTask removes a snapshot.
func (g *Gate) RemoveSnapshotTask(ctx *simulator.Context, req *types.RemoveSnapshot_Task) soap.HasFault {
	body := &methods.RemoveSnapshot_TaskBody{}
	snapshot, vm, fault := g.snapshotOf(ctx, req.This)
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	body.Res = &types.RemoveSnapshot_TaskResponse{Returnval: g.onSnapshots(ctx, vm, "removeSnapshot", func() (types.AnyType, types.BaseMethodFault) {
		if ctx.Map.Get(req.This) == nil {
			return nil, &types.ManagedObjectNotFound{Obj: req.This}
		}
		if isSet(vm, StuckSnapshots) {
			return nil, nil
		}
		ctx.WithLock(vm, func() { leaveRoot(ctx, vm, req.This) })
		var res soap.HasFault
		ctx.WithLock(snapshot, func() { res = snapshot.RemoveSnapshotTask(ctx, req) })
		result, fault := g.result(ctx, res.(*methods.RemoveSnapshot_TaskBody).Res.Returnval)
		if fault == nil {
			g.keepContents(req.This, nil)
			ctx.WithLock(vm, func() {
				if locked(vm) {
					needConsolidation(ctx, vm, true)
				}
			})
		}
		return result, fault
	})}
	return body
}

// leaveRoot clears the current snapshot of a virtual machine before its root is removed. Otherwise the library would
// panic if other snapshots exist.
func leaveRoot(ctx *simulator.Context, vm *simulator.VirtualMachine, root types.ManagedObjectReference) {
	s := vm.Snapshot
	if s == nil || s.CurrentSnapshot == nil || *s.CurrentSnapshot != root || depthOf(s.RootSnapshotList, root) != 1 {
		return
	}
	ctx.Update(vm, []types.PropertyChange{{Name: "snapshot", Val: &types.VirtualMachineSnapshotInfo{RootSnapshotList: treeOf(s.RootSnapshotList)}}})
}

// RevertToSnapshotTask restores a virtual machine to a snapshot: configuration, disk contents and power state.
func (g *Gate) RevertToSnapshotTask(ctx *simulator.Context, req *types.RevertToSnapshot_Task) soap.HasFault {
	body := &methods.RevertToSnapshot_TaskBody{}
	snapshot, vm, fault := g.snapshotOf(ctx, req.This)
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	body.Res = &types.RevertToSnapshot_TaskResponse{Returnval: g.onSnapshots(ctx, vm, "revertToSnapshot", func() (types.AnyType, types.BaseMethodFault) {
		return nil, g.revert(ctx, vm, snapshot, req)
	})}
	return body
}

func (g *Gate) revert(ctx *simulator.Context, vm *simulator.VirtualMachine, snapshot *simulator.VirtualMachineSnapshot, req *types.RevertToSnapshot_Task) types.BaseMethodFault {
	var is, was types.VirtualMachinePowerState
	ctx.WithLock(vm, func() {
		is = vm.Runtime.PowerState
		if vm.Snapshot != nil {
			was = stateOf(vm.Snapshot.RootSnapshotList, req.This)
		}
	})
	if was == "" {
		return &types.ManagedObjectNotFound{Obj: req.This}
	}
	if is != types.VirtualMachinePowerStatePoweredOff {
		var res soap.HasFault
		ctx.WithLock(vm, func() { res = vm.PowerOffVMTask(ctx, &types.PowerOffVM_Task{This: vm.Self}) })
		if _, fault := g.result(ctx, res.(*methods.PowerOffVM_TaskBody).Res.Returnval); fault != nil {
			return fault
		}
	}
	var res soap.HasFault
	ctx.WithLock(snapshot, func() { res = snapshot.RevertToSnapshotTask(ctx, req) })
	if _, fault := g.result(ctx, res.(*methods.RevertToSnapshot_TaskBody).Res.Returnval); fault != nil {
		return fault
	}
	ctx.WithLock(vm, func() {
		config := snapshot.Config
		config.ExtraConfig = append([]types.BaseOptionValue(nil), config.ExtraConfig...)
		config.Hardware.Device = append([]types.BaseVirtualDevice(nil), config.Hardware.Device...)
		config.Name, config.ChangeVersion = vm.Config.Name, vm.Config.ChangeVersion
		ctx.Update(vm, []types.PropertyChange{{Name: "config", Val: config}})
		vm.Summary.Config.NumCpu, vm.Summary.Config.MemorySizeMB = config.Hardware.NumCPU, config.Hardware.MemoryMB
	})
	if fault := g.contentsAt(req.This).write(); fault != nil {
		return fault
	}
	suppressed := req.SuppressPowerOn != nil && *req.SuppressPowerOn
	if was != types.VirtualMachinePowerStatePoweredOn || suppressed {
		return nil
	}
	ctx.WithLock(vm, func() { res = vm.PowerOnVMTask(ctx, &types.PowerOnVM_Task{This: vm.Self}) })
	_, fault := g.result(ctx, res.(*methods.PowerOnVM_TaskBody).Res.Returnval)
	return fault
}

// snapshotOf returns a snapshot with its virtual machine, unless that is busy.
func (g *Gate) snapshotOf(ctx *simulator.Context, ref types.ManagedObjectReference) (*simulator.VirtualMachineSnapshot, *simulator.VirtualMachine, types.BaseMethodFault) {
	snapshot, ok := ctx.Map.Get(ref).(*simulator.VirtualMachineSnapshot)
	if !ok {
		return nil, nil, &types.ManagedObjectNotFound{Obj: ref}
	}
	vm, ok := ctx.Map.Get(snapshot.Vm).(*simulator.VirtualMachine)
	if !ok {
		return nil, nil, &types.ManagedObjectNotFound{Obj: snapshot.Vm}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if task, busy := g.running[vm.Self]; busy {
		return nil, nil, &types.TaskInProgress{Task: task}
	}
	return snapshot, vm, nil
}

// stateOf returns the power state of a snapshot. It is empty for a snapshot that is not in the tree.
func stateOf(list []types.VirtualMachineSnapshotTree, ref types.ManagedObjectReference) types.VirtualMachinePowerState {
	for _, t := range list {
		if t.Snapshot == ref {
			return t.State
		}
		if state := stateOf(t.ChildSnapshotList, ref); state != "" {
			return state
		}
	}
	return ""
}
