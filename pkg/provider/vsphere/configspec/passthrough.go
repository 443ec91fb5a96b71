// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// comparePassthrough compares vGPUs and Dynamic DirectPath I/O devices. The VM has exactly the devices of the spec,
// so that changing the size can also remove a GPU. Devices with a fixed host address are not managed.
func comparePassthrough(in *input) map[string][]Difference {
	out := map[string][]Difference{}
	have := slices.DeleteFunc(devicesOf[*types.VirtualPCIPassthrough](in.vm), func(p *types.VirtualPCIPassthrough) bool { return describeBacking(p.Backing) == "" })
	for _, path := range []string{hardware.GPUs, hardware.HostDevices} {
		var running, desired []string
		var changes []types.BaseVirtualDeviceConfigSpec
		for i, d := range listOf(in.Effective.Devices, path) {
			backing, err := passthroughBacking(d.DeviceName, path)
			if err != nil {
				return out // Refused reports it.
			}
			what := describeBacking(backing)
			desired = append(desired, what)
			at := slices.IndexFunc(have, func(p *types.VirtualPCIPassthrough) bool { return describeBacking(p.Backing) == what })
			if at >= 0 {
				running = append(running, what)
				have = slices.Delete(have, at, at+1)
				continue
			}
			device := &types.VirtualPCIPassthrough{}
			device.Key, device.Backing = newPassthroughKey-int32(i), backing
			if path == hardware.HostDevices {
				device.Key -= 100
			}
			changes = append(changes, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: device})
		}
		have = slices.DeleteFunc(have, func(p *types.VirtualPCIPassthrough) bool {
			if ownerPath(p.Backing) != path || in.adopted {
				return false
			}
			running = append(running, describeBacking(p.Backing))
			changes = append(changes, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: p})
			return true
		})
		if slices.Contains(in.NotAllowedLists, path) {
			continue
		}
		out[path] = []Difference{{Path: path, Running: hardware.FormatList(running), Desired: hardware.FormatList(desired),
			set: func(s *types.VirtualMachineConfigSpec) { s.DeviceChange = append(s.DeviceChange, changes...) }}}
	}
	return out
}

// reservesMemory reports whether vSphere requires that all memory of the VM is reserved. A refused device is not
// attached. If a device list is not applied, the VM keeps its devices of that list.
func reservesMemory(in *input) bool {
	if in.Effective.Devices == nil {
		return hardware.NeedsFullReservation(in.Effective)
	}
	applied := comparePassthrough(in)
	e, devices := *in.Effective, *in.Effective.Devices
	e.Devices = &devices
	if applied[hardware.GPUs] == nil {
		devices.GPUs = nil
	}
	if applied[hardware.HostDevices] == nil {
		devices.HostDevices = nil
	}
	return hardware.NeedsFullReservation(&e) || len(applied) < 2 && len(devicesOf[*types.VirtualPCIPassthrough](in.vm)) > 0
}

// ownerPath returns the path of the list to which a device that is removed belongs.
func ownerPath(b types.BaseVirtualDeviceBackingInfo) string {
	if _, vgpu := b.(*types.VirtualPCIPassthroughVmiopBackingInfo); vgpu {
		return hardware.GPUs
	}
	return hardware.HostDevices
}

func listOf(d *vmv1alpha1.VirtualMachineDevices, path string) []vmv1alpha1.VirtualMachineDevice {
	switch {
	case d == nil:
		return nil
	case path == hardware.GPUs:
		return d.GPUs
	}
	return d.HostDevices
}

// passthroughBacking returns the backing for a vGPU profile name, or for any free device with vendor:device. Host
// devices do not support vGPU profiles.
func passthroughBacking(name, path string) (types.BaseVirtualDeviceBackingInfo, error) {
	vendor, device, pair := strings.Cut(name, ":")
	if pair {
		v, verr := strconv.ParseUint(strings.TrimPrefix(vendor, "0x"), 16, 16)
		d, derr := strconv.ParseUint(strings.TrimPrefix(device, "0x"), 16, 16)
		if verr == nil && derr == nil {
			return &types.VirtualPCIPassthroughDynamicBackingInfo{
				AllowedDevice: []types.VirtualPCIPassthroughAllowedDevice{{VendorId: int32(v), DeviceId: int32(d)}},
			}, nil
		}
	}
	if path == hardware.HostDevices || pair || strings.Contains(name, "/") {
		want := "vendor:device in hexadecimal, for example 8086:1572"
		if path == hardware.GPUs {
			want = "a vGPU profile, for example grid_a100-10c, or vendor:device in hexadecimal, for example 10de:2231"
		}
		return nil, fmt.Errorf("deviceName %q is not %s", name, want)
	}
	return &types.VirtualPCIPassthroughVmiopBackingInfo{Vgpu: name}, nil
}

// describeBacking returns a description of a backing. Two devices with the same description are considered equal.
// It returns an empty string for devices that are not compared.
func describeBacking(b types.BaseVirtualDeviceBackingInfo) string {
	switch b := b.(type) {
	case *types.VirtualPCIPassthroughVmiopBackingInfo:
		return b.Vgpu
	case *types.VirtualPCIPassthroughDynamicBackingInfo:
		var ids []string
		for _, a := range b.AllowedDevice {
			ids = append(ids, fmt.Sprintf("%04x:%04x", a.VendorId, a.DeviceId))
		}
		return strings.Join(ids, "/")
	}
	return ""
}

// refusePassthrough reports invalid device names.
func refusePassthrough(in *input, reportf func(format string, args ...any)) {
	for _, path := range []string{hardware.GPUs, hardware.HostDevices} {
		for _, d := range listOf(in.Effective.Devices, path) {
			if _, err := passthroughBacking(d.DeviceName, path); err != nil {
				reportf("%s[%s].%s", path, d.Name, err)
			}
		}
	}
}

// NotAllowed returns a message for each desired GPU and host device that is not allowed, and the paths of their
// lists.
func NotAllowed(want Desired, allowed []string, by string) (messages, paths []string) {
	if want.Effective == nil || slices.Contains(allowed, driver.Any) {
		return nil, nil
	}
	known := make([]string, 0, len(allowed))
	for _, name := range allowed {
		known = append(known, deviceID(name))
	}
	for _, path := range []string{hardware.GPUs, hardware.HostDevices} {
		for _, d := range listOf(want.Effective.Devices, path) {
			if !slices.Contains(known, deviceID(d.DeviceName)) {
				messages = append(messages, driver.NotAllowedMessage(fmt.Sprintf("%s[%s].deviceName %q", path, d.Name, d.DeviceName), by, allowed))
				paths = append(paths, path)
			}
		}
	}
	return messages, paths
}

// deviceID returns the canonical form of a device name. An invalid name is returned unchanged.
func deviceID(name string) string {
	backing, err := passthroughBacking(name, hardware.GPUs)
	if err != nil {
		return name
	}
	return describeBacking(backing)
}

// readPassthrough reads the passthrough devices of both lists, because each of them requires that all memory is
// reserved.
func readPassthrough(in *input) {
	for _, p := range devicesOf[*types.VirtualPCIPassthrough](in.vm) {
		if p.Backing != nil {
			in.running.Devices.GPUs = append(in.running.Devices.GPUs, vmv1alpha1.VirtualMachineDevice{DeviceName: describeBacking(p.Backing)})
		}
	}
}
