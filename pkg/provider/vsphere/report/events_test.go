// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider"
)

func TestEventOf_ConvertsVSphereEvents(t *testing.T) {
	at := time.Unix(1000, 0)
	event := types.Event{
		CreatedTime: at, Vm: &types.VmEventArgument{Vm: types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}}, UserName: "VSPHERE.LOCAL\\Administrator",
		FullFormattedMessage: "VSPHERE.LOCAL\\Administrator did it",
		Host:                 &types.HostEventArgument{EntityEventArgument: types.EntityEventArgument{Name: "esx-2"}},
	}
	vm := types.VmEvent{Event: event}
	from := types.HostEventArgument{EntityEventArgument: types.EntityEventArgument{Name: "esx-1"}}
	for _, test := range []struct {
		name  string
		event types.BaseEvent
		want  *provider.HypervisorEvent
	}{
		{"moved", &types.VmMigratedEvent{VmEvent: vm, SourceHost: from}, &provider.HypervisorEvent{Reason: "Migrated", Note: "vSphere moved the virtual machine from host esx-1 to host esx-2"}},
		{"moved by DRS", &types.DrsVmMigratedEvent{VmMigratedEvent: types.VmMigratedEvent{VmEvent: vm, SourceHost: from}}, &provider.HypervisorEvent{Reason: "MigratedByDRS", Note: "DRS moved the virtual machine from host esx-1 to host esx-2"}},
		{"its host failed", &types.VmRestartedOnAlternateHostEvent{VmPoweredOnEvent: types.VmPoweredOnEvent{VmEvent: vm}, SourceHost: from},
			&provider.HypervisorEvent{Warning: true, Reason: "RestartedByHA", Note: "the host failed, and vSphere HA restarted the virtual machine on another host from host esx-1 to host esx-2"}},
		{"host failure as EventEx", &types.EventEx{Event: event, EventTypeId: "com.vmware.vc.ha.VmRestartedByHAEvent"},
			&provider.HypervisorEvent{Warning: true, Reason: "RestartedByHA", Note: "the host failed, and vSphere HA restarted the virtual machine on another host"}},
		{"an event with the VM in its object fields", &types.EventEx{Event: types.Event{CreatedTime: at}, EventTypeId: "com.vmware.vc.ha.VmRestartedByHAEvent", ObjectType: "VirtualMachine", ObjectId: "vm-1"},
			&provider.HypervisorEvent{Warning: true, Reason: "RestartedByHA", Note: "the host failed, and vSphere HA restarted the virtual machine on another host"}},
		{"an event of another object", &types.EventEx{EventTypeId: "com.vmware.vc.ha.VmRestartedByHAEvent", ObjectType: "HostSystem", ObjectId: "vm-1"}, nil},
		{"reset", &types.VmDasBeingResetEvent{VmEvent: vm}, &provider.HypervisorEvent{Warning: true, Reason: "ResetByHA", Note: "the guest does not respond, so vSphere HA is resetting the virtual machine"}},
		{"no space", &types.VmMessageErrorEvent{VmEvent: vm, Message: "There is no more space\nfor virtual disk web.vmdk."},
			&provider.HypervisorEvent{Warning: true, Reason: "Error", Note: "vSphere reports an error: There is no more space; for virtual disk web.vmdk."}},
		{"an operation of Slipway", &types.VmPoweredOnEvent{VmEvent: vm}, nil},
		{"an unknown event", &types.EventEx{Event: event, EventTypeId: "com.example.Other"}, nil},
		{"an event without a VM", &types.VmMigratedEvent{}, nil},
	} {
		got, vm, ok := EventOf(test.event)
		if test.want == nil {
			if ok {
				t.Errorf("%s: %+v is reported, want no event", test.name, got)
			}
			continue
		}
		test.want.At = at
		if diff := cmp.Diff(*test.want, got); !ok || diff != "" || vm.Value != "vm-1" {
			t.Errorf("%s: reported %t (-want +got):\n%s", test.name, ok, diff)
		}
	}
	long, _, _ := EventOf(&types.VmMessageErrorEvent{VmEvent: vm, Message: strings.Repeat("x", 5000)})
	if len(long.Note) > 1024 {
		t.Errorf("the note has %d bytes", len(long.Note))
	}
}

func TestEventKinds_HaveReasonAndNote(t *testing.T) {
	for id, k := range eventTexts {
		if id == "" || k.reason == "" || k.note == "" {
			t.Errorf("%q: %+v", id, k)
		}
	}
}
