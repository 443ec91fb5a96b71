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

// HasTPM reports whether the VM has a TPM.
func HasTPM(vm *mo.VirtualMachine) bool { return tpmOf(vm.Config) != nil }

// NewerHardware reports whether the hardware version a is newer than b; one that is no
// vmx-NN is the oldest.
func NewerHardware(a, b string) bool { return version(a) > version(b) }
