// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	// maxContent is the maximum that is stored of a disk with a snapshot. It is enough for the data of tests.
	maxContent = 64 << 10
	// LockedDisks is the advanced setting of a virtual machine whose disks another process, such as a backup, has
	// open. Snapshot files of such disks cannot be merged.
	LockedDisks = "slipway-dev.locked-disks"
	// StuckSnapshots is the advanced setting of a virtual machine whose snapshots are kept although the tasks that
	// remove them succeed.
	StuckSnapshots = "slipway-dev.stuck-snapshots"
)

// contents are the contents of a virtual machine's disks at a snapshot, by file.
type contents map[string][]byte

// localFile returns the local path of a datastore file, or an empty string.
func localFile(ctx *simulator.Context, dc *simulator.Datacenter, file string) string {
	var p object.DatastorePath
	if dc == nil || !p.FromString(file) {
		return ""
	}
	ds, ok := ctx.Map.FindByName(p.Datastore, dc.Datastore).(*simulator.Datastore)
	if !ok {
		return ""
	}
	return filepath.Join(ds.Summary.Url, filepath.FromSlash(p.Path))
}

// contentsOf reads the disks in a snapshot. Independent disks are excluded (VirtualDiskMode).
func contentsOf(ctx *simulator.Context, vm *simulator.VirtualMachine) contents {
	dc, out := datacenterOf(ctx, vm.Self), contents{}
	for _, d := range vm.Config.Hardware.Device {
		disk, ok := d.(*types.VirtualDisk)
		if !ok {
			continue
		}
		flat, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
		if !ok || strings.HasPrefix(flat.DiskMode, "independent") {
			continue
		}
		file := simulator.VirtualDiskBackingFileName(localFile(ctx, dc, below(flat).FileName))
		if info, err := os.Stat(file); err != nil || info.Size() > maxContent {
			continue
		}
		if data, err := os.ReadFile(file); err == nil {
			out[file] = data
		}
	}
	return out
}

// keepContents stores the contents of disks at a snapshot. nil deletes them.
func (g *Gate) keepContents(snapshot types.ManagedObjectReference, had contents) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if had == nil {
		delete(g.contents, snapshot)
		return
	}
	g.contents[snapshot] = had
}

func (g *Gate) contentsAt(snapshot types.ManagedObjectReference) contents {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.contents[snapshot]
}

// write restores the contents of the disks.
func (c contents) write() types.BaseMethodFault {
	for file, data := range c {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return &types.CannotAccessFile{FileFault: types.FileFault{File: file}}
		}
	}
	return nil
}

// locked reports whether the disks of a virtual machine are open elsewhere.
func locked(vm *simulator.VirtualMachine) bool { return isSet(vm, LockedDisks) }

// isSet reports whether an advanced setting of a virtual machine is true.
func isSet(vm *simulator.VirtualMachine, key string) bool {
	for _, o := range vm.Config.ExtraConfig {
		if v := o.GetOptionValue(); v.Key == key && v.Value == "true" {
			return true
		}
	}
	return false
}

// needConsolidation reports whether disks of a virtual machine have files of deleted snapshots.
func needConsolidation(ctx *simulator.Context, vm *simulator.VirtualMachine, needed bool) {
	ctx.Update(vm, []types.PropertyChange{{Name: "runtime.consolidationNeeded", Val: needed}})
}

// ConsolidateVMDisksTask merges the files that the removal of snapshots has left.
func (g *Gate) ConsolidateVMDisksTask(ctx *simulator.Context, req *types.ConsolidateVMDisks_Task) soap.HasFault {
	body := &methods.ConsolidateVMDisks_TaskBody{}
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		body.Fault_ = simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})
		return body
	}
	body.Res = &types.ConsolidateVMDisks_TaskResponse{Returnval: g.onSnapshots(ctx, vm, "consolidateVMDisks", func() (_ types.AnyType, fault types.BaseMethodFault) {
		ctx.WithLock(vm, func() {
			if locked(vm) {
				fault = &types.FileLocked{FileFault: types.FileFault{File: vm.Config.Files.VmPathName}}
				return
			}
			needConsolidation(ctx, vm, false)
		})
		return nil, fault
	})}
	return body
}
