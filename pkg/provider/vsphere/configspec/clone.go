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
// of the template stay. Of the virtual machine of an object they go in any case, with all
// else that a copy must not have of it.
func CloneDevices(want Want, template *mo.VirtualMachine, added []types.BaseVirtualDeviceConfigSpec, machine bool) []types.BaseVirtualDeviceConfigSpec {
	n := want.Effective.Network
	if !machine && len(added) == 0 && (n == nil || !n.Disabled) {
		return nil
	}
	var out []types.BaseVirtualDeviceConfigSpec
	for _, nic := range observe.EthernetCards(template) {
		out = append(out, change(types.VirtualDeviceConfigSpecOperationRemove, nic))
	}
	for _, d := range template.Config.Hardware.Device {
		if machine && belongs(d) {
			out = append(out, deviceChange(types.VirtualDeviceConfigSpecOperationRemove, d))
		}
	}
	return append(out, added...)
}

// belongs is true for a device that a virtual machine has for itself: a drive with what is
// in it, a port with the file that it writes, a device of the host, and a disk with a life
// of its own, such as that of a claim.
func belongs(d types.BaseVirtualDevice) bool {
	switch d := d.(type) {
	case *types.VirtualCdrom, *types.VirtualFloppy, *types.VirtualSerialPort, *types.VirtualParallelPort, *types.VirtualPCIPassthrough:
		return true
	case *types.VirtualDisk:
		return observe.FirstClassID(d) != ""
	}
	return false
}

// ForgottenProperties takes the values of its OVF properties from a copy of a virtual
// machine, so that the defaults count again; nil when it has none.
func ForgottenProperties(vm *mo.VirtualMachine) types.BaseVmConfigSpec {
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

// CloneDisks are the places of the disks of a clone of template, all of them on one
// datastore; empty while nothing has to be said of any.
func CloneDisks(want Want, template *mo.VirtualMachine, datastore types.ManagedObjectReference) []types.VirtualMachineRelocateSpecDiskLocator {
	var out []types.VirtualMachineRelocateSpecDiskLocator
	said, first := false, true
	for _, disk := range ownDisks(template) {
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
func HasTPM(vm *mo.VirtualMachine) bool { return tpmOf(vm) != nil }

// NewerHardware reports whether the hardware version a is newer than b; one that is no
// vmx-NN is the oldest.
func NewerHardware(a, b string) bool { return observe.HardwareVersion(a) > observe.HardwareVersion(b) }
