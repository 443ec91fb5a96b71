// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// claimPrefix and the name of a volume are the key of extraConfig that holds the ID of the
// first class disk of its claim. The key is written before the disk is attached and
// removed after it was detached, so that a disk which an earlier process has attached is
// known to be ours to detach. Others that are attached are somebody else's.
const claimPrefix = "slipway.claim."

// ClaimKey is the key of extraConfig that holds the ID of the disk of a claim.
func ClaimKey(volume string) string { return claimPrefix + volume }

// Claims are the IDs of the disks of claims that the VM has or was about to get, by the
// name of the volume.
func Claims(vm *mo.VirtualMachine) map[string]string {
	if vm == nil || vm.Config == nil {
		return nil
	}
	var out map[string]string
	for _, o := range vm.Config.ExtraConfig {
		name, ok := CutKey(o.GetOptionValue().Key, claimPrefix)
		id, _ := o.GetOptionValue().Value.(string)
		if !ok || id == "" {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = strings.ToLower(id)
	}
	return out
}

// FirstClassID is the ID of a first class disk in lower case, empty for other disks.
func FirstClassID(disk *types.VirtualDisk) string {
	if disk.VDiskId == nil {
		return ""
	}
	return strings.ToLower(disk.VDiskId.Id)
}

// FirstClass are the first class disks that the VM has, by their IDs.
func FirstClass(vm *mo.VirtualMachine) map[string]*types.VirtualDisk {
	if vm == nil || vm.Config == nil {
		return nil
	}
	var out map[string]*types.VirtualDisk
	for _, d := range vm.Config.Hardware.Device {
		disk, ok := d.(*types.VirtualDisk)
		if !ok || FirstClassID(disk) == "" {
			continue
		}
		if out == nil {
			out = map[string]*types.VirtualDisk{}
		}
		out[FirstClassID(disk)] = disk
	}
	return out
}
