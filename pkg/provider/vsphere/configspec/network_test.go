// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// cardChanges returns operation, key and network of each change.
func cardChanges(spec types.VirtualMachineConfigSpec) []string {
	var out []string
	for _, c := range spec.DeviceChange {
		change := c.GetVirtualDeviceConfigSpec()
		card := change.Device.(types.BaseVirtualEthernetCard).GetVirtualEthernetCard()
		out = append(out, fmt.Sprintf("%s %d %s", change.Operation, card.Key, backingName(card.Backing)))
	}
	return out
}

// recorded sets or removes the adapter record of vm.
func recorded(vm *mo.VirtualMachine, record string) {
	vm.Config.ExtraConfig = object.OptionValueList([]types.BaseOptionValue{&types.OptionValue{Key: observe.AdaptersKey, Value: record}}).Join(vm.Config.ExtraConfig...)
}

// The network synchronizer hotplugs interfaces of a pod network. On vSphere the same changes modify the adapters.
func TestAdapters_FollowTheInterfaces(t *testing.T) {
	type nic = vmv1alpha1.VirtualMachineNetworkInterface
	eth0, eth1 := nic{Name: "eth0"}, nic{Name: "eth1", Network: "other"}
	for _, tc := range []struct {
		name       string
		interfaces []nic
		// want has operation, key and network of each change.
		want []string
	}{
		{"F148 nothing changes", []nic{eth0}, nil},
		{"F148 a new interface is added, the first adapter stays", []nic{eth0, eth1}, []string{"add -101 other"}},
		{"F148 no interfaces: adapters are not compared", nil, nil},
		{"F148 another network is an edit of the same adapter", []nic{eth1}, []string{"edit 4000 other"}},
		{"F148 another model replaces the adapter", []nic{{Name: "eth0", Model: "e1000"}}, []string{"remove 4000 VM Network", "add -100 VM Network"}},
		{"F148 another model and a new interface", []nic{{Name: "eth0", Model: "e1000"}, eth1}, []string{"remove 4000 VM Network", "add -100 VM Network", "add -101 other"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, vm := want(), have()
			recorded(vm, "") // created by an older version
			w.Effective.Network.Interfaces = tc.interfaces
			got := cardChanges(Spec(Differences(w, vm)))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("device changes (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("F148 a disabled network removes all adapters", func(t *testing.T) {
		w := want()
		w.Effective.Network.Disabled = true
		changes := Spec(Differences(w, have())).DeviceChange
		if len(changes) != 1 || changes[0].GetVirtualDeviceConfigSpec().Operation != types.VirtualDeviceConfigSpecOperationRemove {
			t.Errorf("device changes %+v, want one removal", changes)
		}
	})
}

// An adapter stays with its interface, regardless of the position in the list and of other changes to the VM.
func TestAdapters_StayWithTheirInterfaces(t *testing.T) {
	type nic = vmv1alpha1.VirtualMachineNetworkInterface
	eth0, eth1, first := nic{Name: "eth0"}, nic{Name: "eth1", Network: "other"}, nic{Name: "first"}
	for _, tc := range []struct {
		name string
		// has is the record. reported is the adapters in the status.
		has      string
		reported observe.AdapterRecord
		cards    []string
		want     []nic
		// live are changes of a running VM, later are changes that wait. record is the new adapter record.
		live, later []string
		record      string
	}{
		{"a new interface in front of another", "eth0=4000", nil, []string{"VM Network"}, []nic{first, eth0}, []string{"add -100 VM Network"}, nil, "eth0=4000,first=new"},
		{"in another order", "eth0=4000,eth1=4001", nil, []string{"VM Network", "other"}, []nic{eth1, eth0}, nil, nil, ""},
		{"the first of two interfaces is removed", "eth0=4000,eth1=4001", nil, []string{"VM Network", "other"}, []nic{eth1}, []string{"remove 4000 VM Network"}, nil, "eth1=4001"},
		{"another network", "eth0=4000,eth1=4001", nil, []string{"VM Network", "VM Network"}, []nic{eth0, eth1}, []string{"edit 4001 other"}, nil, "eth0=4000,eth1=4001"},
		{"another model is another adapter", "eth0=4000", nil, []string{"VM Network"}, []nic{{Name: "eth0", Model: "e1000"}}, nil,
			[]string{"remove 4000 VM Network", "add -100 VM Network"}, "eth0=new"},
		{"another address waits for a restart", "eth0=4000", nil, []string{"VM Network"}, []nic{{Name: "eth0", MACAddress: "00:50:56:00:00:99"}}, nil, []string{"edit 4000 VM Network"}, "eth0=4000"},
		{"a new name is another interface", "eth0=4000", nil, []string{"VM Network"}, []nic{first}, []string{"remove 4000 VM Network", "add -100 VM Network"}, nil, "first=new"},
		{"an adapter that was just added is not assigned to another new interface", "eth0=4000,eth1=new", nil, []string{"VM Network", "other"},
			[]nic{first, eth0, eth1}, []string{"add -100 VM Network"}, nil, "eth0=4000,eth1=4001,first=new"},
		{"an adapter that was removed manually is added again", "eth0=4000,eth1=4001", nil, []string{"VM Network"}, []nic{eth0, eth1}, []string{"add -101 other"}, nil, "eth0=4000,eth1=new"},
		{"an adapter that was replaced manually, with the same key", "eth0=4000,eth1=4001", nil, []string{"VM Network", "VM Network"}, []nic{eth0, eth1}, []string{"edit 4001 other"}, nil, "eth0=4000,eth1=4001"},
		{"an adapter that was replaced manually, with another key", "eth0=4009", nil, []string{"VM Network"}, []nic{eth0}, nil, nil, ""},
		{"an adapter that was added manually is removed at a restart", "eth0=4000", nil, []string{"VM Network", "other"}, []nic{eth0}, nil, []string{"remove 4001 other"}, "eth0=4000"},
		{"an adapter that was added manually is used for a new interface", "eth0=4000", nil, []string{"VM Network", "other"}, []nic{eth1, eth0}, nil, nil, ""},
		{"matched by address", "", nil, []string{"VM Network", "VM Network"}, []nic{{Name: "eth1", MACAddress: "00:50:56:01:02:04"}, eth0}, nil, nil, ""},
		{"a VM of an older version, by the status", "", observe.AdapterRecord{"eth0": 4000}, []string{"VM Network"}, []nic{first, eth0}, []string{"add -100 VM Network"}, nil, "eth0=4000,first=new"},
		{"a VM of an older version, by the order", "", nil, []string{"VM Network", "other"}, []nic{eth0, eth1, first}, []string{"add -102 VM Network"}, nil, "eth0=4000,eth1=4001,first=new"},
		{"the record takes precedence over the status", "eth0=4000,eth1=4001", observe.AdapterRecord{"eth0": 4001, "eth1": 4000}, []string{"VM Network", "other"}, []nic{eth0, eth1}, nil, nil, ""},
		{"an invalid record", "eth0=,=4,,eth0=x,eth1=-4", nil, []string{"VM Network", "other"}, []nic{eth0, eth1}, nil, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, vm := want(), have()
			recorded(vm, tc.has)
			vm.Config.Hardware.Device = nil
			for n, network := range tc.cards {
				card := &types.VirtualVmxnet3{}
				card.Key, card.MacAddress, card.Backing = int32(4000+n), fmt.Sprintf("00:50:56:01:02:%02d", 3+n), backing(network)
				vm.Config.Hardware.Device = append(vm.Config.Hardware.Device, card)
			}
			w.Effective.Network.Interfaces, w.Adapters = tc.want, tc.reported
			var live, later []Difference
			for _, d := range Differences(w, vm) {
				if d.Live {
					live = append(live, d)
				} else {
					later = append(later, d)
				}
			}
			if diff := cmp.Diff(tc.live, cardChanges(Spec(live))); diff != "" {
				t.Errorf("while it runs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.later, cardChanges(Spec(later))); diff != "" {
				t.Errorf("at a restart (-want +got):\n%s", diff)
			}
			after := &mo.VirtualMachine{Config: &types.VirtualMachineConfigInfo{ExtraConfig: Spec(append(live, later...)).ExtraConfig}}
			if got := observe.ExtraConfig(after, observe.AdaptersKey); got != tc.record && tc.record != tc.has {
				t.Errorf("recorded %q, want %q", got, tc.record)
			}
		})
	}
}
