// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// networkOf returns the network configuration for cloud-init in the differences, as JSON. It is empty if there is
// no metadata, and null if the metadata has no network.
func networkOf(t *testing.T, diffs []Difference) string {
	t.Helper()
	for _, o := range Spec(diffs).ExtraConfig {
		if o.GetOptionValue().Key != metadataKey {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(o.GetOptionValue().Value.(string))
		if err != nil {
			t.Fatal(err)
		}
		var metadata struct{ Network json.RawMessage }
		if err := json.Unmarshal(raw, &metadata); err != nil {
			t.Fatal(err)
		}
		if metadata.Network == nil {
			return "null"
		}
		return string(metadata.Network)
	}
	return ""
}

// The guest chooses the names of its adapters. Only the MAC address identifies an adapter.
func TestNetworkConfig_MatchesAdaptersByMACAddress(t *testing.T) {
	const documented = `{"ethernets":{` +
		`"eth0":{"addresses":["192.0.2.5/24"],"gateway4":"192.0.2.1","match":{"macaddress":"00:50:56:01:02:03"},"nameservers":{"addresses":["192.0.2.53"]},"set-name":"eth0"},` +
		`"eth1":{"dhcp4":true,"match":{"macaddress":"00:50:56:01:02:04"},"nameservers":{"addresses":["192.0.2.53"]},"set-name":"eth1"}},"version":2}`
	for _, tc := range []struct {
		name   string
		change func(*Desired, *mo.VirtualMachine)
		want   string
	}{
		{"the documented example", func(*Desired, *mo.VirtualMachine) {}, documented},
		{"an interface without settings is also configured", func(w *Desired, _ *mo.VirtualMachine) { w.Effective.Network.Interfaces[1].DHCP4 = nil }, documented},
		{"a new VM has no addresses yet", func(_ *Desired, vm *mo.VirtualMachine) { *vm = mo.VirtualMachine{} }, ""},
		{"a new VM with MAC addresses from the spec", func(w *Desired, vm *mo.VirtualMachine) {
			*vm = mo.VirtualMachine{}
			w.Effective.Network.Interfaces = w.Effective.Network.Interfaces[:1]
			w.Effective.Network.Nameservers, w.Effective.Network.SearchDomains = nil, []string{"example.com"}
			w.Effective.Network.Interfaces[0].MACAddress = "00:50:56:AA:BB:CC"
		}, `{"ethernets":{"eth0":{"addresses":["192.0.2.5/24"],"gateway4":"192.0.2.1","match":{"macaddress":"00:50:56:aa:bb:cc"},"nameservers":{"search":["example.com"]},"set-name":"eth0"}},"version":2}`},
		{"an adapter that is not added yet", func(_ *Desired, vm *mo.VirtualMachine) {
			vm.Config.Hardware.Device = vm.Config.Hardware.Device[:1]
		}, ""},
		{"an adapter that is not replaced yet", func(w *Desired, _ *mo.VirtualMachine) { w.Effective.Network.Interfaces[0].Model = "e1000" }, ""},
		{"an invalid interface name in Linux", func(w *Desired, vm *mo.VirtualMachine) {
			recorded(vm, "the-first-of-them=4000,eth1=4001")
			w.Effective.Network.Nameservers = nil
			w.Effective.Network.Interfaces[0] = vmv1alpha1.VirtualMachineNetworkInterface{Name: "the-first-of-them"}
			w.Effective.Network.Interfaces[1].MTU, w.Effective.Network.Interfaces[1].DHCP4 = ptr(int32(9000)), nil
		}, `{"ethernets":{"eth1":{"dhcp4":true,"match":{"macaddress":"00:50:56:01:02:04"},"mtu":9000,"set-name":"eth1"},"the-first-of-them":{"dhcp4":true,"match":{"macaddress":"00:50:56:01:02:03"}}},"version":2}`},
		{"adapters in another order than their interfaces", func(w *Desired, vm *mo.VirtualMachine) {
			recorded(vm, "eth0=4001,eth1=4000")
			w.Effective.Network.Nameservers = nil
		}, `{"ethernets":{"eth0":{"addresses":["192.0.2.5/24"],"gateway4":"192.0.2.1","match":{"macaddress":"00:50:56:01:02:04"},"set-name":"eth0"},"eth1":{"dhcp4":true,"match":{"macaddress":"00:50:56:01:02:03"},"set-name":"eth1"}},"version":2}`},
		{"nothing requested", func(w *Desired, _ *mo.VirtualMachine) {
			w.Effective.Network = &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0"}, {Name: "eth1"}}}
		}, "null"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, vm := want(), have()
			second := &types.VirtualVmxnet3{}
			second.Key, second.MacAddress, second.Backing = 4001, "00:50:56:01:02:04", backing("VM Network")
			vm.Config.Hardware.Device = append(vm.Config.Hardware.Device, second)
			w.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{}}
			w.Effective.Network = &vmv1alpha1.VirtualMachineNetworkSpec{
				Nameservers: []string{"192.0.2.53"},
				Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{
					{Name: "eth0", Addresses: []string{"192.0.2.5/24"}, Gateway4: "192.0.2.1"}, {Name: "eth1", DHCP4: ptr(true)},
				},
			}
			tc.change(&w, vm)
			if diff := cmp.Diff(tc.want, networkOf(t, Differences(w, vm))); diff != "" {
				t.Errorf("network configuration (-want +got):\n%s", diff)
			}
		})
	}
}

// If the image has OVF properties, cloud-init does not use other data sources.
func TestBootstrap_CloudInitRemovesTheImagesOVFProperties(t *testing.T) {
	properties := &types.VmConfigInfo{Property: []types.VAppPropertyInfo{{Id: "password"}}}
	for _, tc := range []struct {
		name   string
		change func(*Desired, *mo.VirtualMachine)
		want   bool
	}{
		{"a new VM", func(_ *Desired, vm *mo.VirtualMachine) { *vm = mo.VirtualMachine{} }, true},
		{"a new VM that has the properties", func(w *Desired, _ *mo.VirtualMachine) { w.New = true }, true},
		{"a new VM without properties", func(w *Desired, vm *mo.VirtualMachine) { w.New, vm.Config.VAppConfig = true, nil }, false},
		{"a VM that has booted with the properties", func(*Desired, *mo.VirtualMachine) {}, false},
		{"requested", func(w *Desired, vm *mo.VirtualMachine) {
			w.Effective.Bootstrap.VAppConfig = &vmv1alpha1.VAppConfigBootstrap{}
			*vm = mo.VirtualMachine{}
		}, false},
		{"without cloud-init", func(w *Desired, vm *mo.VirtualMachine) {
			w.Effective.Bootstrap.CloudInit = nil
			*vm = mo.VirtualMachine{}
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, vm := want(), have()
			vm.Config.VAppConfig = properties
			w.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{}}
			tc.change(&w, vm)
			if got := isTrue(Spec(Differences(w, vm)).VAppConfigRemoved); got != tc.want {
				t.Errorf("vApp configuration removed: %t, want %t", got, tc.want)
			}
		})
	}
}

// If the VM has all adapters, one reconfiguration is sufficient.
func TestNeedsAdapters_OnlyForMissingAdapters(t *testing.T) {
	w, vm := want(), have()
	w.Effective.Network.Interfaces[0].Addresses = []string{"192.0.2.5/24"}
	if NeedsAdapters(w, vm) {
		t.Error("deferred without cloud-init")
	}
	w.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{}}
	if NeedsAdapters(w, vm) {
		t.Error("deferred for an adapter that does not change")
	}
	w.Effective.Network.Interfaces[0].Network = "other"
	if NeedsAdapters(w, vm) {
		t.Error("deferred for an adapter that keeps its address on another network")
	}
	w.Effective.Network.Interfaces[0].Model = "e1000"
	if !NeedsAdapters(w, vm) {
		t.Error("not deferred for an adapter that must be replaced")
	}
}
