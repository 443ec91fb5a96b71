// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// observed returns a running VM with storage and guest information.
func observed(change func(*mo.VirtualMachine)) *mo.VirtualMachine {
	vm := &mo.VirtualMachine{}
	vm.Self = vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-42"}
	vm.Runtime.PowerState = vimtypes.VirtualMachinePowerStatePoweredOn
	vm.Runtime.ConnectionState = vimtypes.VirtualMachineConnectionStateConnected
	vm.Config = &vimtypes.VirtualMachineConfigInfo{ChangeVersion: "1", InstanceUuid: "uid", Hardware: vimtypes.VirtualHardware{NumCPU: 2, MemoryMB: 1024}}
	vm.Guest = &vimtypes.GuestInfo{ToolsRunningStatus: string(vimtypes.VirtualMachineToolsRunningStatusGuestToolsRunning)}
	vm.Summary.Storage = &vimtypes.VirtualMachineStorageSummary{Committed: 100, Uncommitted: 50}
	change(vm)
	return vm
}

func observationOf(vm *mo.VirtualMachine) provider.Observation {
	return Observe(vm, &driver.Desired{}, func(vimtypes.ManagedObjectReference) string { return "esx-1" })
}

func TestObserve_ReportsStorageUsage(t *testing.T) {
	got := observationOf(observed(func(*mo.VirtualMachine) {})).Storage
	if got == nil || got.Committed == nil || got.Committed.Value() != 100 || got.Provisioned == nil || got.Provisioned.Value() != 150 {
		t.Errorf("storage %+v, want 100 bytes in use and 150 provisioned", got)
	}
}

func TestObserve_ReportsVMwareToolsCondition(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*mo.VirtualMachine)
		want   string
	}{
		"running": {func(*mo.VirtualMachine) {}, "True/Succeeded"},
		"not running": {func(vm *mo.VirtualMachine) {
			vm.Guest.ToolsRunningStatus = string(vimtypes.VirtualMachineToolsRunningStatusGuestToolsNotRunning)
		}, "False/WaitingForTools"},
		"powered off":  {func(vm *mo.VirtualMachine) { vm.Runtime.PowerState = vimtypes.VirtualMachinePowerStatePoweredOff }, "False/PoweredOff"},
		"not reported": {func(vm *mo.VirtualMachine) { vm.Guest = nil }, "Unknown/UnknownState"},
	} {
		t.Run(name, func(t *testing.T) {
			got := "none"
			if c := meta.FindStatusCondition(observationOf(observed(c.change)).Conditions, vmv1alpha1.ConditionGuestToolsReady); c != nil {
				got = string(c.Status) + "/" + c.Reason
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("GuestToolsReady (-want +got):\n%s", diff)
			}
		})
	}
}

// Another program may have customized the template, or the VM before Slipway adopted it.
func TestGuestCustomized_IsReportedOnlyIfRequested(t *testing.T) {
	prep := &vmv1alpha1.VirtualMachineInstanceSpec{Bootstrap: &vmv1alpha1.VirtualMachineBootstrap{LinuxPrep: &vmv1alpha1.LinuxPrepBootstrap{}}}
	for name, tc := range map[string]struct {
		effective *vmv1alpha1.VirtualMachineInstanceSpec
		adopted   bool
		want      bool
	}{
		"a customization was requested":  {prep, false, true},
		"the spec cannot be resolved":    {nil, false, true},
		"no customization was requested": {&vmv1alpha1.VirtualMachineInstanceSpec{}, false, false},
		"it was adopted":                 {prep, true, false},
	} {
		vm := observed(func(vm *mo.VirtualMachine) {
			vm.Guest.CustomizationInfo = &vimtypes.GuestInfoCustomizationInfo{CustomizationStatus: "TOOLSDEPLOYPKG_SUCCEEDED"}
			if tc.adopted {
				vm.Config.ExtraConfig = []vimtypes.BaseOptionValue{&vimtypes.OptionValue{Key: observe.AdoptedKey, Value: "uid"}}
			}
		})
		o := Observe(vm, &driver.Desired{Desired: provider.Desired{Effective: tc.effective}, Identity: driver.Identity{UID: "uid"}}, nil)
		if got := meta.IsStatusConditionTrue(o.Conditions, vmv1alpha1.ConditionGuestCustomized); got != tc.want {
			t.Errorf("%s: GuestCustomized is reported: %v, want %v", name, got, tc.want)
		}
	}
}

// A virtual address, such as that of a load balancer, moves between machines. With it, probes and SSH would reach
// another VM.
func TestObserve_PrefersSpecAndPreviousPrimaryAddress(t *testing.T) {
	type nic = vmv1alpha1.VirtualMachineNetworkInterface
	static := func(gateway string, addresses ...string) nic {
		return nic{Name: "eth0", Addresses: addresses, Gateway4: gateway}
	}
	for _, tc := range []struct {
		name       string
		interfaces []nic
		previous   []string
		guest      string   // The guest's own choice.
		eth0, eth1 []string // The addresses that the guest reports.
		want       string
	}{
		{"the guest's choice is a virtual address in the subnet", []nic{static("", "192.0.2.5/24")}, nil,
			"192.0.2.100", []string{"192.0.2.100/24", "192.0.2.5/24"}, nil, "192.0.2.5"},
		{"the previous address was a virtual address", []nic{static("", "192.0.2.5/24")}, []string{"192.0.2.100"},
			"192.0.2.100", []string{"192.0.2.100/24", "192.0.2.5/24"}, nil, "192.0.2.5"},
		{"the address of the spec is not reported", []nic{static("", "192.0.2.5/24")}, nil,
			"192.0.2.7", []string{"192.0.2.7/24"}, nil, "192.0.2.7"},
		{"the address of the spec is not reported, and the previous one is", []nic{static("", "192.0.2.5/24")}, []string{"192.0.2.8"},
			"192.0.2.7", []string{"192.0.2.7/24", "192.0.2.8/24"}, nil, "192.0.2.8"},
		{"DHCP: the previous address is reported", []nic{{Name: "eth0"}}, []string{"192.0.2.9", ""},
			"192.0.2.100", []string{"192.0.2.100/24", "192.0.2.9/24"}, nil, "192.0.2.9"},
		{"DHCP: the previous address is no longer reported", []nic{{Name: "eth0"}}, []string{"192.0.2.9", ""},
			"192.0.2.10", []string{"192.0.2.10/24"}, nil, "192.0.2.10"},
		{"DHCP: no previous address", []nic{{Name: "eth0"}}, nil,
			"192.0.2.10", []string{"192.0.2.9/24", "192.0.2.10/24"}, nil, "192.0.2.10"},
		{"an address of one host is the last choice", []nic{{Name: "eth0"}}, nil,
			"192.0.2.100", []string{"192.0.2.100/32", "192.0.2.9/24"}, nil, "192.0.2.9"},
		{"an address of one host is the only one", []nic{{Name: "eth0"}}, nil,
			"192.0.2.100", []string{"192.0.2.100/32"}, nil, "192.0.2.100"},
		{"a second interface has the gateway", []nic{static("", "198.51.100.5/24"), {Name: "eth1", Addresses: []string{"192.0.2.5/24"}, Gateway4: "192.0.2.1"}}, nil,
			"198.51.100.5", []string{"198.51.100.5/24"}, []string{"192.0.2.5/24"}, "192.0.2.5"},
		{"the other interface is configured by DHCP", []nic{static("", "198.51.100.5/24"), {Name: "eth1"}}, nil,
			"192.0.2.9", []string{"198.51.100.5/24"}, []string{"192.0.2.9/24"}, "192.0.2.9"},
		{"IPv6", []nic{static("", "2001:db8:0::5/64")}, nil,
			"2001:db8::100", []string{"2001:db8::100/64", "2001:db8::5/64"}, nil, "2001:db8::5"},
		{"IPv6: the previous address", []nic{{Name: "eth0"}}, []string{"", "2001:db8::6"},
			"2001:db8::100", []string{"2001:db8::100/64", "2001:db8::6/64"}, nil, "2001:db8::6"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vm := observed(func(vm *mo.VirtualMachine) {
				vm.Guest.IpAddress = tc.guest
				for at, texts := range [][]string{tc.eth0, tc.eth1} {
					card := &vimtypes.VirtualVmxnet3{}
					card.Key = int32(4000 + at)
					vm.Config.Hardware.Device = append(vm.Config.Hardware.Device, card)
					info := vimtypes.GuestNicInfo{DeviceConfigId: card.Key, IpConfig: &vimtypes.NetIpConfigInfo{}}
					for _, text := range texts {
						p := netip.MustParsePrefix(text)
						info.IpConfig.IpAddress = append(info.IpConfig.IpAddress, vimtypes.NetIpConfigInfoIpAddress{IpAddress: p.Addr().String(), PrefixLength: int32(p.Bits())})
					}
					vm.Guest.Net = append(vm.Guest.Net, info)
				}
			})
			w := &driver.Desired{PrimaryAddresses: tc.previous, Desired: provider.Desired{Effective: &vmv1alpha1.VirtualMachineInstanceSpec{
				Network: &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: tc.interfaces}}}}
			n := Observe(vm, w, nil).Network
			if got := n.PrimaryIP4 + n.PrimaryIP6; got != tc.want {
				t.Errorf("primary address %s, want %s", got, tc.want)
			}
		})
	}
}
