// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"path"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// diskPrefix and a slot form the key of the UUID of the disk that was created or adopted in the slot. The UUID is
// in the disk's descriptor (API, VirtualDiskFlatVer2BackingInfo.uuid). It does not change when the file is moved or
// renamed, or when a snapshot creates a child disk.
const diskPrefix = "slipway.disk."

// DiskCreated is recorded by the reconfiguration that adds a disk, because the disk has no UUID yet.
const DiskCreated = "created"

// DiskKey returns the extraConfig key of the UUID of the disk in a slot.
func DiskKey(slot string) string { return diskPrefix + slot }

// DiskRecords returns the recorded disk UUIDs by slot.
func DiskRecords(vm *mo.VirtualMachine) map[string]string {
	if vm == nil || vm.Config == nil {
		return nil
	}
	var out map[string]string
	for _, o := range vm.Config.ExtraConfig {
		slot, ok := CutKey(o.GetOptionValue().Key, diskPrefix)
		uuid, _ := o.GetOptionValue().Value.(string)
		if !ok || uuid == "" {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[strings.ToLower(slot)] = uuid
	}
	return out
}

// IsOther reports whether disk is not the recorded disk of its slot. It returns false if one of the UUIDs is not
// known.
func IsOther(recorded string, disk *types.VirtualDisk) bool {
	uuid := DiskUUID(disk)
	return recorded != "" && recorded != DiskCreated && uuid != "" && !strings.EqualFold(recorded, uuid)
}

// Home returns the VM's directory. ok is false if the path is not known.
func Home(vm *mo.VirtualMachine) (home object.DatastorePath, ok bool) {
	if vm.Config == nil || !home.FromString(vm.Config.Files.VmPathName) {
		return home, false
	}
	home.Path = path.Dir(home.Path)
	return home, true
}

// IsWithin reports whether a file is in a directory or below it.
func IsWithin(file string, home object.DatastorePath) bool {
	var p object.DatastorePath
	if !p.FromString(file) || p.Datastore != home.Datastore {
		return false
	}
	return path.Dir(p.Path) == home.Path || home.Path != "." && strings.HasPrefix(p.Path, home.Path+"/")
}

// IsNextToHome reports whether a file is in the VM's directory or in a directory of the same name on another
// datastore. vSphere creates such directories for disks on other datastores.
func IsNextToHome(vm *mo.VirtualMachine, file string) bool {
	home, ok := Home(vm)
	if !ok || IsWithin(file, home) {
		return ok
	}
	var p object.DatastorePath
	if !p.FromString(file) || p.Datastore == home.Datastore {
		return false
	}
	dir := path.Base(path.Dir(p.Path))
	for _, name := range []string{path.Base(home.Path), strings.TrimSuffix(path.Base(vm.Config.Files.VmPathName), ".vmx")} {
		if dir == name || strings.HasPrefix(dir, name+"_") {
			return true
		}
	}
	return false
}
