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

// Refused says why a VM must not be published as it is; nil if it may. What vSphere writes
// into a descriptor of OVF properties is not documented, so that none may have a value of
// the VM's own. All disks become part of the item, those of claims too.
func Refused(vm *mo.VirtualMachine) error {
	refuse := func(reason, format string, args ...any) error {
		return &provider.PublishRefusedError{Condition: vmv1alpha1.ConditionSourceValid, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
		return refuse(vmv1alpha1.ReasonNotReady, "the virtual machine is %s, and only one that is powered off can be published", vm.Runtime.PowerState)
	}
	if n := len(observe.FirstClass(vm)); n > 0 {
		return refuse(vmv1alpha1.ReasonInvalid, "the virtual machine has %d disks of claims, which would be published with it: take the volumes off, or publish a clone, which has none", n)
	}
	for _, d := range vm.Config.Hardware.Device {
		if _, ok := d.(*types.VirtualTPM); ok {
			return refuse(vmv1alpha1.ReasonInvalid, "the virtual machine has a TPM, whose secrets would be published with it or be missing in what is published: publish a clone without")
		}
	}
	for id := range secrets(vm) {
		return refuse(vmv1alpha1.ReasonInvalid, "OVF property %q has a value of the virtual machine's own, which might be published with it: publish a clone, which has none", id)
	}
	return nil
}

// secrets are the values of OVF properties that are the VM's own.
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

// tells names what a descriptor tells that is the VM's own; empty when it tells nothing.
func tells(image *descriptor.Image) string {
	for _, key := range image.Dropped {
		if observe.Ours(key) || strings.HasPrefix(strings.ToLower(key), "guestinfo.") {
			return "the advanced setting " + key
		}
	}
	return ""
}
