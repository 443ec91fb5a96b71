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

// Unanswered returns vm as one whose configuration cannot be read: vSphere has left out a
// property that decisions need. Without the advanced settings, for example, it is not known
// which object the VM belongs to and whether it is paused.
func Unanswered(vm *mo.VirtualMachine, m *types.MissingProperty) *mo.VirtualMachine {
	next := *vm
	next.Config = nil
	text := cmp.Or(m.Fault.LocalizedMessage, strings.TrimPrefix(fmt.Sprintf("%T", m.Fault.Fault), "*types."))
	next.ConfigIssue = []types.BaseEvent{&types.Event{FullFormattedMessage: m.Path + ": " + text}}
	return &next
}

// Fault returns why a property could not be read, empty if all could. configIssue itself is
// not read from vSphere.
func Fault(vm *mo.VirtualMachine) string {
	if vm == nil || len(vm.ConfigIssue) == 0 {
		return ""
	}
	return vm.ConfigIssue[0].GetEvent().FullFormattedMessage
}

// Readable is true when the configuration could be read. vCenter has none of a VM whose
// files it cannot reach, and whoever lacks the privilege sees none.
func Readable(vm *mo.VirtualMachine) bool {
	return vm != nil && vm.Config != nil && vm.Config.ChangeVersion != "" && vm.Config.InstanceUuid != ""
}

// Paused is true when an administrator paused the VM.
func Paused(vm *mo.VirtualMachine) bool {
	return strings.EqualFold(ExtraConfig(vm, vmv1alpha1.ExtraConfigPausedKey), "TRUE")
}

// Connected is true when vCenter manages the VM: not orphaned, inaccessible, invalid or
// on a disconnected host.
func Connected(vm *mo.VirtualMachine) bool {
	return vm.Runtime.ConnectionState == types.VirtualMachineConnectionStateConnected
}

// orphaned is true for a VM that is in vCenter's inventory and on no host any more.
func orphaned(vm *mo.VirtualMachine) bool {
	return vm.Runtime.ConnectionState == types.VirtualMachineConnectionStateOrphaned
}

// Trouble says why nobody can change the VM; empty when somebody can. What it looks at
// is part of the stream.
func Trouble(vm *mo.VirtualMachine) string {
	switch {
	case vm.Runtime.ConnectionState == "":
		return fmt.Sprintf("the vSphere VM %s cannot be read: permissions on it are missing", vm.Self.Value)
	case !Connected(vm):
		return fmt.Sprintf("the vSphere VM %s is not connected: %s", vm.Self.Value, vm.Runtime.ConnectionState)
	case Fault(vm) != "":
		return fmt.Sprintf("the configuration of the vSphere VM %s cannot be read: %s", vm.Self.Value, Fault(vm))
	case !Readable(vm):
		return fmt.Sprintf("the configuration of the vSphere VM %s cannot be read", vm.Self.Value)
	case vm.ResourcePool == nil:
		return fmt.Sprintf("the vSphere VM %s has no resource pool: it is a template, or its pool cannot be read", vm.Self.Value)
	}
	return ""
}
