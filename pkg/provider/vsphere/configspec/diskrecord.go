// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// recordDisks records the UUIDs of the disks that the VM was created with, of its boot disk and
// of its volumes. A disk that an older version has recorded by its slot alone may have been
// replaced since: it is recorded only if its file is where vSphere puts the VM's own disks.
func (c *comparison) recordDisks() {
	if c.vm.Config == nil {
		return
	}
	recorded, attached := observe.DiskRecords(c.vm), c.attached()
	var own []*types.VirtualDisk
	if c.want.New {
		own = c.imageDisks()
	}
	if boot, _ := observe.BootDiskBeside(c.vm, attached); boot != nil {
		own = append(own, boot)
	}
	for _, name := range sortedKeys(attached) {
		own = append(own, attached[name])
	}
	done := map[string]bool{}
	for _, disk := range own {
		if disk == nil {
			continue
		}
		slot, uuid := observe.SlotOf(c.vm, disk), lower(observe.DiskUUID(disk))
		if slot == "" || uuid == "" || done[slot] || !c.recordable(recorded[slot], disk) {
			continue
		}
		done[slot] = true
		c.extraConfig("metadata.volumes", observe.DiskKey(slot), uuid, true, false)
	}
}

// recordable reports whether the UUID of a disk is to be recorded.
func (c *comparison) recordable(recorded string, disk *types.VirtualDisk) bool {
	switch recorded {
	case "":
		return c.want.New || c.adopts(disk) || observe.BesideHome(c.vm, observe.DiskFiles(disk.Backing)[0])
	case observe.DiskCreated:
		return true
	}
	return false
}

// adopts reports whether the disk is being adopted as that of a volume.
func (c *comparison) adopts(disk *types.VirtualDisk) bool {
	if !c.adopted {
		return false
	}
	volumes := observe.Volumes(c.vm)
	for name, have := range c.attached() {
		if _, recorded := volumes[name]; have == disk && !recorded {
			return true
		}
	}
	return false
}

// imageDisks returns the disks of a new VM: all that it has come from its image.
func (c *comparison) imageDisks() []*types.VirtualDisk {
	var out []*types.VirtualDisk
	for _, d := range c.vm.Config.Hardware.Device {
		if disk, ok := d.(*types.VirtualDisk); ok && observe.FirstClassID(disk) == "" {
			out = append(out, disk)
		}
	}
	return out
}
