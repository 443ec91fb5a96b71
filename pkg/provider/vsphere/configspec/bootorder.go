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

// compareBootOrder compares the firmware's boot order. The order contains device keys, so it is compared only after
// all its devices exist. A running VM uses a new boot order at its next power-on.
func compareBootOrder(in *input) []Difference {
	want, missing := bootDevices(in)
	if len(want) == 0 || missing != "" {
		return nil
	}
	return []Difference{{Path: hardware.BootOrder, Running: bootList(in.config.BootOptions.BootOrder), Desired: bootList(want),
		set: func(s *types.VirtualMachineConfigSpec) { ensurePart(&s.BootOptions).BootOrder = want }}}
}

// bootDevices returns the devices of the boot order. missing is the first device that does not exist.
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

// bootDevice returns the device for an entry of the boot order, or nil if it does not exist.
func bootDevice(in *input, d vmv1alpha1.VirtualMachineBootDevice) types.BaseVirtualMachineBootOptionsBootableDevice {
	switch d.Type {
	case vmv1alpha1.BootDeviceCDROM:
		return &types.VirtualMachineBootOptionsBootableCdromDevice{}
	case vmv1alpha1.BootDeviceDisk:
		disk, _ := observe.BootDiskOf(in.vm, attachedDisks(in))
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

func deviatingBootOrder(in *input, reportf func(format string, args ...any)) {
	if len(in.Effective.BootOrder) == 0 || in.vm.Config == nil {
		return
	}
	if _, missing := bootDevices(in); missing != "" {
		reportf("bootOrder (the virtual machine has no %s)", missing)
	}
}

// bootList formats a boot order.
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
