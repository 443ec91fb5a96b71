// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// changeVersionPath is the version of the configuration.
const changeVersionPath = "config.changeVersion"

// streamPaths are delivered by the stream: what changes without a change of the
// configuration, what names the virtual machine, and the version of everything else.
var streamPaths = []string{
	"name", "parent", "resourcePool",
	changeVersionPath, "config.instanceUuid",
	"runtime.powerState", "runtime.connectionState", "runtime.host", "runtime.bootTime",
	"runtime.question", "runtime.consolidationNeeded", "rootSnapshot", "snapshot", "guest.customizationInfo",
	"guest.net", "guest.ipAddress", "guest.hostName", "guest.toolsRunningStatus",
	"guest.toolsVersion", "guest.guestId", "guest.guestFullName", "guestHeartbeatStatus",
}

// detailPaths are read when config.changeVersion changes.
var detailPaths = []string{
	"config.uuid", "config.version", "config.guestId", "config.firmware", "config.bootOptions",
	"config.hardware", "config.files", "config.cpuAllocation", "config.memoryAllocation",
	"config.cpuHotAddEnabled", "config.memoryHotAddEnabled", "config.memoryReservationLockedToMax",
	"config.latencySensitivity", "config.extraConfig", "config.template", "config.vAppConfig",
	"config.managedBy", "config.annotation", "config.createDate", "config.keyId",
	"summary.storage",
}

// versionedDetails are the details with the version that they are of.
var versionedDetails = append([]string{changeVersionPath}, detailPaths...)

// allPaths are those of a complete record.
var allPaths = slices.Concat(streamPaths, detailPaths)

// apply returns a copy of vm with the changes. incomplete is true when the
// server reported part of a path, which only reading again can resolve.
func apply(vm *mo.VirtualMachine, changes []types.PropertyChange) (next *mo.VirtualMachine, incomplete bool) {
	next = clone(vm)
	for _, c := range changes {
		if !slices.Contains(allPaths, c.Name) {
			incomplete = incomplete || strings.ContainsAny(c.Name, ".[")
			continue
		}
		mo.ApplyPropertyChange(next, []types.PropertyChange{c})
	}
	return next, incomplete
}

// clone copies vm so deeply that assigning any of allPaths leaves vm alone.
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

// fromProperties returns the record of a complete read.
func fromProperties(ref types.ManagedObjectReference, set []types.DynamicProperty) *mo.VirtualMachine {
	vm := &mo.VirtualMachine{}
	vm.Self = ref
	return with(vm, set)
}

// with returns a copy of vm with what was read.
func with(vm *mo.VirtualMachine, set []types.DynamicProperty) *mo.VirtualMachine {
	changes := make([]types.PropertyChange, 0, len(set))
	for _, p := range set {
		changes = append(changes, types.PropertyChange{Name: p.Name, Val: p.Val})
	}
	next, _ := apply(vm, changes)
	return next
}

// changeVersion is empty for a virtual machine without readable configuration.
func changeVersion(vm *mo.VirtualMachine) string {
	if vm == nil || vm.Config == nil {
		return ""
	}
	return vm.Config.ChangeVersion
}
