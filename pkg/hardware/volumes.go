// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"slices"
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const volumesPrefix = "volumes["

// Volume returns the path of the volume called name.
func Volume(name string) string { return volumesPrefix + name + "]" }

// volumeOf returns the volume name in a path.
func volumeOf(path string) (name string, ok bool) {
	name, ok = strings.CutPrefix(path, volumesPrefix)
	return strings.TrimSuffix(name, "]"), ok
}

// diffVolumes compares the volumes in the order of their names.
func diffVolumes(running, desired *State) []Difference {
	var names []string
	for _, s := range []*State{running, desired} {
		for i := range s.Volumes {
			names = append(names, s.Volumes[i].Name)
		}
	}
	slices.Sort(names)
	var out []Difference
	for _, name := range slices.Compact(names) {
		before, after := volumeNamed(running, name), volumeNamed(desired, name)
		if a, b := formatVolume(before), formatVolume(after); a != b {
			out = append(out, Difference{Path: Volume(name), Old: a, New: b, Effect: volumeEffect(before, after, running, desired)})
		}
	}
	return out
}

// formatVolume formats a volume, or an empty string for nil.
func formatVolume(v *vmv1alpha1.VirtualMachineVolume) string {
	switch {
	case v == nil:
		return ""
	case v.CDROM != nil:
		return formatDrive(v.CDROM)
	case v.Disk != nil && v.Disk.StorageClass != "":
		return Disk(bytesOf(v.Disk.Capacity), v.Bus) + " of class " + v.Disk.StorageClass
	case v.Disk != nil:
		return Disk(bytesOf(v.Disk.Capacity), v.Bus)
	case v.PersistentVolumeClaim != nil:
		return PrintClaim(v.PersistentVolumeClaim.ClaimName)
	}
	return strings.TrimSpace(presentValue + " " + v.Bus)
}

// formatDrive formats a CD-ROM drive and the name of its image.
func formatDrive(d *vmv1alpha1.CDROMVolumeSource) string {
	if d.Image == nil {
		return Drive("", false)
	}
	return Drive(d.Image.Name, d.Connected == nil || *d.Connected)
}

// volumeNamed returns the volume called name, or nil.
func volumeNamed(s *State, name string) *vmv1alpha1.VirtualMachineVolume {
	for i := range s.Volumes {
		if s.Volumes[i].Name == name {
			return &s.Volumes[i]
		}
	}
	return nil
}

// volumeEffect returns the effect for a volume. A disk that is removed from the spec stays attached, unless it belongs
// to a claim or has a reclaim policy. The controller of an existing disk is never changed. The following changes are
// live: a new disk if its controller supports hot-plug, a larger disk except on IDE, another storage class, and another
// medium in an existing drive.
func volumeEffect(before, after *vmv1alpha1.VirtualMachineVolume, running, desired *State) vmv1alpha1.RefreshEffect {
	switch {
	case after == nil && before.CDROM != nil:
		return restart
	case after == nil && (before.ReclaimPolicy != "" || before.PersistentVolumeClaim != nil):
		return liveIf(canPlugDisk(before.Bus, running, desired))
	case after != nil && after.CDROM != nil:
		return liveIf(before != nil && before.CDROM != nil)
	case after == nil || before != nil && isSameSource(before, after):
		return none
	case after.Disk == nil:
		return liveIf(after.PersistentVolumeClaim != nil && canPlugDisk(after.Bus, running, desired))
	case before == nil:
		return liveIf(canPlugDisk(after.Bus, running, desired))
	case before.Disk == nil:
		return restart
	case bytesOf(after.Disk.Capacity) == bytesOf(before.Disk.Capacity) && after.Disk.StorageClass == "":
		return none
	case bytesOf(after.Disk.Capacity) == bytesOf(before.Disk.Capacity):
		return live
	case bytesOf(after.Disk.Capacity) < bytesOf(before.Disk.Capacity):
		return restart
	default:
		return liveIf(CanGrowDisk(before.Bus))
	}
}

// isSameSource reports whether two volumes differ only in their controller.
func isSameSource(a, b *vmv1alpha1.VirtualMachineVolume) bool {
	moved := *b
	moved.Bus = a.Bus
	return formatVolume(a) == formatVolume(&moved)
}

// canPlugDisk reports whether a disk can be hot-added to bus.
func canPlugDisk(bus string, running, desired *State) bool {
	hasController := slices.ContainsFunc(running.Volumes, func(v vmv1alpha1.VirtualMachineVolume) bool { return v.Bus == bus })
	return CanPlugDisk(bus, hasController, isTrue(desired.Devices.DisableHotplug))
}

// CanPlugDisk reports whether a disk can be added to or removed from a controller while the virtual machine runs. SATA
// and NVMe controllers must already exist.
func CanPlugDisk(bus string, controllerExists, hotplugDisabled bool) bool {
	switch bus {
	case "ide":
		return false
	case "sata", "nvme":
		return controllerExists && !hotplugDisabled
	}
	return !hotplugDisabled
}

// CanGrowDisk reports whether a disk on bus can grow while the virtual machine runs.
func CanGrowDisk(bus string) bool { return bus != "ide" }

// assignVolume sets the volume called name in target. If volume is nil, it removes that volume.
func assignVolume(target *State, name string, volume *vmv1alpha1.VirtualMachineVolume) {
	if volume == nil {
		target.Volumes = slices.DeleteFunc(target.Volumes, func(v vmv1alpha1.VirtualMachineVolume) bool { return v.Name == name })
		return
	}
	if old := volumeNamed(target, volume.Name); old != nil {
		bus := old.Bus
		*old = *volume.DeepCopy()
		old.Bus = bus // the disk stays on its controller
		return
	}
	target.Volumes = append(target.Volumes, *volume.DeepCopy())
}
