// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// compareBootDisk compares the size of the image's first disk. While a new VM has no other disks, it also
// records the boot disk, because the boot disk cannot be identified later.
func compareBootDisk(in *input) []Difference {
	disk, _ := observe.BootDiskOf(in.vm, attachedDisks(in))
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

// compareBootDiskPolicy compares the storage policy of the image's first disk.
func compareBootDiskPolicy(in *input) []Difference {
	disk, _ := observe.BootDiskOf(in.vm, attachedDisks(in))
	if disk == nil {
		return nil
	}
	class := ""
	if want := in.Effective.BootDisk; want != nil {
		class = want.StorageClass
	}
	return []Difference{changePolicy(in, hardware.BootDiskStorageClass, class, observe.BootDiskPolicyKey, disk)}
}

// refuseBootDisk reports impossible settings of the boot disk. If the VM does not exist yet, it uses the image's
// status.
func refuseBootDisk(in *input, reportf func(format string, args ...any)) {
	want := in.Effective.BootDisk
	if want == nil {
		return
	}
	if in.vm.Config == nil {
		if want.Capacity != nil && bytes(want.Capacity) < in.imageBootDisk() {
			reportf("%s: %s is less than the %s of the image's disk, and vSphere cannot shrink disks",
				hardware.BootDiskSize, want.Capacity, hardware.Bytes(in.imageBootDisk()))
		}
		return
	}
	switch disk, several := observe.BootDiskOf(in.vm, attachedDisks(in)); {
	case disk != nil:
		refuseSize(hardware.BootDiskSize, want.Capacity, disk, reportf)
	case several:
		reportf("bootDisk: the virtual machine has several disks that are not volumes, so the boot disk cannot be identified")
	default:
		reportf("bootDisk: the virtual machine has no disks other than its volumes")
	}
}

// deviatingBootDisk reports boot disk settings that differ from the spec and cannot be changed.
func deviatingBootDisk(in *input, reportf func(format string, args ...any)) {
	disk, _ := observe.BootDiskOf(in.vm, attachedDisks(in))
	if disk == nil {
		return
	}
	deviatingMode(in, "bootDisk", disk, reportf)
	if in.Effective.BootDisk != nil {
		deviatingProvisioning("bootDisk", in.Effective.BootDisk.Provisioning, disk, reportf)
	}
}

// imageDisk returns the storage profile and the backing of a cloned disk. first is true for the boot disk. A policy
// with encryption is applied after the clone.
func imageDisk(want Desired, first bool) (profile []types.BaseVirtualMachineProfileSpec, backing *types.VirtualDiskFlatVer2BackingInfo) {
	class := ""
	boot := want.Effective.BootDisk
	if first && boot != nil {
		class = boot.StorageClass
	}
	if policy, _ := policyOf(&input{Desired: want}, class); policy.ID != "" && !policy.Encrypted {
		profile = profileOf(policy)
	}
	if first && boot != nil && boot.Provisioning != "" {
		backing = &types.VirtualDiskFlatVer2BackingInfo{DiskMode: string(types.VirtualDiskModePersistent)}
		backing.ThinProvisioned, backing.EagerlyScrub = provisioningFlags(boot.Provisioning, false)
	}
	return profile, backing
}
