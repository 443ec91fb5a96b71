// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// compareBootDisk compares the size of the first disk of the image. Which disk that is, is recorded while a
// new VM has no other: later it cannot be told apart.
func compareBootDisk(in *input) []Difference {
	disk, _ := observe.BootDiskBeside(in.vm, attachedDisks(in))
	if disk == nil {
		return nil
	}
	var out []Difference
	if in.New {
		out = append(out, compareOption(in, "metadata.name", observe.BootDiskKey, observe.SlotOf(in.vm, disk), true, false))
	}
	if want := in.Effective.BootDisk; want != nil && want.Capacity != nil {
		out = append(out, growDisk(in.vm, hardware.BootDiskSize, want.Capacity, disk))
	}
	return out
}

// compareBootDiskPolicy compares the storage policy of the first disk of the image.
func compareBootDiskPolicy(in *input) []Difference {
	disk, _ := observe.BootDiskBeside(in.vm, attachedDisks(in))
	if disk == nil {
		return nil
	}
	class := ""
	if want := in.Effective.BootDisk; want != nil {
		class = want.StorageClass
	}
	return []Difference{changePolicy(in, hardware.BootDiskStorageClass, class, observe.BootDiskPolicyKey, disk)}
}

// refusedBootDisk says what of the boot disk cannot be done. Of a VM that is not there
// yet it goes by what its image says.
func refusedBootDisk(in *input, say func(format string, args ...any)) {
	want := in.Effective.BootDisk
	if want == nil {
		return
	}
	if in.vm.Config == nil {
		if want.Capacity != nil && bytes(want.Capacity) < in.imageBootDisk() {
			say("%s: %s is less than the %s of the image's disk, and vSphere cannot shrink one",
				hardware.BootDiskSize, want.Capacity, hardware.Bytes(in.imageBootDisk()))
		}
		return
	}
	switch disk, several := observe.BootDiskBeside(in.vm, attachedDisks(in)); {
	case disk != nil:
		refusedSize(hardware.BootDiskSize, want.Capacity, disk, say)
	case several:
		say("bootDisk: the virtual machine has several disks that are no volumes, and it is not known which it boots from")
	default:
		say("bootDisk: the virtual machine has no disk but its volumes")
	}
}

// deviatingBootDisk names what of the boot disk is not as requested and cannot be changed.
func deviatingBootDisk(in *input, say func(format string, args ...any)) {
	disk, _ := observe.BootDiskBeside(in.vm, attachedDisks(in))
	if disk == nil {
		return
	}
	deviatingMode(in, "bootDisk", disk, say)
	if in.Effective.BootDisk != nil {
		deviatingProvisioning("bootDisk", in.Effective.BootDisk.Provisioning, disk, say)
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
	if policy, _ := policyOf(&input{Want: want}, class); policy.ID != "" && !policy.Encrypted {
		profile = profileOf(policy)
	}
	if first && boot != nil && boot.Provisioning != "" {
		backing = &types.VirtualDiskFlatVer2BackingInfo{DiskMode: string(types.VirtualDiskModePersistent)}
		backing.ThinProvisioned, backing.EagerlyScrub = provisioned(boot.Provisioning, false)
	}
	return profile, backing
}
