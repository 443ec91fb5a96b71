// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// MarkUnreadable returns a copy of vm whose configuration is not readable, because vSphere has omitted a required
// property. Without the advanced settings, for example, the VM's owner and pause state are not known.
func MarkUnreadable(vm *mo.VirtualMachine, m *types.MissingProperty) *mo.VirtualMachine {
	next := *vm
	next.Config = nil
	text := cmp.Or(m.Fault.LocalizedMessage, strings.TrimPrefix(fmt.Sprintf("%T", m.Fault.Fault), "*types."))
	next.ConfigIssue = []types.BaseEvent{&types.Event{FullFormattedMessage: m.Path + ": " + text}}
	return &next
}

// Fault returns why a property could not be read. It returns an empty string if all properties were read. configIssue
// itself is not read from vSphere.
func Fault(vm *mo.VirtualMachine) string {
	if vm == nil || len(vm.ConfigIssue) == 0 {
		return ""
	}
	return vm.ConfigIssue[0].GetEvent().FullFormattedMessage
}

// IsReadable reports whether the configuration was read. vCenter has no configuration of a VM whose files are
// inaccessible, and does not return it without the privilege.
func IsReadable(vm *mo.VirtualMachine) bool {
	return vm != nil && vm.Config != nil && vm.Config.ChangeVersion != "" && vm.Config.InstanceUuid != ""
}

// IsPaused reports whether an administrator has paused the VM.
func IsPaused(vm *mo.VirtualMachine) bool {
	return strings.EqualFold(ExtraConfig(vm, vmv1alpha1.ExtraConfigPausedKey), "TRUE")
}

// IsConnected reports whether vCenter can manage the VM. It is false if the VM is orphaned, inaccessible, invalid or
// on a disconnected host.
func IsConnected(vm *mo.VirtualMachine) bool {
	return vm.Runtime.ConnectionState == types.VirtualMachineConnectionStateConnected
}

// isOrphaned reports whether a VM is in vCenter's inventory but no longer on a host.
func isOrphaned(vm *mo.VirtualMachine) bool {
	return vm.Runtime.ConnectionState == types.VirtualMachineConnectionStateOrphaned
}

// Trouble returns why the VM cannot be changed, or an empty string. All properties that it uses are part of the
// stream.
func Trouble(vm *mo.VirtualMachine) string {
	switch {
	case vm.Runtime.ConnectionState == "":
		return fmt.Sprintf("the vSphere VM %s cannot be read: the account has no permission on it", vm.Self.Value)
	case !IsConnected(vm):
		return fmt.Sprintf("the vSphere VM %s is not connected: %s", vm.Self.Value, vm.Runtime.ConnectionState)
	case Fault(vm) != "":
		return fmt.Sprintf("the configuration of the vSphere VM %s cannot be read: %s", vm.Self.Value, Fault(vm))
	case !IsReadable(vm):
		return fmt.Sprintf("the configuration of the vSphere VM %s cannot be read", vm.Self.Value)
	case vm.ResourcePool == nil:
		return fmt.Sprintf("the vSphere VM %s has no resource pool: it is a template, or its pool cannot be read", vm.Self.Value)
	}
	return ""
}
