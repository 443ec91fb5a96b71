// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"slices"
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// diffVolumes compares the volumes in the order of their names.
func diffVolumes(running, desired *Spec) []Difference {
	var names []string
	for _, s := range []*Spec{running, desired} {
		for i := range s.Volumes {
			names = append(names, s.Volumes[i].Name)
		}
	}
	slices.Sort(names)
	var out []Difference
	for _, name := range slices.Compact(names) {
		before, after := volumeNamed(running, name), volumeNamed(desired, name)
		if a, b := volume(before), volume(after); a != b {
			out = append(out, Difference{Path: Volume(name), Old: a, New: b, Effect: volumeEffect(before, after, running, desired)})
		}
	}
	return out
}

// volume prints a volume, and nothing for nil.
func volume(v *vmv1alpha1.VirtualMachineVolume) string {
	switch {
	case v == nil:
		return ""
	case v.Disk != nil:
		return Disk(bytesOf(v.Disk.Capacity), v.Bus)
	case v.PersistentVolumeClaim != nil:
		return "claim " + v.PersistentVolumeClaim.ClaimName
	}
	return strings.TrimSpace(Present + " " + v.Bus)
}

// volumeNamed returns the volume called name, nil when there is none.
func volumeNamed(s *Spec, name string) *vmv1alpha1.VirtualMachineVolume {
	for i := range s.Volumes {
		if s.Volumes[i].Name == name {
			return &s.Volumes[i]
		}
	}
	return nil
}

// volumeEffect: a disk that is no longer in the spec stays, and so does the
// controller of one that exists. A running virtual machine takes a new disk where
// the controller can be plugged, and a larger one on everything but IDE.
func volumeEffect(before, after *vmv1alpha1.VirtualMachineVolume, running, desired *Spec) vmv1alpha1.RefreshEffect {
	switch {
	case after == nil || before != nil && sameSource(before, after):
		return none
	case after.Disk == nil:
		return restart
	case before == nil:
		return liveIf(plugs(after.Bus, running, desired))
	default:
		return liveIf(before.Disk != nil && bytesOf(after.Disk.Capacity) > bytesOf(before.Disk.Capacity) && before.Bus != "ide")
	}
}

// sameSource reports whether two volumes differ in their controller only.
func sameSource(a, b *vmv1alpha1.VirtualMachineVolume) bool {
	moved := *b
	moved.Bus = a.Bus
	return volume(a) == volume(&moved)
}

// plugs says whether a running virtual machine takes a new disk on bus. SATA and
// NVMe controllers have to be there already.
func plugs(bus string, running, desired *Spec) bool {
	if isTrue(desired.Devices.DisableHotplug) {
		return false
	}
	switch bus {
	case "ide":
		return false
	case "sata", "nvme":
		return slices.ContainsFunc(running.Volumes, func(v vmv1alpha1.VirtualMachineVolume) bool { return v.Bus == bus })
	}
	return true
}

// assignVolume puts the volume into target, in the place of one of its name.
func assignVolume(target *Spec, volume *vmv1alpha1.VirtualMachineVolume) {
	if old := volumeNamed(target, volume.Name); old != nil {
		bus := old.Bus
		*old = *volume.DeepCopy()
		old.Bus = bus // the disk stays on its controller
		return
	}
	target.Volumes = append(target.Volumes, *volume.DeepCopy())
}
