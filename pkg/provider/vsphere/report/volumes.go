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
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// volumes reports the volumes of the effective spec in their order, and after
// them the disks of those that were removed from it.
func volumes(vm *mo.VirtualMachine, w *driver.Want) []vmv1alpha1.VirtualMachineVolumeStatus {
	disks := observe.Volumes(vm)
	var out []vmv1alpha1.VirtualMachineVolumeStatus
	if w.Effective != nil {
		for _, v := range w.Effective.Volumes {
			disk, recorded := disks[v.Name]
			st := volumeStatus(v.Name, disk)
			switch {
			case v.PersistentVolumeClaim != nil:
				st.Error = "persistentVolumeClaim is not supported by this version"
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
	return out
}

func volumeStatus(name string, disk *types.VirtualDisk) vmv1alpha1.VirtualMachineVolumeStatus {
	st := vmv1alpha1.VirtualMachineVolumeStatus{Name: name}
	if disk != nil {
		st.Attached, st.DiskUUID = true, observe.DiskUUID(disk)
		st.Capacity = resource.NewQuantity(observe.Capacity(disk), resource.BinarySI)
	}
	return st
}
