// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// claimPrefix and a volume's name form the extraConfig key of the ID of the first class disk of the volume's claim.
// The key is written before the disk is attached and removed after it was detached. A disk with such a key may be
// detached by Slipway, even if another process attached it. All other attached first class disks belong to other
// clients.
const claimPrefix = "slipway.claim."

// ClaimKey returns the extraConfig key of the ID of a claim's disk.
func ClaimKey(volume string) string { return claimPrefix + volume }

// Claims returns the IDs of claims' disks that are attached or are being attached, by volume name.
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

// FirstClassID returns a first class disk's ID in lower case. It returns an empty string for other disks.
func FirstClassID(disk *types.VirtualDisk) string {
	if disk.VDiskId == nil {
		return ""
	}
	return strings.ToLower(disk.VDiskId.Id)
}

// FirstClass returns the VM's first class disks by ID.
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
