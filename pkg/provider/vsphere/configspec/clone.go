// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// CloneDevices are the device changes of a clone of template: the adapters that are
// added take the place of all that the template has. While the spec names none, those
// of the template stay.
func CloneDevices(want Want, template *mo.VirtualMachine, added []types.BaseVirtualDeviceConfigSpec) []types.BaseVirtualDeviceConfigSpec {
	n := want.Effective.Network
	if len(added) == 0 && (n == nil || !n.Disabled) {
		return nil
	}
	var out []types.BaseVirtualDeviceConfigSpec
	for _, nic := range observe.EthernetCards(template) {
		out = append(out, change(types.VirtualDeviceConfigSpecOperationRemove, nic))
	}
	return append(out, added...)
}

// CloneDisks are the places of the disks of a clone of template, all of them on one
// datastore; empty while nothing has to be said of any.
func CloneDisks(want Want, template *mo.VirtualMachine, datastore types.ManagedObjectReference) []types.VirtualMachineRelocateSpecDiskLocator {
	var out []types.VirtualMachineRelocateSpecDiskLocator
	said, first := false, true
	for _, d := range template.Config.Hardware.Device {
		disk, ok := d.(*types.VirtualDisk)
		if !ok {
			continue
		}
		locator := types.VirtualMachineRelocateSpecDiskLocator{DiskId: disk.Key, Datastore: datastore}
		profile, backing := imageDisk(want, first)
		if locator.Profile = profile; backing != nil {
			locator.DiskBackingInfo = backing
		}
		said, first = said || profile != nil || backing != nil, false
		out = append(out, locator)
	}
	if !said {
		return nil
	}
	return out
}

// HasTPM reports whether the VM has a TPM.
func HasTPM(vm *mo.VirtualMachine) bool { return tpmOf(vm.Config) != nil }

// NewerHardware reports whether the hardware version a is newer than b; one that is no
// vmx-NN is the oldest.
func NewerHardware(a, b string) bool { return version(a) > version(b) }
