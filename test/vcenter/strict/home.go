// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// makeHome makes the directory of a new virtual machine for which none was given:
// that of its name or, if that is there, name_1 and so on, as vCenter does. The
// simulator would put the disks of both into the first, and destroy them with it.
//
// The returned function removes the directory of a creation that has failed.
func makeHome(ctx *simulator.Context, dc *simulator.Datacenter, spec *types.VirtualMachineConfigSpec) func() {
	var p object.DatastorePath
	if !p.FromString(spec.Files.VmPathName) || p.Path != "" {
		return func() {}
	}
	ds, ok := ctx.Map.FindByName(p.Datastore, dc.Datastore).(*simulator.Datastore)
	if !ok {
		return func() {}
	}
	for i := range 1024 {
		home := spec.Name
		if i > 0 {
			home = fmt.Sprintf("%s_%d", spec.Name, i)
		}
		dir := filepath.Join(ds.Summary.Url, home)
		if os.Mkdir(dir, 0o700) != nil {
			continue
		}
		p.Path = path.Join(home, spec.Name+".vmx")
		spec.Files.VmPathName = p.String()
		if home != spec.Name {
			nameDisks(ctx, dc, spec.DeviceChange, p, spec.Name)
		}
		return func() { _ = os.RemoveAll(dir) }
	}
	return func() {}
}

// nameDisks puts new disks without a place into the directory of the .vmx file.
func nameDisks(ctx *simulator.Context, dc *simulator.Datacenter, changes []types.BaseVirtualDeviceConfigSpec, vmx object.DatastorePath, name string) {
	used := map[string]bool{}
	for _, c := range changes {
		change := c.GetVirtualDeviceConfigSpec()
		disk, ok := change.Device.(*types.VirtualDisk)
		if !ok || change.Operation != types.VirtualDeviceConfigSpecOperationAdd {
			continue
		}
		backing, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo)
		if !ok {
			continue
		}
		file := backing.GetVirtualDeviceFileBackingInfo()
		var p object.DatastorePath
		if p.FromString(file.FileName); p.Path != "" {
			continue
		}
		if p.Datastore == "" {
			p.Datastore = vmx.Datastore
		}
		for i := 0; ; i++ {
			suffix := ""
			if i > 0 {
				suffix = fmt.Sprintf("_%d", i)
			}
			p.Path = path.Join(path.Dir(vmx.Path), name+suffix+".vmdk")
			if !used[p.String()] && !onDatastore(ctx, dc, p) {
				break
			}
		}
		used[p.String()] = true
		file.FileName = p.String()
	}
}

func onDatastore(ctx *simulator.Context, dc *simulator.Datacenter, p object.DatastorePath) bool {
	ds, ok := ctx.Map.FindByName(p.Datastore, dc.Datastore).(*simulator.Datastore)
	if !ok {
		return false
	}
	_, err := os.Stat(filepath.Join(ds.Summary.Url, filepath.FromSlash(p.Path)))
	return err == nil
}
