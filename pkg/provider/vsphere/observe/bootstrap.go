// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"slices"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// CloudInitRead are variables that cloud-init sets after it has read its data and the network is up
// (DataSourceVMware.setup, which runs after _get_data). The state of VMware Tools is not sufficient, because
// cloud-init reads its data with them.
var CloudInitRead = []string{"guestinfo.local-ipv4", "guestinfo.local-ipv6"}

// Keys of first-boot data. The values may be secret.
const (
	UserDataKey   = "guestinfo.userdata"
	VendorDataKey = "guestinfo.vendordata"
	IgnitionKey   = "guestinfo.ignition.config.data"
)

// FirstBootKeys are the keys of first-boot data.
var FirstBootKeys = []string{UserDataKey, VendorDataKey, IgnitionKey}

// BootstrapRead reports whether the guest has read its bootstrap data. Ignition runs before the system that starts
// VMware Tools, so running Tools mean that Ignition has finished.
func BootstrapRead(vm *mo.VirtualMachine, b *vmv1alpha1.VirtualMachineBootstrap) bool {
	switch {
	case b.CloudInit != nil:
		for _, key := range CloudInitRead {
			if ExtraConfig(vm, key) != "" {
				return true
			}
		}
	case b.Ignition != nil:
		return vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn && vm.Guest != nil &&
			vm.Guest.ToolsRunningStatus == string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
	}
	return false
}

// BootstrapInstance returns the guest's instance: cloud-init's instance ID or the object's UID.
func BootstrapInstance(vm *mo.VirtualMachine, uid string) string {
	return cmp.Or(ExtraConfig(vm, InstanceIDKey), uid)
}

// BootstrapMarked reports whether first-boot data was removed for the current instance.
func BootstrapMarked(vm *mo.VirtualMachine, uid string) bool {
	mark := ExtraConfig(vm, BootstrapRemovedKey)
	return mark != "" && mark == BootstrapInstance(vm, uid)
}

// BootstrapRemoved reports whether first-boot data was removed and was not set again.
func BootstrapRemoved(vm *mo.VirtualMachine, uid string) bool {
	return BootstrapMarked(vm, uid) && !slices.ContainsFunc(FirstBootKeys, func(key string) bool { return ExtraConfig(vm, key) != "" })
}

// bootstrapStatus returns cloud-init's instance ID. It returns nil if that is the object's UID.
func bootstrapStatus(vm *mo.VirtualMachine) *vmv1alpha1.VirtualMachineBootstrapStatus {
	if id := ExtraConfig(vm, InstanceIDKey); id != "" {
		return &vmv1alpha1.VirtualMachineBootstrapStatus{InstanceID: id}
	}
	return nil
}

// BootstrapCondition returns the condition that reports whether first-boot data was removed. It has no status if
// the removal is not requested. It has none for an adopted VM either, because such a VM got no data.
func BootstrapCondition(vm *mo.VirtualMachine, uid string, b *vmv1alpha1.VirtualMachineBootstrap) metav1.Condition {
	c := metav1.Condition{Type: vmv1alpha1.ConditionBootstrapDataRemoved}
	if b == nil || !b.RemoveAfterFirstBoot || ExtraConfig(vm, AdoptedKey) == uid {
		return c
	}
	c.Status, c.Reason = metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded
	switch {
	case BootstrapRemoved(vm, uid):
	case b.CloudInit != nil:
		c.Status, c.Reason = metav1.ConditionFalse, vmv1alpha1.ReasonInProgress
		c.Message = "waiting for cloud-init to read its data (it then sets guestinfo.local-ipv4 or guestinfo.local-ipv6)"
	default:
		c.Status, c.Reason = metav1.ConditionFalse, vmv1alpha1.ReasonInProgress
		c.Message = "waiting for VMware Tools to run, which means that Ignition has finished"
	}
	return c
}
