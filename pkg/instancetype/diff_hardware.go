// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// pairs compares paths and values of one running and one desired spec.
type pairs struct {
	running, desired map[string]string
}

// list returns the differences in the order of their paths.
func (p pairs) list(effect func(path string) vmv1alpha1.RefreshEffect) []Difference {
	var out []Difference
	paths := slices.Collect(maps.Keys(p.running))
	for path := range p.desired {
		if _, both := p.running[path]; !both {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		if p.running[path] != p.desired[path] {
			out = append(out, Difference{Path: path, Old: p.running[path], New: p.desired[path], Effect: effect(path)})
		}
	}
	return out
}

// diffHardware compares the virtual hardware besides cpu and memory.
func diffHardware(running, desired *effectiveSpec) []Difference {
	return pairs{running: hardware(running), desired: hardware(desired)}.list(func(path string) vmv1alpha1.RefreshEffect {
		return hardwareEffect(path, running, desired)
	})
}

// hardware prints every compared field by its path; unset fields are left out.
func hardware(s *effectiveSpec) map[string]string {
	out := make(map[string]string, 16)
	put := func(path, value string) {
		if value != "" {
			out[path] = value
		}
	}
	if f := s.Firmware; f != nil {
		put("firmware.bootloader", string(f.Bootloader))
		put("firmware.secureBoot", trueOnly(f.SecureBoot))
		put("firmware.uuid", strings.ToLower(f.UUID))
	}
	if s.MinHardwareVersion != 0 {
		put("minHardwareVersion", strconv.Itoa(int(s.MinHardwareVersion)))
	}
	put("guestID", s.GuestID)
	if s.Network != nil {
		for i := range s.Network.Interfaces {
			nic := &s.Network.Interfaces[i]
			path := interfacePath(nic.Name)
			put(path, "present")
			put(path+".network", nic.Network)
			put(path+".model", nic.Model)
			put(path+".macAddress", strings.ToLower(nic.MACAddress))
		}
	}
	for i := range s.Volumes {
		v := &s.Volumes[i]
		path := volumesPrefix + v.Name + "]"
		put(path, volumeSource(v))
		put(path+".bus", v.Bus)
	}
	if s.Devices != nil {
		deviceFields(s.Devices, put)
	}
	return out
}

func volumeSource(v *vmv1alpha1.VirtualMachineVolume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return "claim " + v.PersistentVolumeClaim.ClaimName
	case v.Disk != nil:
		return "disk " + quantity(v.Disk.Capacity)
	default:
		return "present"
	}
}

func deviceFields(d *vmv1alpha1.VirtualMachineDevices, put func(path, value string)) {
	put("devices.gpus", deviceNames(d.GPUs))
	put("devices.hostDevices", deviceNames(d.HostDevices))
	if d.TPM != nil && (d.TPM.Enabled == nil || *d.TPM.Enabled) {
		put("devices.tpm", "present")
	}
	if d.Video != nil {
		put("devices.video.type", d.Video.Type)
	}
	put("devices.disableHotplug", trueOnly(d.DisableHotplug))
	if d.AutoattachGraphicsDevice != nil && !*d.AutoattachGraphicsDevice {
		put("devices.autoattachGraphicsDevice", "false")
	}
	put("devices.autoattachSerialConsole", trueOnly(d.AutoattachSerialConsole))
}

// deviceNames prints a list whose order and own names do not matter: what counts is
// which devices the virtual machine has.
func deviceNames(list []vmv1alpha1.VirtualMachineDevice) string {
	names := make([]string, 0, len(list))
	for _, d := range list {
		names = append(names, d.DeviceName)
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

// diffMetadata compares what is no hardware and can always change. The node
// selector reaches nothing: vSphere chooses the host.
func diffMetadata(running, desired *effectiveSpec) []Difference {
	var out []Difference
	add := func(path, before, after string, effect vmv1alpha1.RefreshEffect) {
		if before != after {
			out = append(out, Difference{Path: path, Old: before, New: after, Effect: effect})
		}
	}
	add("nodeSelector", labels(running.NodeSelector), labels(desired.NodeSelector), none)
	add("annotations", labels(running.Annotations), labels(desired.Annotations), live)
	add("terminationGracePeriodSeconds",
		seconds(running.TerminationGracePeriodSeconds), seconds(desired.TerminationGracePeriodSeconds), live)
	return out
}

func labels(m map[string]string) string {
	parts := make([]string, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, key+"="+m[key])
	}
	return strings.Join(parts, ",")
}

func seconds(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

// assign copies the field at path, which can change live.
func assign(target, desired *effectiveSpec, path string) {
	switch path {
	case "annotations":
		target.Annotations = maps.Clone(desired.Annotations)
	case "terminationGracePeriodSeconds":
		target.TerminationGracePeriodSeconds = nil
		if n := desired.TerminationGracePeriodSeconds; n != nil {
			v := *n
			target.TerminationGracePeriodSeconds = &v
		}
	}
	for i := range sizeFields {
		if f := &sizeFields[i]; f.path == path && f.assign != nil {
			f.assign(target, desired)
		}
	}
	if name, ok := volumeOf(path); ok {
		assignVolume(target, volumeNamed(desired, name))
	}
}
