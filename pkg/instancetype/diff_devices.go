// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// hardwareEffect says when the virtual hardware at path changes. What a spec
// leaves unset stays on a virtual machine as it is.
func hardwareEffect(path string, running, desired *effectiveSpec) vmv1alpha1.RefreshEffect {
	if name, ok := volumeOf(path); ok {
		return volumeEffect(path, volumeNamed(running, name), volumeNamed(desired, name), running, desired)
	}
	changes := true
	switch path {
	case "firmware.bootloader":
		changes = desired.Firmware != nil && desired.Firmware.Bootloader != ""
	case "firmware.secureBoot":
		changes = desired.Firmware != nil && desired.Firmware.SecureBoot != nil
	case "firmware.uuid":
		changes = desired.Firmware != nil && desired.Firmware.UUID != ""
	case "minHardwareVersion":
		changes = desired.MinHardwareVersion > running.MinHardwareVersion
	case "guestID":
		changes = desired.GuestID != ""
	default:
		changes = deviceChanges(path, desired)
	}
	if changes {
		return restart
	}
	return none
}

// deviceChanges says whether the desired spec gives or takes the device at path.
// A device that it does not mention stays, but for passed-through ones.
func deviceChanges(path string, desired *effectiveSpec) bool {
	d := desired.Devices
	if d == nil {
		d = &vmv1alpha1.VirtualMachineDevices{}
	}
	switch {
	case path == "devices.tpm":
		return d.TPM != nil
	case path == "devices.video.type":
		return false // vSphere has one video card
	case path == "devices.disableHotplug":
		return d.DisableHotplug != nil
	case path == "devices.autoattachGraphicsDevice":
		return d.AutoattachGraphicsDevice != nil
	case path == "devices.autoattachSerialConsole":
		return isTrue(d.AutoattachSerialConsole) // a serial port is never removed
	case strings.HasPrefix(path, "network."):
		return interfaceChanges(path, desired)
	}
	return true
}

// interfaceChanges says whether the desired spec changes the interface at path. One
// that names no interface, and does not turn the network off, leaves them alone; an
// address that nobody gives stays.
func interfaceChanges(path string, s *effectiveSpec) bool {
	if s.Network == nil || len(s.Network.Interfaces) == 0 && !s.Network.Disabled {
		return false
	}
	if !strings.HasSuffix(path, ".macAddress") {
		return true
	}
	for i := range s.Network.Interfaces {
		if nic := &s.Network.Interfaces[i]; interfacePath(nic.Name)+".macAddress" == path {
			return nic.MACAddress != ""
		}
	}
	return true // it goes with its interface
}

func interfacePath(name string) string { return "network.interfaces[" + name + "]" }

const volumesPrefix = "volumes["

// volumeOf returns the name of the volume that path is about.
func volumeOf(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, volumesPrefix)
	if !ok {
		return "", false
	}
	name, _, _ := strings.Cut(rest, "]")
	return name, true
}

// volumeNamed returns the volume called name, nil when there is none.
func volumeNamed(s *effectiveSpec, name string) *vmv1alpha1.VirtualMachineVolume {
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
func volumeEffect(
	path string, before, after *vmv1alpha1.VirtualMachineVolume, running, desired *effectiveSpec,
) vmv1alpha1.RefreshEffect {
	switch {
	case after == nil || before != nil && strings.HasSuffix(path, ".bus"):
		return none
	case after.Disk == nil:
		return restart
	case before == nil:
		return liveIf(plugs(after.Bus, running, desired))
	default:
		return liveIf(before.Disk != nil && value(after.Disk.Capacity) > value(before.Disk.Capacity) && before.Bus != "ide")
	}
}

// plugs says whether a running virtual machine takes a new disk on bus. SATA and
// NVMe controllers have to be there already.
func plugs(bus string, running, desired *effectiveSpec) bool {
	if desired.Devices != nil && isTrue(desired.Devices.DisableHotplug) {
		return false
	}
	switch bus {
	case "ide":
		return false
	case "sata", "nvme":
		for i := range running.Volumes {
			if running.Volumes[i].Bus == bus {
				return true
			}
		}
		return false
	}
	return true
}

// assignVolume puts the volume into target, in the place of one of its name.
func assignVolume(target *effectiveSpec, volume *vmv1alpha1.VirtualMachineVolume) {
	if old := volumeNamed(target, volume.Name); old != nil {
		bus := old.Bus
		*old = *volume.DeepCopy()
		old.Bus = bus // the disk stays on its controller
		return
	}
	target.Volumes = append(target.Volumes, *volume.DeepCopy())
}
