// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	// LinkedKey marks a VM whose disks were created as linked disks of cached image copies.
	LinkedKey = "slipway.linked"
	// KeepDisksKey is the key of the names, separated by commas, of disk files that vCenter must keep when the VM
	// is deleted or its disks are promoted (vmware-tanzu/vm-operator#1077). Without it, deletion of the last linked
	// VM deletes the shared parent disk (nsidc/vagrant-vsphere#211).
	KeepDisksKey = "vmprov.keepDisks"
)

// IsLinked reports whether the VM's disks were created as linked disks of cached image copies.
func IsLinked(vm *mo.VirtualMachine) bool { return ExtraConfig(vm, LinkedKey) != "" }

// KeepsFile reports whether vCenter must keep the file.
func KeepsFile(vm *mo.VirtualMachine, file string) bool {
	var p object.DatastorePath
	return p.FromString(file) && slices.Contains(strings.Split(ExtraConfig(vm, KeepDisksKey), ","), path.Base(p.Path))
}

// LinkedDisks returns the VM's disks whose parent is in another directory. Parents in the VM's own directories belong
// to snapshots. First class disks are not returned, because they are not promoted here.
func LinkedDisks(vm *mo.VirtualMachine) []*types.VirtualDisk {
	if vm == nil || vm.Config == nil {
		return nil
	}
	own := map[string]bool{path.Dir(vm.Config.Files.VmPathName): true, strings.TrimSuffix(vm.Config.Files.SnapshotDirectory, "/"): true}
	var out []*types.VirtualDisk
	for _, device := range vm.Config.Hardware.Device {
		disk, ok := device.(*types.VirtualDisk)
		if !ok || FirstClassID(disk) != "" {
			continue
		}
		files := DiskFiles(disk.Backing)
		if slices.ContainsFunc(files[1:], func(f string) bool { return !own[path.Dir(f)] && path.Dir(f) != path.Dir(files[0]) }) {
			out = append(out, disk)
		}
	}
	return out
}

// promotionObstacle returns why vSphere cannot promote the VM's disks now, regardless of its power state. It returns an
// empty string if vSphere can.
func promotionObstacle(vm *mo.VirtualMachine) string {
	if len(vm.RootSnapshot) > 0 {
		return "vSphere cannot promote disks of a running virtual machine that has snapshots"
	}
	if IsCustomizing(vm) {
		return "the guest customization is not complete"
	}
	return ""
}
