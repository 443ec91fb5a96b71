// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// bootOrder compares what the firmware tries to boot from. It is told by the keys of
// devices, which those that are still to be made do not have: then it comes with the
// next pass. A running VM takes no notice before it is powered on again.
func (c *comparison) bootOrder() {
	if len(c.want.Effective.BootOrder) == 0 || c.vm.Config == nil {
		return
	}
	want, missing := c.bootDevices()
	if missing != "" {
		return
	}
	var have []types.BaseVirtualMachineBootOptionsBootableDevice
	if c.have.BootOptions != nil {
		have = c.have.BootOptions.BootOrder
	}
	c.add(Difference{Path: hardware.BootOrder, Running: bootList(have), Desired: bootList(want),
		set: func(s *types.VirtualMachineConfigSpec) { bootOptions(s).BootOrder = want }})
}

// bootOptions are those of a change, which several fields share.
func bootOptions(s *types.VirtualMachineConfigSpec) *types.VirtualMachineBootOptions {
	if s.BootOptions == nil {
		s.BootOptions = &types.VirtualMachineBootOptions{}
	}
	return s.BootOptions
}

// bootDevices are the devices that the spec lists, and the first that is not there.
func (c *comparison) bootDevices() (devices []types.BaseVirtualMachineBootOptionsBootableDevice, missing string) {
	for _, d := range c.want.Effective.BootOrder {
		device := c.bootDevice(d)
		if device == nil {
			return nil, strings.TrimSpace(string(d.Type) + " " + d.Name)
		}
		devices = append(devices, device)
	}
	return devices, ""
}

// bootDevice is the device that a spec means, nil while it is not there.
func (c *comparison) bootDevice(d vmv1alpha1.VirtualMachineBootDevice) types.BaseVirtualMachineBootOptionsBootableDevice {
	switch d.Type {
	case vmv1alpha1.BootDeviceCDROM:
		return &types.VirtualMachineBootOptionsBootableCdromDevice{}
	case vmv1alpha1.BootDeviceDisk:
		disk, _ := observe.BootDiskBeside(c.vm, c.attached())
		if d.Name != "" {
			disk = c.attached()[d.Name]
		}
		if disk != nil {
			return &types.VirtualMachineBootOptionsBootableDiskDevice{DeviceKey: disk.Key}
		}
	case vmv1alpha1.BootDeviceNetwork:
		interfaces := interfacesOf(c.want.Effective)
		for i, card := range observe.Assign(c.vm, interfaces, c.want.Adapters).Cards {
			if card != nil && interfaces[i].Name == d.Name {
				return &types.VirtualMachineBootOptionsBootableEthernetDevice{DeviceKey: card.GetVirtualEthernetCard().Key}
			}
		}
	}
	return nil
}

func (c *comparison) unappliedBootOrder(say func(format string, args ...any)) {
	if len(c.want.Effective.BootOrder) == 0 || c.vm.Config == nil {
		return
	}
	if _, missing := c.bootDevices(); missing != "" {
		say("bootOrder (the virtual machine has no %s)", missing)
	}
}

// bootList prints an order.
func bootList(devices []types.BaseVirtualMachineBootOptionsBootableDevice) string {
	out := make([]string, 0, len(devices))
	for _, d := range devices {
		switch d := d.(type) {
		case *types.VirtualMachineBootOptionsBootableCdromDevice:
			out = append(out, "CDROM")
		case *types.VirtualMachineBootOptionsBootableDiskDevice:
			out = append(out, fmt.Sprintf("Disk %d", d.DeviceKey))
		case *types.VirtualMachineBootOptionsBootableEthernetDevice:
			out = append(out, fmt.Sprintf("Network %d", d.DeviceKey))
		default:
			out = append(out, "Floppy")
		}
	}
	return strings.Join(out, ", ")
}
