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

// recordReclaim records a volume's reclaim policy, because the spec no longer contains it after the volume is
// removed. It also records the disk's UUID, so that the policy does not apply to another disk that is later
// attached in the same slot.
func recordReclaim(in *input, v *vmv1alpha1.VirtualMachineVolume, disk *types.VirtualDisk) Difference {
	want := ""
	if v.ReclaimPolicy != "" {
		recorded, uuid := reclaimRecord(in, v.Name)
		if recorded != v.ReclaimPolicy || uuid == "" {
			uuid = observe.DiskUUID(disk)
		}
		want = string(v.ReclaimPolicy) + " " + uuid
	}
	return compareOption(in, "metadata.volumes", observe.ReclaimKey(v.Name), want, true, false)
}

// removeVolumes detaches the disks and removes the drives of volumes that are no longer in the spec. It deletes a
// disk only if the reclaim policy is Delete.
func removeVolumes(in *input, attached map[string]*types.VirtualDisk) []Difference {
	var out []Difference
	removed := map[string]bool{}
	for name := range attached {
		removed[name] = true
	}
	for i := range in.Effective.Volumes {
		delete(removed, in.Effective.Volumes[i].Name)
	}
	controllers := observe.Controllers(in.vm)
	for _, name := range slices.Sorted(maps.Keys(removed)) {
		disk := attached[name]
		if disk == nil || whyStays(in, name, disk) != "" {
			continue
		}
		change := &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: disk}
		if policy, _ := reclaimRecord(in, name); policy == vmv1alpha1.VolumeReclaimDelete {
			change.FileOperation = types.VirtualDeviceConfigSpecFileOperationDestroy
		}
		have := controllerOf(controllers, disk)
		out = append(out, Difference{Path: hardware.Volume(name), Running: hardware.Disk(observe.Capacity(disk), have.Kind), Live: canHotplug(in, have),
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
	out = append(out, removeDrives(in)...)
	return out
}

// reclaimRecord returns a volume's recorded reclaim policy and disk UUID.
func reclaimRecord(in *input, volume string) (policy vmv1alpha1.VolumeReclaimPolicy, diskUUID string) {
	p, uuid, _ := strings.Cut(in.extra(observe.ReclaimKey(volume)), " ")
	return vmv1alpha1.VolumeReclaimPolicy(p), uuid
}

// whyStays returns the reason why the disk of a volume that is no longer in the spec stays attached, and the required
// action. It
// returns an empty string if the disk is detached. The disk is deleted only if reclaimPolicy Delete was recorded
// for this disk and no other VM uses it.
func whyStays(in *input, volume string, disk *types.VirtualDisk) string {
	if disk == nil {
		return ""
	}
	policy, uuid := reclaimRecord(in, volume)
	switch {
	case observe.HasParent(disk):
		return "no longer in the spec; the disk stays attached while it has snapshots: after you delete them it is " + reclaimResult(policy)
	case policy == "":
		return ""
	case uuid == "" || uuid != observe.DiskUUID(disk):
		return fmt.Sprintf("no longer in the spec; reclaimPolicy was set for another disk, so disk %q stays attached: detach it in vSphere, or add the volume again",
			observe.DiskUUID(disk))
	case policy == vmv1alpha1.VolumeReclaimDelete && (disk.VDiskId != nil || observe.Shared(disk.Backing)):
		return "no longer in the spec; the disk is a first class disk or shared with other virtual machines and is not deleted: add the volume again with reclaimPolicy Detach"
	}
	return ""
}

// reclaimResult returns what happens to the disk of a removed volume: it is deleted or detached.
func reclaimResult(policy vmv1alpha1.VolumeReclaimPolicy) string {
	if policy == vmv1alpha1.VolumeReclaimDelete {
		return "deleted"
	}
	return "detached"
}
