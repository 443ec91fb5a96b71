// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// paths are the properties of a record: the hardware fields, and those that identify and describe the VM. The
// stream delivers each property by its own path, because config.changeVersion changes only with a reconfiguration.
// It does not change when a guest writes guestinfo or when a snapshot changes the disks' files.
var paths = append(hardware.Properties(),
	"name", "parent", "resourcePool", "rootSnapshot", "snapshot",
	"runtime.powerState", "runtime.connectionState", "runtime.host", "runtime.bootTime", "runtime.cleanPowerOff",
	"runtime.question", "runtime.consolidationNeeded",
	"config.changeVersion", "config.instanceUuid", "config.files", "config.template", "config.vAppConfig",
	"config.managedBy", "config.annotation", "config.createDate", "config.keyId",
	"guest.customizationInfo", "guest.net", "guest.ipAddress", "guest.hostName", "guest.toolsRunningStatus",
	"guest.toolsVersion", "guest.guestId", "guest.guestFullName", "guestHeartbeatStatus", "summary.storage",
)

// missingProperty returns the first missing property that is required for decisions, or nil. Guest properties and
// storage usage are not required, because they are only displayed.
func missingProperty(missing []types.MissingProperty) *types.MissingProperty {
	for i := range missing {
		root, _, _ := strings.Cut(missing[i].Path, ".")
		if root != "guest" && root != "guestHeartbeatStatus" && root != "summary" {
			return &missing[i]
		}
	}
	return nil
}

// apply returns a copy of vm with the changes. incomplete is true if the server reported an unknown path, such as a
// part of a property. Then the virtual machine must be read again.
func apply(vm *mo.VirtualMachine, changes []types.PropertyChange) (next *mo.VirtualMachine, incomplete bool) {
	next = clone(vm)
	for _, c := range changes {
		if !slices.Contains(paths, c.Name) {
			incomplete = true
			continue
		}
		mo.ApplyPropertyChange(next, []types.PropertyChange{c})
	}
	return next, incomplete
}

// clone copies vm so that assigning any of paths does not change vm.
func clone(vm *mo.VirtualMachine) *mo.VirtualMachine {
	next := *vm
	if vm.Config != nil {
		c := *vm.Config
		next.Config = &c
	}
	if vm.Guest != nil {
		g := *vm.Guest
		next.Guest = &g
	}
	return &next
}

// recordOf returns the record for the properties of a virtual machine. If a required property is missing, the
// record is not readable.
func recordOf(content types.ObjectContent) *mo.VirtualMachine {
	vm := &mo.VirtualMachine{}
	vm.Self = content.Obj
	changes := make([]types.PropertyChange, 0, len(content.PropSet))
	for _, p := range content.PropSet {
		changes = append(changes, types.PropertyChange{Name: p.Name, Val: p.Val})
	}
	vm, _ = apply(vm, changes)
	if m := missingProperty(content.MissingSet); m != nil {
		return observe.MarkUnreadable(vm, m)
	}
	return vm
}
