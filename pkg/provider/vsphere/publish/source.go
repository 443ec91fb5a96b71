// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/descriptor"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// CheckSource returns why a VM must not be published in its current state, or nil. It refuses OVF properties with the
// VM's own values, because it is not documented which values vSphere writes into a descriptor. It refuses claims'
// disks, because all disks become part of the item.
func CheckSource(vm *mo.VirtualMachine) error {
	refuse := func(reason, format string, args ...any) error {
		return &provider.PublishRefusedError{Condition: vmv1alpha1.ConditionSourceValid, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
		return refuse(vmv1alpha1.ReasonNotReady, "the virtual machine is %s: power it off to publish it", vm.Runtime.PowerState)
	}
	if n := len(observe.FirstClass(vm)); n > 0 {
		return refuse(vmv1alpha1.ReasonInvalid, "the virtual machine has %d disks of claims, which would be published too: remove the volumes or publish a clone", n)
	}
	for _, d := range vm.Config.Hardware.Device {
		if _, ok := d.(*types.VirtualTPM); ok {
			return refuse(vmv1alpha1.ReasonInvalid, "the virtual machine has a TPM, whose secrets cannot be published: publish a clone without a TPM")
		}
	}
	for id := range secrets(vm) {
		return refuse(vmv1alpha1.ReasonInvalid, "OVF property %q has a value set for this virtual machine, which might be published: publish a clone, which does not have the value", id)
	}
	return nil
}

// secrets returns the OVF property values that belong only to the VM.
func secrets(vm *mo.VirtualMachine) map[string]string {
	out := map[string]string{}
	if v := vm.Config.VAppConfig; v != nil {
		for _, p := range v.GetVmConfigInfo().Property {
			if p.Value != "" && p.Value != p.DefaultValue {
				out[configspec.PropertyID(p)] = p.Value
			}
		}
	}
	return out
}

// privateSetting returns the name of a setting in a descriptor that belongs only to the VM, or an empty string.
func privateSetting(image *descriptor.Image) string {
	for _, key := range image.Dropped {
		if observe.IsSlipwayKey(key) || strings.HasPrefix(strings.ToLower(key), "guestinfo.") {
			return "the advanced setting " + key
		}
	}
	return ""
}
