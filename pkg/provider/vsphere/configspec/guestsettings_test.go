// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

const (
	newInstance = "; to apply it, set another bootstrap.cloudInit.instanceID and restart the virtual machine"
	recreate    = "; to apply it, recreate the virtual machine"
)

// booted returns a running VM that was created from want and whose guest has read its data.
func booted(w *Desired) *mo.VirtualMachine {
	vm := have()
	w.New, w.Bootstrap = true, &provider.BootstrapData{CloudConfig: []byte("#cloud-config\n")}
	applied(vm, Differences(*w, vm))
	w.New, w.Bootstrap = false, nil
	vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOn
	with(vm, observe.CloudInitRead[0], "192.0.2.5")
	return vm
}

// guestReports returns the status that the guest of booted reports.
func guestReports() *vmv1alpha1.VirtualMachineNetworkStatus {
	return &vmv1alpha1.VirtualMachineNetworkStatus{HostName: "ip-a.example.com", Interfaces: []vmv1alpha1.VirtualMachineNetworkInterfaceStatus{
		{Name: "eth0", IPAddresses: []string{"10.0.0.50/24", "fe80::1/64"}},
	}}
}

func TestGuestNetwork_ListsSettingsChangedAfterTheFirstBoot(t *testing.T) {
	type (
		nic       = vmv1alpha1.VirtualMachineNetworkInterface
		bootstrap = vmv1alpha1.VirtualMachineBootstrap
		status    = vmv1alpha1.VirtualMachineNetworkStatus
	)
	secret := func(name string) *vmv1alpha1.SecretKeySelector { return &vmv1alpha1.SecretKeySelector{Name: name} }
	cloudInit := func(w *Desired) {
		w.Effective.Bootstrap = &bootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{RawCloudConfig: secret("s")}}
	}
	linuxPrep := func(w *Desired) {
		w.Effective.Bootstrap = &bootstrap{LinuxPrep: &vmv1alpha1.LinuxPrepBootstrap{TimeZone: "UTC"}}
	}
	none := func(w *Desired) { w.Effective.Bootstrap = nil }
	for name, tc := range map[string]struct {
		created func(*Desired)
		change  func(*Desired)
		reports func(*status)
		want    string
	}{
		"nothing": {cloudInit, func(*Desired) {}, nil, "True Succeeded "},
		"an address": {cloudInit, func(w *Desired) { w.Effective.Network.Interfaces[0].Addresses = []string{"10.0.0.51/24"} }, nil,
			"False NotApplied network.interfaces[eth0].addresses: the guest got 10.0.0.50/24 at its first boot, but the spec has 10.0.0.51/24" + newInstance},
		"an address that was changed in the guest too": {cloudInit, func(w *Desired) { w.Effective.Network.Interfaces[0].Addresses = []string{"10.0.0.51/24"} },
			func(s *status) { s.Interfaces[0].IPAddresses = []string{"10.0.0.51/24"} }, "True Succeeded "},
		"a host name": {cloudInit, func(w *Desired) { w.Effective.Network.HostName = "ip-b" }, nil,
			"False NotApplied network.hostName: the guest got ip-a at its first boot, but the spec has ip-b" + newInstance},
		"a host name that cloud-init has set at another boot": {cloudInit, func(w *Desired) { w.Effective.Network.HostName = "ip-b" },
			func(s *status) { s.HostName = "ip-b.example.com" }, "True Succeeded "},
		"a host name that is removed": {cloudInit, func(w *Desired) { w.Effective.Network.HostName = "" }, nil,
			"False NotApplied network.hostName: the guest got ip-a at its first boot, but the spec has nothing" + newInstance},
		"DNS": {cloudInit, func(w *Desired) {
			w.Effective.Network.Nameservers, w.Effective.Network.DomainName = []string{"192.0.2.2", "192.0.2.3"}, "x.org"
		}, nil,
			"False NotApplied network.domainName: the guest got example.com at its first boot, but the spec has x.org; " +
				"network.nameservers: the guest got 192.0.2.1 at its first boot, but the spec has 192.0.2.2, 192.0.2.3" + newInstance},
		"a key": {cloudInit, func(w *Desired) { w.Effective.Bootstrap.CloudInit.SSHAuthorizedKeys = []string{"ssh-ed25519 AAAA me"} }, nil,
			`False NotApplied bootstrap.cloudInit.sshAuthorizedKeys: the guest got nothing at its first boot, but the spec has ["ssh-ed25519 AAAA me"]` + newInstance},
		"another Secret": {cloudInit, func(w *Desired) { w.Effective.Bootstrap.CloudInit.RawCloudConfig = secret("t") }, nil,
			"False NotApplied bootstrap.cloudInit.rawCloudConfig.name: the guest got s at its first boot, but the spec has t" + newInstance},
		"user data in the spec, whose text is not shown": {func(w *Desired) {
			w.Effective.Bootstrap = &bootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{CloudConfig: "password: one"}}
		}, func(w *Desired) { w.Effective.Bootstrap.CloudInit.CloudConfig = "password: two" }, nil,
			"False NotApplied bootstrap.cloudInit.cloudConfig: changed after the guest's first boot" + newInstance},
		"an interface is removed": {cloudInit, func(w *Desired) { w.Effective.Network.Interfaces = nil }, nil, "True Succeeded "},
		"an additional interface": {cloudInit, func(w *Desired) {
			w.Effective.Network.Interfaces = append(w.Effective.Network.Interfaces, nic{Name: "eth1", Network: "other", Addresses: []string{"10.1.0.5/24"}})
		}, nil, "False NotApplied network.interfaces[eth1].addresses: the guest got nothing at its first boot, but the spec has 10.1.0.5/24" + newInstance},
		"the bootstrap is removed": {cloudInit, func(w *Desired) { none(w); w.Effective.Network = &vmv1alpha1.VirtualMachineNetworkSpec{} }, nil,
			"False NotApplied bootstrap.cloudInit: the guest got set at its first boot, but the spec has nothing; " +
				"bootstrap.cloudInit.rawCloudConfig.name: the guest got s at its first boot, but the spec has nothing; " +
				"network.domainName: the guest got example.com at its first boot, but the spec has nothing; " +
				"network.hostName: the guest got ip-a at its first boot, but the spec has nothing" + recreate},
		"fields that are not for the guest": {cloudInit, func(w *Desired) {
			w.Effective.Bootstrap.WaitForTools, w.Effective.Bootstrap.RemoveAfterFirstBoot = true, true
		}, nil, "True Succeeded "},
		"the time zone of linuxPrep": {linuxPrep, func(w *Desired) { w.Effective.Bootstrap.LinuxPrep.TimeZone = "Europe/Berlin" }, nil,
			"False NotApplied bootstrap.linuxPrep.timeZone: the guest got UTC at its first boot, but the spec has Europe/Berlin" + recreate},
		"the address of linuxPrep": {linuxPrep, func(w *Desired) { w.Effective.Network.Interfaces[0].Addresses = []string{"10.0.0.51/24"} }, nil,
			"False NotApplied network.interfaces[eth0].addresses: the guest got 10.0.0.50/24 at its first boot, but the spec has 10.0.0.51/24" + recreate},
		"the MTU, which linuxPrep does not support": {linuxPrep, func(w *Desired) { w.Effective.Network.Interfaces[0].MTU = ptr(int32(9000)) }, nil,
			"False NotApplied network.interfaces[eth0].mtu 9000: requires bootstrap.cloudInit"},
		"a host name that no bootstrap passes to the guest": {func(w *Desired) { none(w); w.Effective.Network.Interfaces[0].Addresses = nil }, func(*Desired) {}, func(s *status) { s.HostName = "image" },
			"False NotApplied network.domainName example.com: requires bootstrap.cloudInit; network.hostName ip-a: requires bootstrap.cloudInit; " +
				"network.nameservers 192.0.2.1: requires bootstrap.cloudInit"},
		"no settings": {func(w *Desired) { none(w); w.Effective.Network = nil }, func(*Desired) {}, nil, "  "},
		"a network configuration in a Secret": {func(w *Desired) { cloudInit(w); w.Effective.Bootstrap.CloudInit.RawNetworkConfig = secret("net") }, func(*Desired) {},
			func(s *status) { s.Interfaces = nil },
			"False NotApplied network.interfaces[eth0].addresses 10.0.0.50/24: replaced by bootstrap.cloudInit.rawNetworkConfig; network.nameservers 192.0.2.1: replaced by bootstrap.cloudInit.rawNetworkConfig"},
	} {
		t.Run(name, func(t *testing.T) {
			w := want()
			w.Effective.Network.HostName, w.Effective.Network.DomainName, w.Effective.Network.Nameservers = "ip-a", "example.com", []string{"192.0.2.1"}
			w.Effective.Network.Interfaces[0].Addresses = []string{"10.0.0.50/24"}
			tc.created(&w)
			vm, reported := booted(&w), guestReports()
			if tc.reports != nil {
				tc.reports(reported)
			}
			if n := w.Effective.Network; n != nil {
				clone := n.DeepCopy()
				w.Effective.Network = clone
			}
			tc.change(&w)
			c := GuestNetwork(w, vm, reported, true)
			if diff := cmp.Diff(tc.want, string(c.Status)+" "+c.Reason+" "+c.Message); diff != "" {
				t.Errorf("GuestNetworkSynced (-want +got):\n%s", diff)
			}
			for _, d := range Differences(w, vm) {
				if d.Path == "metadata.guest" {
					t.Errorf("the record of the first boot becomes %s", d.Desired)
				}
			}
		})
	}
}

func TestGuestNetwork_IsSyncedWhenCloudInitHasRunAgain(t *testing.T) {
	w := want()
	ci := cloudInitOf(&w)
	w.Effective.Network.Interfaces[0].Addresses = []string{"10.0.0.50/24"}
	vm := booted(&w)
	w.Effective.Network.Interfaces[0].Addresses = []string{"10.0.0.51/24"}
	ci.InstanceID = "two"
	check := func(when, want string) {
		t.Helper()
		if c := GuestNetwork(w, vm, guestReports(), true); string(c.Status)+" "+c.Reason+" "+c.Message != want {
			t.Errorf("%s: %s %s %s, want %s", when, c.Status, c.Reason, c.Message, want)
		}
	}
	check("before the data is read", "False InProgress bootstrap.cloudInit.instanceID: the data for the new instance ID has not been passed to the guest yet")
	w.Bootstrap = &provider.BootstrapData{CloudConfig: []byte("two")}
	applied(vm, Differences(w, vm))
	w.Bootstrap = nil
	check("before the boot", "False RestartRequired bootstrap.cloudInit.instanceID: cloud-init runs with the instance ID two at the next boot: restart the virtual machine")
	vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOff
	check("while it is off", "True Succeeded ")
	vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOn
	with(vm, observe.CloudInitRead[0], "10.0.0.51")
	check("after the boot", "True Succeeded ")
	if got := Differences(w, vm); len(got) > 0 {
		t.Errorf("differences afterwards = %+v, want none", got)
	}
}

func TestGuestNetwork_FollowsTheSpecUntilTheGuestHasReadItsData(t *testing.T) {
	w := want()
	ci := cloudInitOf(&w)
	ci.CloudConfig = "one"
	w.Effective.Network.HostName = "ip-a"
	vm := booted(&w)
	vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOff
	setManually(observe.CloudInitRead[0], "")(vm)
	w.Effective.Network.HostName, ci.CloudConfig = "ip-b", "two"
	w.Effective.Network.Interfaces[0].Addresses = []string{"10.0.0.51/24"}
	applied(vm, Differences(w, vm))
	vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOn
	c := GuestNetwork(w, vm, nil, true)
	if want := "bootstrap.cloudInit.cloudConfig: changed after the guest's first boot" + newInstance; c.Message != want {
		t.Errorf("%s %s %s, want %s", c.Status, c.Reason, c.Message, want)
	}
}

func TestGuestNetwork_SettingsOfOlderVersionsAreRecordedOnce(t *testing.T) {
	w := want()
	cloudInitOf(&w)
	w.Effective.Network.HostName = "ip-a"
	vm := have()
	if c := GuestNetwork(w, vm, nil, false); c.Status != "True" {
		t.Errorf("before it is recorded: %s %s, want True", c.Status, c.Message)
	}
	applied(vm, MissingRecords(w, vm, 1))
	if c := GuestNetwork(w, vm, nil, true); c.Status != "True" {
		t.Errorf("after it is recorded: %s %s, want True", c.Status, c.Message)
	}
	if got := MissingRecords(w, vm, 1); len(got) > 0 {
		t.Errorf("it is recorded again: %+v", got)
	}
	w.Effective.Network.HostName = "ip-b"
	if c := GuestNetwork(w, vm, nil, true); c.Status != "False" {
		t.Errorf("another host name: %s, want False", c.Status)
	}
}
