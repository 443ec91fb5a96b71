// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"os"
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// keepDisks names files, with commas between them, that stay when the virtual machine is
// destroyed or its disks are promoted (vmware-tanzu/vm-operator#1077).
const keepDisks = "vmprov.keepDisks"

// parents returns the files in other directories that disks of a virtual machine depend on.
func parents(disks []*types.VirtualDisk, home string) []string {
	var files []string
	for _, d := range disks {
		b, ok := d.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
		if !ok {
			continue
		}
		for p := below(b).Parent; p != nil; p = p.Parent {
			if path.Dir(p.FileName) != path.Dir(home) {
				files = append(files, p.FileName)
			}
		}
	}
	return files
}

// kept reports whether extraConfig marks a file as kept.
func kept(extra []types.BaseOptionValue, file string) bool {
	for _, o := range extra {
		if v, ok := o.GetOptionValue().Value.(string); ok && o.GetOptionValue().Key == keepDisks {
			return slices.Contains(strings.Split(v, ","), path.Base(file))
		}
	}
	return false
}

// unshared returns the parent disks that are deleted with the last virtual machine that has them. vCenter deletes a
// shared disk with its last user (nsidc/vagrant-vsphere#211), and consolidates an unshared one (API,
// PromoteDisks_Task).
func (g *Gate) unshared(ctx *simulator.Context, vm *simulator.VirtualMachine) []string {
	own := &simulator.Context{Context: ctx.Context, Map: ctx.Map}
	var files []string
	own.WithLock(vm, func() {
		files = slices.DeleteFunc(parents(disksOf(vm.Config), vm.Config.Files.VmPathName), func(f string) bool { return kept(vm.Config.ExtraConfig, f) })
	})
	if len(files) == 0 {
		return nil
	}
	for _, e := range ctx.Map.All("VirtualMachine") {
		other, ok := e.(*simulator.VirtualMachine)
		if !ok || other.Self == vm.Self {
			continue
		}
		own.WithLock(other, func() {
			theirs := parents(disksOf(other.Config), "")
			files = slices.DeleteFunc(files, func(f string) bool { return slices.Contains(theirs, f) })
		})
	}
	return files
}

// deleteDisks deletes the files of disks.
func deleteDisks(ctx *simulator.Context, dc *simulator.Datacenter, files []string) {
	for _, file := range files {
		if name := localFile(ctx, dc, file); name != "" {
			_ = os.Remove(name)
			_ = os.Remove(simulator.VirtualDiskBackingFileName(name))
		}
	}
}

// PromoteDisksTask makes disks independent of others ("Copied files always end up in the
// virtual machine's home directory. To promote the disks of a powered on VM, the VM cannot
// have snapshots", API, PromoteDisks_Task).
func (g *Gate) PromoteDisksTask(ctx *simulator.Context, req *types.PromoteDisks_Task) soap.HasFault {
	body := &methods.PromoteDisks_TaskBody{}
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		body.Fault_ = simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})
		return body
	}
	lost := g.unshared(ctx, vm)
	task := simulator.CreateTask(vm, "promoteDisks", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn && vm.Snapshot != nil && vm.Snapshot.CurrentSnapshot != nil {
			return nil, &types.InvalidState{}
		}
		devices := slices.Clone(vm.Config.Hardware.Device)
		for i, d := range devices {
			disk, ok := d.(*types.VirtualDisk)
			if !ok || len(req.Disks) > 0 && !slices.ContainsFunc(req.Disks, func(r types.VirtualDisk) bool { return r.Key == disk.Key }) {
				continue
			}
			b, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
			if !ok || below(b).Parent == nil || !req.Unlink {
				continue
			}
			alone, whole := *disk, *below(b)
			whole.Parent, alone.Backing = nil, &whole
			devices[i] = &alone
		}
		// It is no reconfiguration (judgement: as with snapshots, config.changeVersion stays).
		ctx.Update(vm, []types.PropertyChange{{Name: "config.hardware.device", Val: devices}})
		layerDisks(ctx, vm)
		if req.Unlink {
			deleteDisks(ctx, datacenterOf(ctx, vm.Self), lost)
		}
		return nil, nil
	})
	body.Res = &types.PromoteDisks_TaskResponse{Returnval: task.Run(ctx)}
	return body
}

// takeAlong deletes the files of a virtual machine when its task has succeeded.
func (g *Gate) takeAlong(ctx *simulator.Context, dc *simulator.Datacenter, task types.ManagedObjectReference, lost []string) {
	if len(lost) == 0 {
		return
	}
	g.onEnd(ctx, task, func(info types.TaskInfo) {
		if info.State == types.TaskInfoStateSuccess {
			deleteDisks(ctx, dc, lost)
		}
	})
}
