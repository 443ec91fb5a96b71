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

// eventText is the reason and the note for an event class.
type eventText struct {
	warning      bool
	reason, note string
}

// eventTexts are the reported vSphere events, by class or, for events without a class, by ID. Events that Slipway
// causes are not reported. Events that a condition shows, such as questions and disk consolidation, are not
// reported either. The classes are in the vSphere API. The IDs of HA events, which are of class EventEx, are in
// Broadcom's documentation of vSphere events.
var eventTexts = map[string]eventText{
	"VmMigratedEvent":                       {false, "Migrated", "vSphere moved the virtual machine"},
	"DrsVmMigratedEvent":                    {false, "MigratedByDRS", "DRS moved the virtual machine"},
	"VmRelocatedEvent":                      {false, "Relocated", "vSphere moved the virtual machine or its files"},
	"VmFailedMigrateEvent":                  {true, "MigrateFailed", "vSphere could not move the virtual machine"},
	"VmRestartedOnAlternateHostEvent":       {true, "RestartedByHA", "the host failed, and vSphere HA restarted the virtual machine on another host"},
	"com.vmware.vc.ha.VmRestartedByHAEvent": {true, "RestartedByHA", "the host failed, and vSphere HA restarted the virtual machine on another host"},
	"VmFailoverFailed":                      {true, "FailoverFailed", "the host failed, but vSphere HA could not restart the virtual machine"},
	"VmMaxRestartCountReached":              {true, "FailoverFailed", "vSphere HA has reached the maximum number of attempts to restart the virtual machine"},
	"VmDasBeingResetEvent":                  {true, "ResetByHA", "the guest does not respond, so vSphere HA is resetting the virtual machine"},
	"VmDasBeingResetWithScreenshotEvent":    {true, "ResetByHA", "the guest does not respond, so vSphere HA is resetting the virtual machine"},
	"VmDasResetFailedEvent":                 {true, "ResetFailed", "the guest does not respond, but vSphere HA could not reset the virtual machine"},
	"VmGuestRebootEvent":                    {false, "GuestRebooted", "the guest is restarting"},
	"VmGuestShutdownEvent":                  {false, "GuestShutDown", "the guest is shutting down"},
	"VmGuestOSCrashedEvent":                 {true, "GuestCrashed", "the operating system of the guest crashed"},
	"VmDiskFailedEvent":                     {true, "DiskFailed", "a disk of the virtual machine failed"},
	"VmMessageErrorEvent":                   {true, "Error", "vSphere reports an error"},
	"VmMessageWarningEvent":                 {true, "Warning", "vSphere reports a warning"},
	"VmNoNetworkAccessEvent":                {true, "NetworkUnreachable", "networks of the virtual machine are not available on its host"},
}

// EventKinds returns the event classes and IDs that EventOf supports.
func EventKinds() []string {
	return slices.Sorted(maps.Keys(eventTexts))
}

// EventOf returns the Kubernetes event for a vSphere event, and its VM. ok is false if the event is not reported.
// Host names are included, because the status shows them too. The original text is included only for errors,
// because other texts may contain names of vCenter users.
func EventOf(e types.BaseEvent) (h provider.HypervisorEvent, vm types.ManagedObjectReference, ok bool) {
	class := reflect.TypeOf(e).Elem().Name()
	if x, ok := e.(*types.EventEx); ok {
		class = x.EventTypeId
	}
	k, ok := eventTexts[class]
	event := e.GetEvent()
	vm, hasVM := machineOf(e)
	if !ok || !hasVM {
		return h, vm, false
	}
	h = provider.HypervisorEvent{At: event.CreatedTime, Warning: k.warning, Reason: k.reason, Note: k.note}
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
	h.Note = conditions.TruncateLine(h.Note, conditions.MaxNote)
	return h, vm, true
}

// machineOf returns an event's VM. An EventEx may have the VM in its object fields.
func machineOf(e types.BaseEvent) (types.ManagedObjectReference, bool) {
	if vm := e.GetEvent().Vm; vm != nil {
		return vm.Vm, true
	}
	if x, ok := e.(*types.EventEx); ok && x.ObjectType == "VirtualMachine" {
		return types.ManagedObjectReference{Type: x.ObjectType, Value: x.ObjectId}, true
	}
	return types.ManagedObjectReference{}, false
}
