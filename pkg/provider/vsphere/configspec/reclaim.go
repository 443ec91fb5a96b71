// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// recordReclaim records what becomes of a disk when the spec does not name it any more,
// for the spec does not say so then. It names the disk that the volume has when that is said:
// another one that somebody puts into its place is not what it is about.
func recordReclaim(in *input, v *vmv1alpha1.VirtualMachineVolume, disk *types.VirtualDisk) Difference {
	want := ""
	if v.ReclaimPolicy != "" {
		said, uuid := recordedReclaim(in, v.Name)
		if said != v.ReclaimPolicy || uuid == "" {
			uuid = observe.DiskUUID(disk)
		}
		want = string(v.ReclaimPolicy) + " " + uuid
	}
	return compareOption(in, "metadata.volumes", observe.ReclaimKey(v.Name), want, true, false)
}

// removedVolumes detaches the disks and removes the drives of volumes that are no longer in the spec. Only a disk with
// reclaimPolicy Delete is deleted.
func removedVolumes(in *input, attached map[string]*types.VirtualDisk) []Difference {
	var out []Difference
	gone := map[string]bool{}
	for name := range attached {
		gone[name] = true
	}
	for i := range in.Effective.Volumes {
		delete(gone, in.Effective.Volumes[i].Name)
	}
	controllers := observe.Controllers(in.vm)
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		disk := attached[name]
		if disk == nil || whyStays(in, name, disk) != "" {
			continue
		}
		change := &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: disk}
		if policy, _ := recordedReclaim(in, name); policy == vmv1alpha1.VolumeReclaimDelete {
			change.FileOperation = types.VirtualDeviceConfigSpecFileOperationDestroy
		}
		have := controllerOf(controllers, disk)
		out = append(out, Difference{Path: hardware.Volume(name), Running: hardware.Disk(observe.Capacity(disk), have.Kind), Live: hotplugs(in, have),
			set: func(spec *types.VirtualMachineConfigSpec) {
				spec.DeviceChange = append(spec.DeviceChange, change)
				for _, key := range []string{
					observe.VolumeKey(name), observe.ReclaimKey(name), observe.PolicyKey(name), observe.DiskKey(observe.SlotOf(in.vm, disk)),
				} {
					if in.extra(key) != "" {
						option(key, "")(spec)
					}
				}
			}})
	}
	out = append(out, removedDrives(in)...)
	return out
}

// recordedReclaim is what was recorded for a volume.
func recordedReclaim(in *input, volume string) (policy vmv1alpha1.VolumeReclaimPolicy, diskUUID string) {
	p, uuid, _ := strings.Cut(in.extra(observe.ReclaimKey(volume)), " ")
	return vmv1alpha1.VolumeReclaimPolicy(p), uuid
}

// whyStays returns why the disk of a volume that is no longer in the spec stays attached, and what to do; empty when it
// is detached. It is deleted only if reclaimPolicy Delete was given for this disk and no other VM has it.
func whyStays(in *input, volume string, disk *types.VirtualDisk) string {
	if disk == nil {
		return ""
	}
	policy, uuid := recordedReclaim(in, volume)
	switch {
	case observe.HasParent(disk):
		return "no longer in the spec; the disk stays attached while there are snapshots: delete them, and it is " + reclaimed(policy)
	case policy == "":
		return ""
	case uuid == "" || uuid != observe.DiskUUID(disk):
		return fmt.Sprintf("no longer in the spec; its disk %q is not the one that reclaimPolicy was given for, and stays attached: detach it in vSphere, or add the volume again",
			observe.DiskUUID(disk))
	case policy == vmv1alpha1.VolumeReclaimDelete && (disk.VDiskId != nil || observe.Shared(disk.Backing)):
		return "no longer in the spec; the disk is a first class disk or shared with others, and is not deleted: add the volume again with reclaimPolicy Detach"
	}
	return ""
}

// reclaimed is what is done to the disk of a removed volume.
func reclaimed(policy vmv1alpha1.VolumeReclaimPolicy) string {
	if policy == vmv1alpha1.VolumeReclaimDelete {
		return "deleted"
	}
	return "detached"
}
