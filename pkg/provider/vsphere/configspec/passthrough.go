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

const (
	gpusPath        = hardware.GPUs
	hostDevicesPath = hardware.HostDevices
)

// passthrough compares vGPUs and Dynamic DirectPath I/O devices. A VM has
// exactly those that are asked for, as a size with a GPU may be changed to one
// without. Devices of a fixed host address are nobody's business here.
func (c *comparison) passthrough() {
	var have []*types.VirtualPCIPassthrough
	for _, d := range c.have.Hardware.Device {
		if p, ok := d.(*types.VirtualPCIPassthrough); ok && describeBacking(p.Backing) != "" {
			have = append(have, p)
		}
	}
	for _, path := range []string{gpusPath, hostDevicesPath} {
		var running, desired []string
		var changes []types.BaseVirtualDeviceConfigSpec
		for i, d := range listOf(c.want.Effective.Devices, path) {
			backing, err := passthroughBacking(d.DeviceName, path)
			if err != nil {
				return // Refused says so.
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
			if path == hostDevicesPath {
				device.Key -= 100
			}
			changes = append(changes, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: device})
		}
		have = slices.DeleteFunc(have, func(p *types.VirtualPCIPassthrough) bool {
			if ownerPath(p.Backing) != path || c.adopted {
				return false
			}
			running = append(running, describeBacking(p.Backing))
			changes = append(changes, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: p})
			return true
		})
		c.add(Difference{Path: path, Running: hardware.List(running), Desired: hardware.List(desired),
			set: func(s *types.VirtualMachineConfigSpec) { s.DeviceChange = append(s.DeviceChange, changes...) }})
	}
}

// ownerPath is the list that a device which must go counts to.
func ownerPath(b types.BaseVirtualDeviceBackingInfo) string {
	if _, vgpu := b.(*types.VirtualPCIPassthroughVmiopBackingInfo); vgpu {
		return gpusPath
	}
	return hostDevicesPath
}

func listOf(d *vmv1alpha1.VirtualMachineDevices, path string) []vmv1alpha1.VirtualMachineDevice {
	switch {
	case d == nil:
		return nil
	case path == gpusPath:
		return d.GPUs
	}
	return d.HostDevices
}

// passthroughBacking is a vGPU profile by its name, or any free device of
// vendor:device. Host devices have no profile.
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
	if path == hostDevicesPath || pair || strings.Contains(name, "/") {
		want := "vendor:device in hexadecimal, for example 8086:1572"
		if path == gpusPath {
			want = "a vGPU profile, for example grid_a100-10c, or vendor:device in hexadecimal, for example 10de:2231"
		}
		return nil, fmt.Errorf("deviceName %q is not %s", name, want)
	}
	return &types.VirtualPCIPassthroughVmiopBackingInfo{Vgpu: name}, nil
}

// describeBacking decides whether two devices are the same; it is empty for
// those that are not compared.
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

// refusedPassthrough says which devices cannot be asked for.
func (c *comparison) refusedPassthrough(say func(format string, args ...any)) {
	for _, path := range []string{gpusPath, hostDevicesPath} {
		for _, d := range listOf(c.want.Effective.Devices, path) {
			if _, err := passthroughBacking(d.DeviceName, path); err != nil {
				say("%s[%s].%s", path, d.Name, err)
			}
		}
	}
}

// NotAllowed lists the GPUs and host devices that are wanted and not allowed.
func NotAllowed(want Want, allowed []string, by string) []string {
	if want.Effective == nil || slices.Contains(allowed, driver.Any) {
		return nil
	}
	known := make([]string, 0, len(allowed))
	for _, name := range allowed {
		known = append(known, deviceID(name))
	}
	var out []string
	for _, path := range []string{gpusPath, hostDevicesPath} {
		for _, d := range listOf(want.Effective.Devices, path) {
			if !slices.Contains(known, deviceID(d.DeviceName)) {
				out = append(out, driver.NotAllowedMessage(fmt.Sprintf("%s[%s].deviceName %q", path, d.Name, d.DeviceName), by, allowed))
			}
		}
	}
	return out
}

// deviceID is a device name in one spelling; one that is no device keeps its own.
func deviceID(name string) string {
	backing, err := passthroughBacking(name, gpusPath)
	if err != nil {
		return name
	}
	return describeBacking(backing)
}

// hasPassthrough is true when the VM has, or shall have, such a device or an adapter by
// SR-IOV: all of its memory must be reserved then.
func (c *comparison) hasPassthrough() (have, want bool) {
	for _, d := range c.have.Hardware.Device {
		switch d := d.(type) {
		case *types.VirtualPCIPassthrough:
			have = have || d.Backing != nil
		case *types.VirtualSriovEthernetCard:
			have = true
		}
	}
	for _, i := range interfacesOf(c.want.Effective) {
		want = want || i.Model == modelSRIOV
	}
	d := c.want.Effective.Devices
	return have, want || d != nil && len(d.GPUs)+len(d.HostDevices) > 0
}
