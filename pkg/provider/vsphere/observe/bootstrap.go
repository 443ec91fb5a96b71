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

// CloudInitRead are variables that cloud-init sets when it has read its data and the network
// is up (DataSourceVMware.setup, which comes after _get_data). Tools say less: they run
// before cloud-init does, which reads by them.
var CloudInitRead = []string{"guestinfo.local-ipv4", "guestinfo.local-ipv6"}

// Keys of what the guest gets for its first boot. What they hold may be secret.
const (
	UserDataKey   = "guestinfo.userdata"
	VendorDataKey = "guestinfo.vendordata"
	IgnitionKey   = "guestinfo.ignition.config.data"
)

// FirstBootKeys are those keys.
var FirstBootKeys = []string{UserDataKey, VendorDataKey, IgnitionKey}

// BootstrapRead is true when the guest has read what it configures itself by. Ignition runs
// before the system from which Tools are started, so that Tools tell of it.
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

// BootstrapInstance is what the guest is known by: the instance ID of cloud-init, or the UID
// of the object.
func BootstrapInstance(vm *mo.VirtualMachine, uid string) string {
	return cmp.Or(ExtraConfig(vm, InstanceIDKey), uid)
}

// BootstrapMarked is true when the data of the first boot was removed once.
func BootstrapMarked(vm *mo.VirtualMachine, uid string) bool {
	mark := ExtraConfig(vm, BootstrapRemovedKey)
	return mark != "" && mark == BootstrapInstance(vm, uid)
}

// BootstrapRemoved is true when the data of the first boot was removed and has not come back.
func BootstrapRemoved(vm *mo.VirtualMachine, uid string) bool {
	return BootstrapMarked(vm, uid) && !slices.ContainsFunc(FirstBootKeys, func(key string) bool { return ExtraConfig(vm, key) != "" })
}

// bootstrapStatus returns the instance ID that cloud-init was given, nil if that is the UID of the object.
func bootstrapStatus(vm *mo.VirtualMachine) *vmv1alpha1.VirtualMachineBootstrapStatus {
	if id := ExtraConfig(vm, InstanceIDKey); id != "" {
		return &vmv1alpha1.VirtualMachineBootstrapStatus{InstanceID: id}
	}
	return nil
}

// BootstrapCondition returns whether the data of the first boot was removed. It has no status if that is not requested,
// and for an adopted VM, which was given none.
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
		c.Message = "cloud-init has not said yet, by guestinfo.local-ipv4 or local-ipv6, that it has read its data"
	default:
		c.Status, c.Reason = metav1.ConditionFalse, vmv1alpha1.ReasonInProgress
		c.Message = "VMware Tools does not run yet, which it does when Ignition is done"
	}
	return c
}
