// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"errors"
	"fmt"
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
	// linked is true for a disk of the VM itself that is detached for what it depends on.
	linked bool
}

// foreignDisks returns the attached disks that are not the VM's own: first class disks,
// which have a life of their own, disks that several VMs write to, disks that others have,
// and those that depend on a copy of an image, which vCenter would delete with the last VM that
// has it. A disk is the VM's own if it has the recorded UUID of its slot, wherever its file is.
// It returns an error if the disks cannot be distinguished. It also returns an error if the VM has
// a snapshot with such a disk, because vSphere deletes the disks of snapshots with the VM.
func foreignDisks(vm *mo.VirtualMachine, all []*mo.VirtualMachine) ([]foreignDisk, error) {
	home, ok := observe.Home(vm)
	if !ok {
		return nil, errors.New("its configuration cannot be read, so that nobody knows which disks are its own")
	}
	var out []foreignDisk
	recorded := observe.DiskRecords(vm)
	for _, d := range vm.Config.Hardware.Device {
		disk, ok := d.(*types.VirtualDisk)
		if !ok {
			continue
		}
		files := observe.DiskFiles(disk.Backing)
		uuid := recorded[observe.SlotOf(vm, disk)]
		own := uuid != "" && strings.EqualFold(uuid, observe.DiskUUID(disk))
		why := foreign(disk, files[0], home, uuid)
		if by := userOf(files[0], vm, all); why == "" && by != "" {
			why = "virtual machine " + by + " has it too"
		}
		if why != "" {
			out = append(out, foreignDisk{disk: disk, name: files[0], why: why})
		}
		base := slices.ContainsFunc(files, func(f string) bool {
			return !observe.Within(f, home) && !observe.Keeps(vm, f) && !(own && (path.Dir(f) == path.Dir(files[0]) || observe.BesideHome(vm, f)))
		})
		if why == "" && len(files) > 1 && len(vm.RootSnapshot) == 0 && observe.Linked(vm) {
			out = append(out, foreignDisk{disk: disk, name: files[0], why: "it depends on " + files[1] + ", which others have", linked: true})
		}
		if len(vm.RootSnapshot) > 0 && (why != "" || base) {
			return nil, fmt.Errorf("it has snapshots, with which vSphere would delete the disk of somebody else %s: delete the snapshots first", files[len(files)-1])
		}
	}
	return out, nil
}

// foreign returns why the disk with the file is not the VM's own; empty if it is. recorded is
// the UUID of the slot's own disk, empty if none is recorded.
func foreign(disk *types.VirtualDisk, file string, home object.DatastorePath, recorded string) string {
	uuid := observe.DiskUUID(disk)
	switch {
	case disk.VDiskId != nil && disk.VDiskId.Id != "":
		return "first class disk " + disk.VDiskId.Id
	case observe.Shared(disk.Backing):
		return "several virtual machines write to it"
	case observe.IsOther(recorded, disk):
		return fmt.Sprintf("its UUID is %s, and the disk that was created or adopted in its slot has %s", uuid, recorded)
	case !strings.EqualFold(recorded, uuid) || uuid == "":
		if !observe.Within(file, home) {
			return fmt.Sprintf("it is outside of [%s] %s, and its UUID was not recorded", home.Datastore, home.Path)
		}
	}
	return ""
}

// userOf returns the name of another VM that has the file as a disk too, empty for none.
func userOf(file string, vm *mo.VirtualMachine, all []*mo.VirtualMachine) string {
	for _, other := range all {
		if other.Self == vm.Self || other.Config == nil {
			continue
		}
		for _, d := range other.Config.Hardware.Device {
			if disk, ok := d.(*types.VirtualDisk); ok && observe.DiskFiles(disk.Backing)[0] == file {
				return cmp.Or(other.Name, other.Self.Value)
			}
		}
	}
	return ""
}
