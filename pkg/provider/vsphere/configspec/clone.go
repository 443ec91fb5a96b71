// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// CloneDevices returns the device changes of a clone of template. The adapters in added replace all adapters of the
// template. If the spec lists no interfaces, the clone keeps the template's adapters. If the template is the VM of
// an object (machine), its adapters and all devices that belong only to it are always removed.
func CloneDevices(want Desired, template *mo.VirtualMachine, added []types.BaseVirtualDeviceConfigSpec, machine bool) []types.BaseVirtualDeviceConfigSpec {
	n := want.Effective.Network
	if !machine && len(added) == 0 && (n == nil || !n.Disabled) {
		return nil
	}
	var out []types.BaseVirtualDeviceConfigSpec
	for _, nic := range observe.EthernetCards(template) {
		out = append(out, adapterChange(types.VirtualDeviceConfigSpecOperationRemove, nic))
	}
	for _, d := range template.Config.Hardware.Device {
		if machine && isPrivate(d) {
			out = append(out, deviceChange(types.VirtualDeviceConfigSpecOperationRemove, d))
		}
	}
	return append(out, added...)
}

// isPrivate reports whether a device belongs to a single VM and must not be in a clone: a drive and its medium, a
// port and its output file, a host device, or a first class disk such as that of a claim.
func isPrivate(d types.BaseVirtualDevice) bool {
	switch d := d.(type) {
	case *types.VirtualCdrom, *types.VirtualFloppy, *types.VirtualSerialPort, *types.VirtualParallelPort, *types.VirtualPCIPassthrough:
		return true
	case *types.VirtualDisk:
		return observe.FirstClassID(d) != ""
	}
	return false
}

// ClearedProperties clears the values of the OVF properties in a copy of a VM, so that the defaults apply. It
// returns nil if no property has a value.
func ClearedProperties(vm *mo.VirtualMachine) types.BaseVmConfigSpec {
	if vm.Config.VAppConfig == nil {
		return nil
	}
	out := &types.VmConfigSpec{}
	for _, p := range vm.Config.VAppConfig.GetVmConfigInfo().Property {
		if p.Value != "" {
			p.Value = ""
			out.Property = append(out.Property, types.VAppPropertySpec{
				ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationEdit}, Info: &p,
			})
		}
	}
	if len(out.Property) == 0 {
		return nil
	}
	return out
}

// CloneDisks returns disk locators for a clone of template, all on one datastore. It returns nil if no disk needs a
// profile or a backing.
func CloneDisks(want Desired, template *mo.VirtualMachine, datastore types.ManagedObjectReference) []types.VirtualMachineRelocateSpecDiskLocator {
	var out []types.VirtualMachineRelocateSpecDiskLocator
	needed, first := false, true
	for _, disk := range ownDisks(template) {
		locator := types.VirtualMachineRelocateSpecDiskLocator{DiskId: disk.Key, Datastore: datastore}
		profile, backing := imageDisk(want, first)
		if locator.Profile = profile; backing != nil {
			locator.DiskBackingInfo = backing
		}
		needed, first = needed || profile != nil || backing != nil, false
		out = append(out, locator)
	}
	if !needed {
		return nil
	}
	return out
}

// HasTPM reports whether the VM has a TPM.
func HasTPM(vm *mo.VirtualMachine) bool { return tpmOf(vm) != nil }

// NewerHardware reports whether hardware version a is newer than b. A value that is not vmx-NN is the oldest
// version.
func NewerHardware(a, b string) bool { return observe.HardwareVersion(a) > observe.HardwareVersion(b) }
