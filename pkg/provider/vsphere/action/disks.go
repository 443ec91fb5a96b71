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
// an image, which vCenter would delete with the last VM that has it. It fails when it cannot
// tell, and when a snapshot would take such a disk along however it is detached.
func foreignDisks(vm *mo.VirtualMachine) ([]foreignDisk, error) {
	var home object.DatastorePath
	if vm.Config == nil || !home.FromString(vm.Config.Files.VmPathName) {
		return nil, errors.New("its configuration cannot be read, so that nobody knows which disks are its own")
	}
	home.Path = path.Dir(home.Path)
	var out []foreignDisk
	recorded := slices.Collect(maps.Values(observe.Volumes(vm)))
	for _, d := range vm.Config.Hardware.Device {
		disk, ok := d.(*types.VirtualDisk)
		if !ok {
			continue
		}
		files := observe.DiskFiles(disk.Backing)
		own := slices.Contains(recorded, disk)
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

// within is true for a file in the directory home or below it.
func within(file string, home object.DatastorePath) bool {
	var p object.DatastorePath
	if !p.FromString(file) || p.Datastore != home.Datastore {
		return false
	}
	return path.Dir(p.Path) == home.Path || home.Path != "." && strings.HasPrefix(p.Path, home.Path+"/")
}
