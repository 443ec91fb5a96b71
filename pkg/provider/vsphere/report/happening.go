// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"maps"
	"reflect"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// kind is what is told of a class of events.
type kind struct {
	warning      bool
	reason, note string
}

// happenings are the events that are told of, by class or, of those without one, by ID. What
// we do ourselves is none of them, nor what a condition tells: questions, disks to consolidate.
// Classes are those of the vSphere API; the IDs of HA are listed in Broadcom's documentation
// of vSphere events and come as EventEx.
var happenings = map[string]kind{
	"VmMigratedEvent":                       {false, "Migrated", "vSphere moved the virtual machine"},
	"DrsVmMigratedEvent":                    {false, "MigratedByDRS", "DRS moved the virtual machine"},
	"VmRelocatedEvent":                      {false, "Relocated", "vSphere moved the virtual machine or its files"},
	"VmFailedMigrateEvent":                  {true, "MigrateFailed", "vSphere could not move the virtual machine"},
	"VmRestartedOnAlternateHostEvent":       {true, "RestartedByHA", "its host failed, and vSphere HA restarted the virtual machine on another"},
	"com.vmware.vc.ha.VmRestartedByHAEvent": {true, "RestartedByHA", "its host failed, and vSphere HA restarted the virtual machine on another"},
	"VmFailoverFailed":                      {true, "FailoverFailed", "its host failed, and vSphere HA could not restart the virtual machine"},
	"VmMaxRestartCountReached":              {true, "FailoverFailed", "vSphere HA has tried to restart the virtual machine as often as it may"},
	"VmDasBeingResetEvent":                  {true, "ResetByHA", "the guest gave no sign of life, and vSphere HA resets the virtual machine"},
	"VmDasBeingResetWithScreenshotEvent":    {true, "ResetByHA", "the guest gave no sign of life, and vSphere HA resets the virtual machine"},
	"VmDasResetFailedEvent":                 {true, "ResetFailed", "the guest gave no sign of life, and vSphere HA could not reset the virtual machine"},
	"VmGuestRebootEvent":                    {false, "GuestRebooted", "the guest restarts"},
	"VmGuestShutdownEvent":                  {false, "GuestShutDown", "the guest shuts down"},
	"VmGuestOSCrashedEvent":                 {true, "GuestCrashed", "the operating system of the guest crashed"},
	"VmDiskFailedEvent":                     {true, "DiskFailed", "a disk of the virtual machine failed"},
	"VmMessageErrorEvent":                   {true, "Error", "vSphere reports an error"},
	"VmMessageWarningEvent":                 {true, "Warning", "vSphere warns"},
	"VmNoNetworkAccessEvent":                {true, "NetworkUnreachable", "networks of the virtual machine are not there on its host"},
}

// EventKinds are the classes and IDs of events that Happening knows.
func EventKinds() []string {
	return slices.Sorted(maps.Keys(happenings))
}

// Happening says what is told of an event, and of which VM; ok is false for nothing. Names of hosts are those
// that status shows too. Of the text of an event only that about errors is passed on: others
// may name users of vCenter.
func Happening(e types.BaseEvent) (h provider.Happening, vm types.ManagedObjectReference, ok bool) {
	class := reflect.TypeOf(e).Elem().Name()
	if x, is := e.(*types.EventEx); is {
		class = x.EventTypeId
	}
	k, ok := happenings[class]
	event := e.GetEvent()
	vm, of := machineOf(e)
	if !ok || !of {
		return h, vm, false
	}
	h = provider.Happening{At: event.CreatedTime, Warning: k.warning, Reason: k.reason, Note: k.note}
	var from *types.HostEventArgument
	text := ""
	switch e := e.(type) {
	case *types.VmMigratedEvent:
		from = &e.SourceHost
	case *types.DrsVmMigratedEvent:
		from = &e.SourceHost
	case *types.VmRelocatedEvent:
		from = &e.SourceHost
	case *types.VmRestartedOnAlternateHostEvent:
		from = &e.SourceHost
	case *types.VmMessageErrorEvent:
		text = e.Message
	case *types.VmMessageWarningEvent:
		text = e.Message
	case *types.VmDiskFailedEvent:
		text = e.Disk
	case *types.VmFailedMigrateEvent:
		text = e.Reason.LocalizedMessage
	}
	if from != nil && from.Name != "" {
		h.Note += " from host " + from.Name
	}
	if from != nil && event.Host != nil && event.Host.Name != "" {
		h.Note += " to host " + event.Host.Name
	}
	if text != "" {
		h.Note += ": " + text
	}
	h.Note = conditions.Line(h.Note, conditions.MaxNote)
	return h, vm, true
}

// machineOf is the VM that an event is of. One without a class of its own may name it in
// another way.
func machineOf(e types.BaseEvent) (types.ManagedObjectReference, bool) {
	if vm := e.GetEvent().Vm; vm != nil {
		return vm.Vm, true
	}
	if x, is := e.(*types.EventEx); is && x.ObjectType == "VirtualMachine" {
		return types.ManagedObjectReference{Type: x.ObjectType, Value: x.ObjectId}, true
	}
	return types.ManagedObjectReference{}, false
}
