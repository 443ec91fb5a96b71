// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"maps"
	"slices"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// volumes returns the status of the effective spec's volumes in their order. After them it returns attached disks
// of volumes that were removed from the spec.
func volumes(vm *mo.VirtualMachine, w *driver.Desired) []vmv1alpha1.VirtualMachineVolumeStatus {
	disks, drives, claims := observe.Volumes(vm), observe.Drives(vm), observe.FirstClass(vm)
	var out []vmv1alpha1.VirtualMachineVolumeStatus
	if w.Effective != nil {
		for _, v := range w.Effective.Volumes {
			if v.PersistentVolumeClaim != nil {
				out = append(out, claimStatus(&v, w.Claims[v.Name], claims))
				continue
			}
			disk, recorded := disks[v.Name]
			st := volumeStatus(v.Name, disk)
			switch {
			case v.CDROM != nil:
				if drive := drives[v.Name]; drive != nil {
					st.Attached, st.DeviceKey = true, drive.Key
				}
			case v.Disk != nil && observe.ExtraConfig(vm, observe.PolicyKey(v.Name)) != "":
				if st.StorageClass = v.Disk.StorageClass; st.StorageClass == "" {
					st.StorageClass = w.Effective.StorageClass
				}
			case recorded && disk == nil:
				st.Error = "the disk was removed in vSphere"
			}
			out = append(out, st)
			delete(disks, v.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(disks)) {
		if disks[name] != nil {
			out = append(out, volumeStatus(name, disks[name]))
		}
	}
	return append(out, orphanedClaims(vm, out, claims)...)
}

// orphanedClaims returns the status of disks that are still attached for a claim whose volume was removed from the
// spec.
func orphanedClaims(vm *mo.VirtualMachine, shown []vmv1alpha1.VirtualMachineVolumeStatus, attached map[string]*types.VirtualDisk) []vmv1alpha1.VirtualMachineVolumeStatus {
	var out []vmv1alpha1.VirtualMachineVolumeStatus
	recorded := observe.Claims(vm)
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		same := func(s vmv1alpha1.VirtualMachineVolumeStatus) bool {
			return s.Name == name || s.VolumeID == recorded[name]
		}
		if disk := attached[recorded[name]]; disk != nil && !slices.ContainsFunc(shown, same) {
			st := volumeStatus(name, disk)
			st.VolumeID = recorded[name]
			out = append(out, st)
		}
	}
	return out
}

func volumeStatus(name string, disk *types.VirtualDisk) vmv1alpha1.VirtualMachineVolumeStatus {
	st := vmv1alpha1.VirtualMachineVolumeStatus{Name: name}
	if disk != nil {
		st.Attached, st.DiskUUID, st.DeviceKey = true, observe.DiskUUID(disk), disk.Key
		st.Capacity = resource.NewQuantity(observe.Capacity(disk), resource.BinarySI)
	}
	return st
}

// claimStatus returns the status of a claim's volume, whose disk may be attached or not.
func claimStatus(v *vmv1alpha1.VirtualMachineVolume, claim provider.Claim, attached map[string]*types.VirtualDisk) vmv1alpha1.VirtualMachineVolumeStatus {
	st := volumeStatus(v.Name, attached[claim.VolumeID])
	st.ClaimName, st.VolumeID = v.PersistentVolumeClaim.ClaimName, claim.VolumeID
	if !st.Attached {
		st.Error = claim.Waiting
	}
	return st
}
