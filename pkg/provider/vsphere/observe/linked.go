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
	// LinkedKey marks a VM whose disks were made as ones that depend on copies of its image.
	LinkedKey = "slipway.linked"
	// KeepDisksKey tells vCenter which disks to keep when the VM is deleted or its disks are
	// promoted, though no other VM has them: names of files with commas between them
	// (vmware-tanzu/vm-operator#1077). Without it who deletes the last of several linked
	// VMs deletes the disk that they share (nsidc/vagrant-vsphere#211).
	KeepDisksKey = "vmprov.keepDisks"
)

// Linked is true for a VM whose disks were made as ones that depend on copies of its image.
func Linked(vm *mo.VirtualMachine) bool { return ExtraConfig(vm, LinkedKey) != "" }

// Keeps is true if vCenter is told to keep the file.
func Keeps(vm *mo.VirtualMachine, file string) bool {
	var p object.DatastorePath
	return p.FromString(file) && slices.Contains(strings.Split(ExtraConfig(vm, KeepDisksKey), ","), path.Base(p.Path))
}

// Depending are the disks of the VM that depend on one elsewhere. Those of snapshots do not,
// for they are in a directory of the VM, and first class disks are for others to promote.
func Depending(vm *mo.VirtualMachine) []*types.VirtualDisk {
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

// unpromotable returns why vSphere cannot make the disks of the VM independent now, whatever its power state; empty if
// it can.
func unpromotable(vm *mo.VirtualMachine) string {
	if len(vm.RootSnapshot) > 0 {
		return "it has snapshots, with which vSphere does not promote the disks of a virtual machine that runs"
	}
	if Customizing(vm) {
		return "its guest is being customized"
	}
	return ""
}
