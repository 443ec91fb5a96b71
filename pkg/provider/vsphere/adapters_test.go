// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// interfaces returns the MAC addresses that the status reports, by interface name.
func interfaces(req *provider.Request) map[string]string {
	out := map[string]string{}
	if n := req.VM.Status.Network; n != nil {
		for _, i := range n.Interfaces {
			out[i.Name] = i.MACAddress
		}
	}
	return out
}

// adaptersByMAC returns the model and the network of each adapter in vCenter, by MAC address.
func adaptersByMAC(t *testing.T, ready vcenter.Ready, req *provider.Request) map[string]string {
	t.Helper()
	vm := inVCenter(t, ready)[req.VM.Namespace+"/"+req.VM.Name]
	out := map[string]string{}
	for _, nic := range observe.EthernetCards(&vm) {
		card := nic.GetVirtualEthernetCard()
		network := ""
		switch b := card.Backing.(type) {
		case *types.VirtualEthernetCardNetworkBackingInfo:
			network = b.DeviceName
		case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
			network = nameOf(t, ready, b.Port.PortgroupKey)
		case *types.VirtualEthernetCardOpaqueNetworkBackingInfo:
			network = b.OpaqueNetworkType + " " + b.OpaqueNetworkId
		}
		out[card.MacAddress] = fmt.Sprintf("%T on %s", nic, network)
	}
	return out
}

// nameOf returns the name of the port group with a key.
func nameOf(t *testing.T, ready vcenter.Ready, key string) string {
	t.Helper()
	var group mo.DistributedVirtualPortgroup
	ref := types.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: key}
	if err := admin(t, ready).RetrieveOne(t.Context(), ref, []string{"name"}, &group); err != nil {
		t.Fatal(err)
	}
	return group.Name
}

// isSettled reports whether the VM runs, is synchronized and needs no restart.
func isSettled(req *provider.Request) func() bool {
	return func() bool {
		st := &req.VM.Status
		return isRunning(req)() && reason(st, vmv1alpha1.ConditionConfigurationSynced) == "True Succeeded" &&
			st.Network != nil && len(st.Network.Interfaces) == len(req.Effective.Network.Interfaces)
	}
}

// Each step changes the spec of a running VM.
func TestInterfaces_AreChangedByNameWhileTheVMRuns(t *testing.T) {
	t.Parallel()
	type nic = vmv1alpha1.VirtualMachineNetworkInterface
	ready := startVCenter(t)
	addNetwork(t, ready, "blue")
	addNetwork(t, ready, "red")
	p, calls := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", libraryImage())
	change := func(list ...nic) {
		req.Effective = req.Effective.DeepCopy()
		req.Effective.Network.Interfaces = list
	}
	eth0, front := nic{Name: "eth0"}, nic{Name: "front", Network: "blue"}
	change(eth0)
	l.until("the VM runs", isSettled(req), req)
	own := interfaces(req)["eth0"]

	reconfigures := calls.snapshot()["ReconfigVM_Task"]
	change(front, eth0)
	l.until("the new interface is plugged", isSettled(req), req)
	got := interfaces(req)
	if got["eth0"] != own || got["front"] == "" {
		t.Fatalf("addresses %v, want eth0 to keep %s and front to have an address", got, own)
	}
	if diff := cmp.Diff(map[string]string{own: "*types.VirtualVmxnet3 on VM Network", got["front"]: "*types.VirtualVmxnet3 on blue"}, adaptersByMAC(t, ready, req)); diff != "" {
		t.Fatalf("adapters (-want +got):\n%s", diff)
	}
	if n := calls.snapshot()["ReconfigVM_Task"] - reconfigures; n != 1 {
		t.Errorf("%d reconfigurations, want 1", n)
	}
	checkNoOperation(t, p, req)

	front.Network = "red"
	change(eth0, front)
	l.until("the interface has moved", func() bool {
		return isSettled(req)() && adaptersByMAC(t, ready, req)[got["front"]] == "*types.VirtualVmxnet3 on red"
	}, req)
	if diff := cmp.Diff(got, interfaces(req)); diff != "" {
		t.Errorf("addresses after a change of the network (-want +got):\n%s", diff)
	}

	change(front)
	l.until("eth0 is removed", isSettled(req), req)
	if diff := cmp.Diff(map[string]string{"front": got["front"]}, interfaces(req)); diff != "" {
		t.Errorf("addresses after a removal (-want +got):\n%s", diff)
	}
	// The new adapter gets the device key of the removed one.
	change(nic{Name: "other", Network: "blue"}, front)
	l.until("another interface is plugged", isSettled(req), req)
	if now := interfaces(req); now["front"] != got["front"] || adaptersByMAC(t, ready, req)[now["other"]] != "*types.VirtualVmxnet3 on blue" {
		t.Errorf("addresses %v, adapters %v; want front unchanged and other on blue", now, adaptersByMAC(t, ready, req))
	}
	checkNoOperation(t, p, req)
	if got := served(t, ready, "PowerOnVM_Task"); got != 1 {
		t.Errorf("powered on %d times, want once", got)
	}
}

// Without an object record, only the status assigns the adapters to interfaces.
func TestInterfaces_KeepAdaptersWithoutARecord(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	addNetwork(t, ready, "blue")
	p, calls := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", libraryImage())
	l.until("the VM runs", isSettled(req), req)
	own := interfaces(req)["eth0"]
	vm := object.NewVirtualMachine(admin(t, ready).Client, types.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID})
	reconfigure(t, vm, types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: observe.AdaptersKey, Value: ""}}})
	before := calls.snapshot()["ReconfigVM_Task"]
	eventually(t, "the inventory has the change", func() bool {
		return observe.ExtraConfig(recordOf(t, p, req), observe.AdaptersKey) == ""
	})
	checkNoOperation(t, p, req)
	if n := calls.snapshot()["ReconfigVM_Task"]; n != before {
		t.Errorf("%d reconfigurations only for a record, want none", n-before)
	}
	req.Effective = req.Effective.DeepCopy()
	req.Effective.Network.Interfaces = slices.Insert(req.Effective.Network.Interfaces, 0, vmv1alpha1.VirtualMachineNetworkInterface{Name: "front", Network: "blue"})
	l.until("the new interface is plugged", isSettled(req), req)
	if got := interfaces(req); got["eth0"] != own || adaptersByMAC(t, ready, req)[got["front"]] != "*types.VirtualVmxnet3 on blue" {
		t.Errorf("addresses %v, adapters %v; want eth0 to keep %s", got, adaptersByMAC(t, ready, req), own)
	}
}

func TestInterfaces_RequireARestartIfAChangeCannotBeLive(t *testing.T) {
	t.Parallel()
	type nic = vmv1alpha1.VirtualMachineNetworkInterface
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	for name, tc := range map[string]struct {
		before, after nic
		hotplug       bool
		want          []string
	}{
		"address": {nic{Name: "eth0"}, nic{Name: "eth0", MACAddress: "00:50:56:12:34:56"}, true, []string{"network.interfaces[eth0]"}},
		"model":   {nic{Name: "eth0"}, nic{Name: "eth0", Model: "e1000e"}, true, []string{"network.interfaces[eth0]"}},
		"hotplug": {nic{Name: "eth0"}, nic{Name: "eth1"}, false, []string{"network.interfaces[eth0]", "network.interfaces[eth1]"}},
		"sriov":   {nic{Name: "eth0", Model: "sriov"}, nic{Name: "eth1"}, true, []string{"memory.reservation", "memory.reservationLocked", "network.interfaces[eth0]", "network.interfaces[eth1]"}},
	} {
		t.Run(name, func(t *testing.T) {
			req := newRequest("waits-"+name, libraryImage())
			req.Effective = req.Effective.DeepCopy()
			req.Effective.Network.Interfaces = []nic{tc.before}
			if !tc.hotplug {
				req.Effective.Devices = &vmv1alpha1.VirtualMachineDevices{DisableHotplug: ptr(true)}
			}
			l.until("the VM runs", isRunning(req), req)
			checkNoOperation(t, p, req)
			req.Effective = req.Effective.DeepCopy()
			req.Effective.Network.Interfaces = []nic{tc.after}
			st := &req.VM.Status
			l.until("a restart is required", func() bool { return len(st.RestartRequired) > 0 }, req)
			var got []string
			for _, r := range st.RestartRequired {
				got = append(got, r.Path)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("restartRequired (-want +got):\n%s", diff)
			}
			requestRestart(req, vmv1alpha1.PowerOpModeHard)
			l.until("the VM is restarted", func() bool { return len(st.RestartRequired) == 0 && isSettled(req)() }, req)
			checkNoOperation(t, p, req)
		})
	}
}

func TestAdapter_HasTheBackingOfItsNetworkType(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	for network, want := range map[string]string{
		"VM Network":            "VM Network",
		"DC0_DVPG0":             "DC0_DVPG0",
		"segment-0-on-DVS0":     "segment-0-on-DVS0",
		"segment-0":             "segment-0-on-DVS0",
		"opaque-0":              "other opaque-0",
		"/DC0/network/opaque-0": "other opaque-0",
	} {
		t.Run(strings.ReplaceAll(network, "/", "-"), func(t *testing.T) {
			req := newRequest(strings.ToLower(strings.NewReplacer("/", "", " ", "-", "_", "-").Replace("on-"+network)), templateImage())
			req.Effective = req.Effective.DeepCopy()
			req.Effective.Network.Interfaces[0].Network = network
			l.until("the VM runs", isSettled(req), req)
			for mac, got := range adaptersByMAC(t, ready, req) {
				if got != "*types.VirtualVmxnet3 on "+want {
					t.Errorf("adapter %s: %s, want network %s", mac, got, want)
				}
			}
			checkNoOperation(t, p, req)
		})
	}
	t.Run("live", func(t *testing.T) {
		req := newRequest("moves", templateImage())
		l.until("the VM runs", isSettled(req), req)
		for _, network := range []string{"opaque-0", "segment-0", "DC0_DVPG0", "VM Network"} {
			before := adaptersByMAC(t, ready, req)
			req.Effective = req.Effective.DeepCopy()
			req.Effective.Network.Interfaces[0].Network = network
			l.until("the VM is on "+network, func() bool { return isSettled(req)() && !cmp.Equal(before, adaptersByMAC(t, ready, req)) }, req)
			checkNoOperation(t, p, req)
		}
	})
}

func TestNetwork_ReportsWhyItCannotBeUsed(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	uplinks := ""
	all, err := find.NewFinder(admin(t, ready).Client).NetworkList(t.Context(), "/DC0/network/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range all {
		if strings.Contains(n.GetInventoryPath(), "DVUplinks") {
			uplinks = n.GetInventoryPath()
		}
	}
	for network, want := range map[string]string{
		uplinks: `network "` + uplinks + `" is an uplink port group, which virtual machines cannot use`,
		"DVS0":  `network "DVS0" is a distributed switch: specify one of its port groups`,
		"none":  `vSphere has no network "none"`,
	} {
		_, err := p.resolver.Backings(t.Context(), []string{network}, nil)
		if err == nil || err.Error() != want {
			t.Errorf("network %s: %v, want %q", network, err, want)
		}
	}
}
