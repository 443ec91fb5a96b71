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

// compareBootOrder compares what the firmware tries to boot from. It is told by the keys of
// devices, which those that are still to be made do not have: then it comes with the
// next pass. A running VM takes no notice before it is powered on again.
func compareBootOrder(in *input) []Difference {
	want, missing := bootDevices(in)
	if len(want) == 0 || missing != "" {
		return nil
	}
	return []Difference{{Path: hardware.BootOrder, Running: bootList(in.config.BootOptions.BootOrder), Desired: bootList(want),
		set: func(s *types.VirtualMachineConfigSpec) { part(&s.BootOptions).BootOrder = want }}}
}

// bootDevices are the devices that the spec lists, and the first that is not there.
func bootDevices(in *input) (devices []types.BaseVirtualMachineBootOptionsBootableDevice, missing string) {
	for _, d := range in.Effective.BootOrder {
		device := bootDevice(in, d)
		if device == nil {
			return nil, strings.TrimSpace(string(d.Type) + " " + d.Name)
		}
		devices = append(devices, device)
	}
	return devices, ""
}

// bootDevice is the device that a spec means, nil while it is not there.
func bootDevice(in *input, d vmv1alpha1.VirtualMachineBootDevice) types.BaseVirtualMachineBootOptionsBootableDevice {
	switch d.Type {
	case vmv1alpha1.BootDeviceCDROM:
		return &types.VirtualMachineBootOptionsBootableCdromDevice{}
	case vmv1alpha1.BootDeviceDisk:
		disk, _ := observe.BootDiskBeside(in.vm, attachedDisks(in))
		if d.Name != "" {
			disk = attachedDisks(in)[d.Name]
		}
		if disk != nil {
			return &types.VirtualMachineBootOptionsBootableDiskDevice{DeviceKey: disk.Key}
		}
	case vmv1alpha1.BootDeviceNetwork:
		interfaces := interfacesOf(in.Effective)
		for i, card := range observe.Assign(in.vm, interfaces, in.Adapters).Cards {
			if card != nil && interfaces[i].Name == d.Name {
				return &types.VirtualMachineBootOptionsBootableEthernetDevice{DeviceKey: card.GetVirtualEthernetCard().Key}
			}
		}
	}
	return nil
}

func deviatingBootOrder(in *input, say func(format string, args ...any)) {
	if len(in.Effective.BootOrder) == 0 || in.vm.Config == nil {
		return
	}
	if _, missing := bootDevices(in); missing != "" {
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
