// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package datastores

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// MakeDirectory creates a directory, with its parents if requested.
func (d *Datastores) MakeDirectory(ctx *simulator.Context, req *types.MakeDirectory) soap.HasFault {
	body := &methods.MakeDirectoryBody{}
	if fault := d.makeDirectory(ctx, req); fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	body.Res = &types.MakeDirectoryResponse{}
	return body
}

func (d *Datastores) makeDirectory(ctx *simulator.Context, req *types.MakeDirectory) types.BaseMethodFault {
	if fault := d.ordered("MakeDirectory"); fault != nil {
		return fault
	}
	f, fault := d.resolve(ctx, req.Datacenter, req.Name)
	if fault != nil {
		return fault
	}
	top, below, _ := strings.Cut(f.path, "/")
	if !topLevel(f.on) {
		at, fault := d.resolve(ctx, req.Datacenter, "["+f.on.Name+"] "+top)
		// API, FileManager.MakeDirectory and Datastore.capability
		// .topLevelDirectoryCreateSupported; which fault is a judgement.
		if fault != nil || below == "" || !at.there() {
			return &types.CannotCreateFile{FileFault: f.fault()}
		}
	}
	mkdir := os.Mkdir
	if req.CreateParentDirectories != nil && *req.CreateParentDirectories && !f.there() {
		mkdir = os.MkdirAll
	}
	switch err := mkdir(f.disk, 0o700); {
	case errors.Is(err, fs.ErrExist):
		return &types.FileAlreadyExists{FileFault: f.fault()}
	case errors.Is(err, fs.ErrNotExist):
		return &types.FileNotFound{FileFault: f.fault()}
	case err != nil:
		return &types.CannotCreateFile{FileFault: f.fault()}
	}
	return nil
}

// DeleteDatastoreFileTask deletes a file, or a directory with its contents.
func (d *Datastores) DeleteDatastoreFileTask(ctx *simulator.Context, req *types.DeleteDatastoreFile_Task) soap.HasFault {
	task := d.task("DeleteDatastoreFile_Task", "FileManager.deleteFile", req.Name, func(*simulator.Task) types.BaseMethodFault {
		return d.remove(ctx, req.Datacenter, req.Name, false)
	})
	return &methods.DeleteDatastoreFile_TaskBody{Res: &types.DeleteDatastoreFile_TaskResponse{Returnval: task.Run(ctx)}}
}

// remove deletes a file or directory that is not open.
func (d *Datastores) remove(ctx *simulator.Context, dc *types.ManagedObjectReference, name string, namespace bool) types.BaseMethodFault {
	f, fault := d.resolve(ctx, dc, name)
	switch {
	case fault != nil:
		return fault
	case !f.there():
		return &types.FileNotFound{FileFault: f.fault()}
	case f.path == "", !namespace && !topLevel(f.on) && !strings.Contains(f.path, "/"):
		return &types.CannotDeleteFile{FileFault: f.fault()}
	}
	if used := d.inUse(f); used != "" {
		return &types.FileLocked{FileFault: types.FileFault{File: used}}
	}
	size := d.size(f)
	if err := os.RemoveAll(f.disk); err != nil {
		return &types.CannotDeleteFile{FileFault: f.fault()}
	}
	d.mu.Lock()
	for p := range d.sizes {
		if within(p, f.disk) {
			delete(d.sizes, p)
		}
	}
	d.mu.Unlock()
	return d.charge(f.on, -size)
}

// within reports whether a path is a directory or below it.
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, dir+string(filepath.Separator))
}

// inUse returns a file at or below f that a copy or a running virtual machine has open.
func (d *Datastores) inUse(f file) string {
	d.mu.Lock()
	for p := range d.open {
		if within(p, f.disk) {
			d.mu.Unlock()
			return p
		}
	}
	d.mu.Unlock()
	for _, e := range d.registry.All("VirtualMachine") {
		vm, ok := e.(*simulator.VirtualMachine)
		if !ok {
			continue
		}
		var used string
		own := &simulator.Context{Context: simulator.NewContext().Context, Map: d.registry}
		own.WithLock(vm, func() {
			if vm.Config == nil || vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
				return
			}
			for _, name := range chains(vm.Config.Hardware.Device) {
				if rest, ok := strings.CutPrefix(name, "["+f.on.Name+"] "); ok && within(filepath.Join(f.on.Summary.Url, rest), f.disk) {
					used = name
				}
			}
		})
		if used != "" {
			return used
		}
	}
	return ""
}

// chains returns the files of disks and of all their parents.
func chains(devices []types.BaseVirtualDevice) []string {
	var names []string
	for _, device := range devices {
		disk, ok := device.(*types.VirtualDisk)
		if !ok {
			continue
		}
		flat, _ := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
		for ; flat != nil; flat = flat.Parent {
			names = append(names, flat.FileName)
		}
	}
	return names
}
