// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8stypes "k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// sample returns a running VM with two adapters.
func sample() *mo.VirtualMachine {
	vm := &mo.VirtualMachine{}
	vm.Self = types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-42"}
	vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOn
	vm.Runtime.ConnectionState = types.VirtualMachineConnectionStateConnected
	vm.Runtime.Host = &types.ManagedObjectReference{Type: "HostSystem", Value: "host-1"}
	nic := func(key int32, mac string) *types.VirtualVmxnet3 {
		n := &types.VirtualVmxnet3{}
		n.Key, n.MacAddress = key, mac
		return n
	}
	vm.Config = &types.VirtualMachineConfigInfo{
		ChangeVersion: "1", CreateDate: new(time.Date(2026, 4, 30, 9, 8, 7, 123456789, time.FixedZone("", 3600))),
		Uuid: "AA-1", InstanceUuid: "BB-2", Version: "vmx-21",
		Hardware: types.VirtualHardware{
			NumCPU: 4, MemoryMB: 2048,
			Device: []types.BaseVirtualDevice{nic(4001, "00:50:56:00:00:02"), nic(4000, "00:50:56:00:00:01")},
		},
		ExtraConfig: []types.BaseOptionValue{
			&types.OptionValue{Key: observe.OwnerKey, Value: "ns/web/uid-1"},
			&types.OptionValue{Key: vmv1alpha1.ExtraConfigPausedKey, Value: "true"},
			&types.OptionValue{Key: observe.LastRestartKey, Value: "2026-05-01T10:00:00.000000005Z"},
		},
	}
	vm.GuestHeartbeatStatus = types.ManagedEntityStatusGreen
	vm.Guest = &types.GuestInfo{
		HostName: "web", IpAddress: "fe80::1", ToolsRunningStatus: "guestToolsRunning",
		Net: []types.GuestNicInfo{
			{DeviceConfigId: 4001, Connected: true, IpConfig: &types.NetIpConfigInfo{IpAddress: []types.NetIpConfigInfoIpAddress{
				{IpAddress: "192.0.2.9", PrefixLength: 24}, {IpAddress: "2001:db8::9", PrefixLength: 64},
			}}},
			{DeviceConfigId: 4000, Connected: true, IpAddress: []string{"169.254.3.4", "127.0.0.1", "192.0.2.8"}},
			{DeviceConfigId: -1, MacAddress: "docker", IpAddress: []string{"172.17.0.1"}},
		},
	}
	vm.Summary.Storage = &types.VirtualMachineStorageSummary{Committed: 100, Uncommitted: 50}
	return vm
}

func TestObservation_ReportsARunningVM(t *testing.T) {
	got := observe.Of(sample(), func(ref types.ManagedObjectReference) string { return "esx-" + ref.Value })
	want := provider.Observation{
		UniqueID: "vm-42", BiosUUID: "aa-1", InstanceUUID: "bb-2", HardwareVersion: 21,
		CreationTime: &metav1.Time{Time: time.Date(2026, 4, 30, 8, 8, 7, 0, time.UTC)},
		PowerState:   vmv1alpha1.PoweredOn, Readable: true, NodeName: "esx-host-1",
		Guest: &vmv1alpha1.VirtualMachineGuestStatus{HostName: "web", ToolsRunning: true, Heartbeat: vmv1alpha1.GuestHeartbeatGreen},
		Network: &vmv1alpha1.VirtualMachineNetworkStatus{
			PrimaryIP4: "192.0.2.8", PrimaryIP6: "2001:db8::9", HostName: "web",
			Interfaces: []vmv1alpha1.VirtualMachineNetworkInterfaceStatus{
				{DeviceKey: 4000, MACAddress: "00:50:56:00:00:01", Connected: true, IPAddresses: []string{"169.254.3.4", "127.0.0.1", "192.0.2.8"}},
				{DeviceKey: 4001, MACAddress: "00:50:56:00:00:02", Connected: true, IPAddresses: []string{"192.0.2.9/24", "2001:db8::9/64"}},
			},
		},
		Storage: &vmv1alpha1.VirtualMachineStorageStatus{
			Committed: resource.NewQuantity(100, resource.BinarySI), Provisioned: resource.NewQuantity(150, resource.BinarySI)},
		Resources:   &vmv1alpha1.VirtualMachineResources{VCPUs: 4, Memory: resource.NewQuantity(2<<30, resource.BinarySI)},
		Paused:      true,
		LastRestart: &metav1.Time{Time: time.Date(2026, 5, 1, 10, 0, 0, 5, time.UTC)},
		Conditions:  []metav1.Condition{{Type: vmv1alpha1.ConditionGuestToolsReady, Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded}},
		Withdrawn:   []string{vmv1alpha1.ConditionGuestCustomized, vmv1alpha1.ConditionQuestionsAnswered, vmv1alpha1.ConditionDisksConsolidated},
		Trouble:     "the vSphere VM vm-42 has no resource pool: it is a template, or its pool cannot be read",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("observation (-want +got):\n%s", diff)
	}
	owner, ok := observe.OwnerOf(sample())
	if want := (observe.Owner{Key: k8stypes.NamespacedName{Namespace: "ns", Name: "web"}, UID: "uid-1"}); !ok || owner != want {
		t.Errorf("owner %v, want %v", owner, want)
	}
}

func TestObservation_OmitsAnUnknownCreationTime(t *testing.T) {
	for name, reported := range map[string]*time.Time{"none": nil, "1970-01-01": new(time.Unix(0, 0))} {
		vm := sample()
		vm.Config.CreateDate = reported
		if got := observe.Of(vm, nil).CreationTime; got != nil {
			t.Errorf("%s: creation time %s", name, got)
		}
	}
}

// A guest can report any text: escape sequences, bidirectional control characters, and any length.
func TestObservation_LimitsAndCleansTextOfTheGuest(t *testing.T) {
	vm := sample()
	unsafe := "a\x1b[31m\u202eb\r\n" + strings.Repeat("é", 40000)
	vm.Guest.HostName, vm.Guest.GuestFullName, vm.Guest.GuestId, vm.Guest.ToolsVersion = unsafe, unsafe, unsafe, unsafe
	vm.Guest.CustomizationInfo = &types.GuestInfoCustomizationInfo{CustomizationStatus: string(types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_FAILED), ErrorMsg: unsafe}
	got := observe.Of(vm, nil)
	name, text := "a[31mb"+strings.Repeat("é", 123), "a[31mb"+strings.Repeat("é", 509)
	want := []string{name, name, text, text, text, "the guest customization failed: " + text}
	customized := meta.FindStatusCondition(got.Conditions, vmv1alpha1.ConditionGuestCustomized)
	if diff := cmp.Diff(want, []string{got.Network.HostName, got.Guest.HostName, got.Guest.GuestFullName, got.Guest.GuestID, got.Guest.ToolsVersion, customized.Message}); diff != "" {
		t.Errorf("text of the guest (-want +got):\n%.2000s", diff)
	}
}

func TestObservation_OmitsTheGuestOfAPoweredOffVM(t *testing.T) {
	vm := sample()
	vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOff
	got := observe.Of(vm, nil)
	if got.Guest != nil {
		t.Errorf("guest = %+v, want none", got.Guest)
	}
	want := &vmv1alpha1.VirtualMachineNetworkStatus{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterfaceStatus{
		{DeviceKey: 4000, MACAddress: "00:50:56:00:00:01"}, {DeviceKey: 4001, MACAddress: "00:50:56:00:00:02"},
	}}
	if diff := cmp.Diff(want, got.Network); diff != "" {
		t.Errorf("network (-want +got):\n%s", diff)
	}
}

func TestObservation_ReportsADisconnectedVMAsUnreadable(t *testing.T) {
	vm := &mo.VirtualMachine{}
	vm.Runtime.ConnectionState = types.VirtualMachineConnectionStateInaccessible
	got := observe.Of(vm, nil)
	if got.Readable || !strings.Contains(got.Trouble, "not connected") || got.PowerState != "" {
		t.Errorf("got %+v, want unreadable, not connected, without power state", got)
	}
}

func TestOwnerOf_RejectsInvalidValues(t *testing.T) {
	for _, v := range []string{"", "x", "a/b", "/b/c", "a/b/c/d"} {
		vm := &mo.VirtualMachine{Config: nil}
		vm.Config = &types.VirtualMachineConfigInfo{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: observe.OwnerKey, Value: v}}}
		if o, ok := observe.OwnerOf(vm); ok {
			t.Errorf("OwnerOf(%q) = %v, want none", v, o)
		}
	}
}
