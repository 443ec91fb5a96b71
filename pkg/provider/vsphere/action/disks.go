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

// foreignDisk is an attached disk that must be kept when the VM is destroyed.
type foreignDisk struct {
	disk         *types.VirtualDisk
	name, reason string
	// linked is true for one of the VM's own disks that is detached to keep the disk that it
	// depends on.
	linked bool
}

// foreignDisks returns the attached disks that are not the VM's own:
//   - first class disks, whose lifecycle is independent
//   - disks that several VMs write to
//   - disks that are also attached to another VM
//   - disks that depend on a copy of an image, which vCenter would delete with the last VM that uses it
//
// A disk is the VM's own if it has the recorded UUID of its slot, wherever its file is.
// foreignDisks returns an error if the disks cannot be distinguished. It also returns an error if
// the VM has a snapshot with such a disk, because vSphere deletes the disks of snapshots with the
// VM.
func foreignDisks(vm *mo.VirtualMachine, all []*mo.VirtualMachine) ([]foreignDisk, error) {
	home, ok := observe.Home(vm)
	if !ok {
		return nil, errors.New("the VM's configuration cannot be read, so its own disks are unknown")
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
		reason := foreignReason(disk, files[0], home, uuid)
		if otherVM := otherUserOf(files[0], vm, all); reason == "" && otherVM != "" {
			reason = "it is also attached to virtual machine " + otherVM
		}
		if reason != "" {
			out = append(out, foreignDisk{disk: disk, name: files[0], reason: reason})
		}
		base := slices.ContainsFunc(files, func(f string) bool {
			return !observe.IsWithin(f, home) && !observe.KeepsFile(vm, f) && !(own && (path.Dir(f) == path.Dir(files[0]) || observe.IsNextToHome(vm, f)))
		})
		if reason == "" && len(files) > 1 && len(vm.RootSnapshot) == 0 && observe.IsLinked(vm) {
			out = append(out, foreignDisk{disk: disk, name: files[0], reason: "it depends on " + files[1] + ", which other virtual machines use", linked: true})
		}
		if len(vm.RootSnapshot) > 0 && (reason != "" || base) {
			return nil, fmt.Errorf("the VM has snapshots, with which vSphere would delete disk %s, which is not the VM's own: delete the snapshots first", files[len(files)-1])
		}
	}
	return out, nil
}

// foreignReason returns the reason why the disk with the file is not the VM's own. It returns an empty
// string if the disk is the VM's own. recorded is the UUID of the slot's own disk, or empty if none
// is recorded.
func foreignReason(disk *types.VirtualDisk, file string, home object.DatastorePath, recorded string) string {
	uuid := observe.DiskUUID(disk)
	switch {
	case disk.VDiskId != nil && disk.VDiskId.Id != "":
		return "first class disk " + disk.VDiskId.Id
	case observe.Shared(disk.Backing):
		return "several virtual machines write to it"
	case observe.IsOther(recorded, disk):
		return fmt.Sprintf("its UUID is %s, but the disk that was created or adopted in its slot has UUID %s", uuid, recorded)
	case !strings.EqualFold(recorded, uuid) || uuid == "":
		if !observe.IsWithin(file, home) {
			return fmt.Sprintf("it is outside of [%s] %s and its UUID was not recorded", home.Datastore, home.Path)
		}
	}
	return ""
}

// otherUserOf returns the name of another VM that has the file attached as a disk. It returns an empty
// string if there is none.
func otherUserOf(file string, vm *mo.VirtualMachine, all []*mo.VirtualMachine) string {
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
