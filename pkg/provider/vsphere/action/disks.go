// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// foreignDisk is a disk that must outlive the VM that it is attached to.
type foreignDisk struct {
	disk      *types.VirtualDisk
	name, why string
}

// foreignDisks are the attached disks that are not the VM's own: first class disks,
// which have a life of their own, disks that several VMs write to, those outside of
// the VM's directory that are recorded as no volume of it, and those that depend on a copy of
// an image, which vCenter would delete with the last VM that has it. A volume is recorded by its
// place, where there may be another disk by now: one in the directory of another one of all VMs
// is none of vm. It fails when it cannot tell, and when a snapshot would take such a disk along
// however it is detached.
func foreignDisks(vm *mo.VirtualMachine, all []*mo.VirtualMachine) ([]foreignDisk, error) {
	home, ok := homeOf(vm)
	if !ok {
		return nil, errors.New("its configuration cannot be read, so that nobody knows which disks are its own")
	}
	var out []foreignDisk
	recorded := slices.Collect(maps.Values(observe.Volumes(vm)))
	for _, d := range vm.Config.Hardware.Device {
		disk, ok := d.(*types.VirtualDisk)
		if !ok {
			continue
		}
		files := observe.DiskFiles(disk.Backing)
		own := slices.Contains(recorded, disk) && (within(files[0], home) || !ofAnother(files[0], vm, all))
		why := foreign(disk, files[0], home, own)
		if why != "" {
			out = append(out, foreignDisk{disk: disk, name: files[0], why: why})
		}
		base := !own && slices.ContainsFunc(files, func(f string) bool { return !within(f, home) && !observe.Keeps(vm, f) })
		if why == "" && len(files) > 1 && len(vm.RootSnapshot) == 0 && observe.Linked(vm) {
			out = append(out, foreignDisk{disk: disk, name: files[0], why: "it depends on " + files[1] + ", which others have"})
		}
		if len(vm.RootSnapshot) > 0 && (why != "" || base) {
			return nil, fmt.Errorf("it has snapshots, with which vSphere would delete the disk of somebody else %s: delete the snapshots first", files[len(files)-1])
		}
	}
	return out, nil
}

// foreign says why the disk with the file is not the VM's own; empty when it is.
func foreign(disk *types.VirtualDisk, file string, home object.DatastorePath, recorded bool) string {
	switch {
	case disk.VDiskId != nil && disk.VDiskId.Id != "":
		return "first class disk " + disk.VDiskId.Id
	case observe.Shared(disk.Backing):
		return "several virtual machines write to it"
	case !recorded && !within(file, home):
		return fmt.Sprintf("it is outside of [%s] %s", home.Datastore, home.Path)
	}
	return ""
}

// homeOf is the directory of the VM; ok is false if it cannot be read.
func homeOf(vm *mo.VirtualMachine) (home object.DatastorePath, ok bool) {
	if vm.Config == nil || !home.FromString(vm.Config.Files.VmPathName) {
		return home, false
	}
	home.Path = path.Dir(home.Path)
	return home, true
}

// ofAnother is true for a file in the directory of another VM than vm. One that has the name of
// vm says nothing: vSphere makes such directories for the disks of vm on other datastores.
func ofAnother(file string, vm *mo.VirtualMachine, all []*mo.VirtualMachine) bool {
	own, _ := homeOf(vm)
	names := []string{path.Base(own.Path), strings.TrimSuffix(path.Base(vm.Config.Files.VmPathName), ".vmx")}
	return slices.ContainsFunc(all, func(other *mo.VirtualMachine) bool {
		home, ok := homeOf(other)
		dir := path.Base(home.Path)
		alike := slices.ContainsFunc(names, func(name string) bool { return dir == name || strings.HasPrefix(dir, name+"_") })
		return ok && other.Self != vm.Self && !alike && within(file, home)
	})
}

// within is true for a file in the directory home or below it.
func within(file string, home object.DatastorePath) bool {
	var p object.DatastorePath
	if !p.FromString(file) || p.Datastore != home.Datastore {
		return false
	}
	return path.Dir(p.Path) == home.Path || home.Path != "." && strings.HasPrefix(p.Path, home.Path+"/")
}
