// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"maps"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// recordDisks records the UUIDs of the boot disk, the volumes' disks and the disks that the VM was created with.
// Older versions recorded a disk only by its slot. The disk in the slot may have been replaced since then. Its UUID is
// recorded only if its file is in the VM's own directory.
func recordDisks(in *input) []Difference {
	var out []Difference
	recorded, attached := observe.DiskRecords(in.vm), attachedDisks(in)
	var own []*types.VirtualDisk
	if in.New {
		own = ownDisks(in.vm)
	}
	if boot, _ := observe.BootDiskOf(in.vm, attached); boot != nil {
		own = append(own, boot)
	}
	for _, name := range slices.Sorted(maps.Keys(attached)) {
		own = append(own, attached[name])
	}
	done := map[string]bool{}
	for _, disk := range own {
		if disk == nil {
			continue
		}
		slot, uuid := observe.SlotOf(in.vm, disk), lower(observe.DiskUUID(disk))
		if slot == "" || uuid == "" || done[slot] || !isRecordable(in, recorded[slot], disk) {
			continue
		}
		done[slot] = true
		out = append(out, compareOption(in, "metadata.volumes", observe.DiskKey(slot), uuid, true, false))
	}
	return out
}

// isRecordable reports whether a disk's UUID must be recorded.
func isRecordable(in *input, recorded string, disk *types.VirtualDisk) bool {
	switch recorded {
	case "":
		return in.New || isAdopting(in, disk) || observe.IsNextToHome(in.vm, observe.DiskFiles(disk.Backing)[0])
	case observe.DiskCreated:
		return true
	}
	return false
}

// isAdopting reports whether the disk is being adopted as a volume's disk.
func isAdopting(in *input, disk *types.VirtualDisk) bool {
	if !in.adopted {
		return false
	}
	volumes := observe.Volumes(in.vm)
	for name, have := range attachedDisks(in) {
		if _, recorded := volumes[name]; have == disk && !recorded {
			return true
		}
	}
	return false
}
