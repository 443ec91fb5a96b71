// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// moveFiles moves the files of a virtual machine as a Storage vMotion does, which the
// simulator leaves out: its directory to another datastore, where it gets the virtual machine's
// present name ("the virtual machine's files are renamed to match the inventory name",
// vCenter Server and Host Management, Migration with Storage vMotion), or the single disks that
// have a locator (API, VirtualMachineRelocateSpec.disk). UUIDs of disks stay.
func (g *Gate) moveFiles(ctx *simulator.Context, vm *simulator.VirtualMachine, spec *types.VirtualMachineRelocateSpec) types.BaseMethodFault {
	dc := datacenterOf(ctx, vm.Self)
	stampDisks(ctx, vm)
	apart := map[int32]bool{}
	for _, at := range spec.Disk {
		apart[at.DiskId] = true
	}
	for _, at := range spec.Disk {
		if fault := moveDisk(ctx, dc, vm, at, spec.Datastore); fault != nil {
			return fault
		}
	}
	to, ok := datastoreAt(ctx, spec.Datastore)
	var home object.DatastorePath
	if home.FromString(vm.Config.Files.VmPathName); !ok || home.Datastore == to.Name {
		return nil
	}
	from := localFile(ctx, dc, vm.Config.Files.VmPathName)
	dir, target := filepath.Dir(from), makeDirectory(to, vm.Name)
	for _, disk := range disksOf(vm.Config) {
		if apart[disk.Key] && filepath.Dir(localFile(ctx, dc, fileOf(disk))) == dir {
			return &types.NotSupported{} // a disk that is not moved but is in the moved directory
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return &types.FileNotFound{FileFault: types.FileFault{File: home.String()}}
	}
	for _, e := range entries {
		if err := os.Rename(filepath.Join(dir, e.Name()), filepath.Join(to.Summary.Url, target, e.Name())); err != nil {
			return &types.CannotCreateFile{FileFault: types.FileFault{File: e.Name()}}
		}
	}
	_ = os.Remove(dir)
	RenameFiles(ctx, vm, fmt.Sprintf("[%s] %s/", home.Datastore, path.Dir(home.Path)), fmt.Sprintf("[%s] %s/", to.Name, target))
	return nil
}

// moveReferences enters a virtual machine in the lists of its new host, pool and datastore, and
// removes it from those of the previous ones. The simulator does neither.
func moveReferences(ctx *simulator.Context, vm *simulator.VirtualMachine, spec *types.VirtualMachineRelocateSpec) {
	var from, to mo.VirtualMachine
	if spec.Host != nil {
		from.Runtime.Host, to.Runtime.Host = vm.Runtime.Host, spec.Host
	}
	if spec.Pool != nil {
		from.ResourcePool, to.ResourcePool = vm.ResourcePool, spec.Pool
	}
	if spec.Datastore != nil {
		from.Datastore, to.Datastore = vm.Datastore, []types.ManagedObjectReference{*spec.Datastore}
	}
	for _, holder := range holders(ctx, &from) {
		ctx.Map.RemoveReference(ctx, holder.obj, holder.field, vm.Self)
	}
	for _, holder := range holders(ctx, &to) {
		ctx.Map.AddReference(ctx, holder.obj, holder.field, vm.Self)
	}
}

// moveDisk moves one disk. If the virtual machine is not moved, the disk gets a directory with the name of the
// virtual machine.
func moveDisk(ctx *simulator.Context, dc *simulator.Datacenter, vm *simulator.VirtualMachine, at types.VirtualMachineRelocateSpecDiskLocator, home *types.ManagedObjectReference) types.BaseMethodFault {
	to, ok := datastoreAt(ctx, &at.Datastore)
	i := slices.IndexFunc(disksOf(vm.Config), func(d *types.VirtualDisk) bool { return d.Key == at.DiskId })
	if !ok || i < 0 {
		return &types.InvalidArgument{InvalidProperty: "spec.disk"}
	}
	disk := disksOf(vm.Config)[i]
	var p object.DatastorePath
	if p.FromString(fileOf(disk)); p.Datastore == to.Name || hasParent(disk) || home != nil && *home == at.Datastore {
		return nil
	}
	from, target := localFile(ctx, dc, fileOf(disk)), makeDirectory(to, vm.Name)
	moved := filepath.Join(to.Summary.Url, target, path.Base(p.Path))
	if err := os.Rename(from, moved); err != nil {
		return &types.FileNotFound{FileFault: types.FileFault{File: p.String()}}
	}
	_ = os.Rename(simulator.VirtualDiskBackingFileName(from), simulator.VirtualDiskBackingFileName(moved))
	RenameFiles(ctx, vm, p.String(), fmt.Sprintf("[%s] %s/%s", to.Name, target, path.Base(p.Path)))
	return nil
}

func datastoreAt(ctx *simulator.Context, ref *types.ManagedObjectReference) (*simulator.Datastore, bool) {
	if ref == nil {
		return nil, false
	}
	ds, ok := ctx.Map.Get(*ref).(*simulator.Datastore)
	return ds, ok
}

// makeDirectory creates a directory of the name or, if that exists, name_1 and so on.
func makeDirectory(ds *simulator.Datastore, name string) string {
	dir := name
	for i := 1; os.Mkdir(filepath.Join(ds.Summary.Url, dir), 0o700) != nil && i < 1024; i++ {
		dir = fmt.Sprintf("%s_%d", name, i)
	}
	return dir
}

// RenameFiles replaces the prefix of all file paths of a virtual machine. ctx holds the lock of the virtual machine.
func RenameFiles(ctx *simulator.Context, vm *simulator.VirtualMachine, from, to string) {
	for _, part := range []any{vm.Config, vm.Layout, vm.LayoutEx, &vm.Summary} {
		rename(reflect.ValueOf(part), from, to)
	}
	ctx.Update(vm, []types.PropertyChange{
		{Name: "config", Val: *vm.Config}, {Name: "layoutEx", Val: *vm.LayoutEx}, {Name: "summary", Val: vm.Summary},
	})
}

// rename replaces a prefix in all strings below v.
func rename(v reflect.Value, from, to string) {
	switch v.Kind() { //nolint:exhaustive // the others hold no strings
	case reflect.String:
		if rest, ok := strings.CutPrefix(v.String(), from); ok && v.CanSet() {
			v.SetString(to + rest)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			rename(v.Elem(), from, to)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			rename(v.Field(i), from, to)
		}
	case reflect.Slice:
		for i := range v.Len() {
			rename(v.Index(i), from, to)
		}
	}
}
