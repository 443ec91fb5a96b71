// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// bootDisk compares the first disk of the image. Which one that is is recorded while a
// new VM has no other: later nobody could tell.
func (c *comparison) bootDisk() {
	disk, _ := observe.BootDiskBeside(c.vm, c.attached())
	if disk == nil {
		return
	}
	if c.want.New {
		c.extraConfig("metadata.name", observe.BootDiskKey, observe.SlotOf(c.vm, disk), true, false)
	}
	class := ""
	if want := c.want.Effective.BootDisk; want != nil {
		if want.Capacity != nil {
			c.grow(hardware.BootDiskSize, want.Capacity, disk)
		}
		class = want.StorageClass
	}
	if policy, known := c.policy(class); known {
		c.repolicy(hardware.BootDiskStorageClass, policy, observe.BootDiskPolicyKey, disk)
	}
}

// refusedBootDisk says what of the boot disk cannot be done. Of a VM that is not there
// yet it goes by what its image says.
func (c *comparison) refusedBootDisk(say func(format string, args ...any)) {
	want := c.want.Effective.BootDisk
	if want == nil {
		return
	}
	if c.vm.Config == nil {
		if want.Capacity != nil && bytes(want.Capacity) < c.want.ImageBootDisk {
			say("%s: %s is less than the %s of the image's disk, and vSphere cannot shrink one",
				hardware.BootDiskSize, want.Capacity, hardware.Bytes(c.want.ImageBootDisk))
		}
		return
	}
	switch disk, several := observe.BootDiskBeside(c.vm, c.attached()); {
	case disk != nil:
		refusedSize(hardware.BootDiskSize, want.Capacity, disk, say)
	case several:
		say("bootDisk: the virtual machine has several disks that are no volumes, and it is not known which it boots from")
	default:
		say("bootDisk: the virtual machine has no disk but its volumes")
	}
}

func (c *comparison) unappliedBootDisk(say func(format string, args ...any)) {
	if disk, _ := observe.BootDiskBeside(c.vm, c.attached()); disk != nil && c.want.Effective.BootDisk != nil {
		unappliedProvisioning("bootDisk", c.want.Effective.BootDisk.Provisioning, disk, say)
	}
}

// imageDisk is how a disk of a clone is kept and provisioned; the first is the one that it
// boots from. A policy that encrypts comes when the clone is there.
func imageDisk(want Want, first bool) (profile []types.BaseVirtualMachineProfileSpec, backing *types.VirtualDiskFlatVer2BackingInfo) {
	class := ""
	boot := want.Effective.BootDisk
	if first && boot != nil {
		class = boot.StorageClass
	}
	c := &comparison{want: want}
	if policy, _ := c.policy(class); policy.ID != "" && !policy.Encrypted {
		profile = profileOf(policy)
	}
	if first && boot != nil && boot.Provisioning != "" {
		backing = &types.VirtualDiskFlatVer2BackingInfo{DiskMode: string(types.VirtualDiskModePersistent)}
		backing.ThinProvisioned, backing.EagerlyScrub = provisioned(boot.Provisioning, false)
	}
	return profile, backing
}
