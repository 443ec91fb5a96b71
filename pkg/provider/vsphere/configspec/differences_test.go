// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"
	k8stypes "k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

func ptr[T any](v T) *T { return &v }

func quantity(s string) *resource.Quantity { return ptr(resource.MustParse(s)) }

// want returns a size of 2 sockets with 1 core and 2Gi on one vmxnet3.
func want() Desired {
	return Desired{Desired: driver.Desired{Desired: provider.Desired{Effective: &vmv1alpha1.VirtualMachineInstanceSpec{
		CPU:     &vmv1alpha1.VirtualMachineCPU{Sockets: 2},
		Memory:  &vmv1alpha1.VirtualMachineMemory{Guest: quantity("2Gi")},
		Network: &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0"}}},
	}}, Identity: driver.Identity{Key: k8stypes.NamespacedName{Namespace: "ns", Name: "web"}, UID: "uid", InstanceUUID: "AB"}, Name: "web"}, Backings: map[string]types.BaseVirtualDeviceBackingInfo{"": backing("VM Network"), "other": backing("other")}}
}

func backing(name string) *types.VirtualEthernetCardNetworkBackingInfo {
	b := &types.VirtualEthernetCardNetworkBackingInfo{}
	b.DeviceName = name
	return b
}

// have returns a VM with exactly the configuration of want.
func have() *mo.VirtualMachine {
	nic := &types.VirtualVmxnet3{}
	nic.Key, nic.MacAddress, nic.Backing = 4000, "00:50:56:01:02:03", backing("VM Network")
	vm := &mo.VirtualMachine{}
	vm.Name = "web"
	vm.Config = &types.VirtualMachineConfigInfo{
		InstanceUuid: "ab", Version: "vmx-19", Firmware: "bios",
		Hardware:    types.VirtualHardware{NumCPU: 2, MemoryMB: 2048, Device: []types.BaseVirtualDevice{nic}},
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: observe.OwnerKey, Value: "ns/web/uid"}, &types.OptionValue{Key: observe.AdaptersKey, Value: "eth0=4000"}},
	}
	return vm
}

func TestDifferences_AreEmptyForEqualConfigurations(t *testing.T) {
	if got := Differences(want(), have()); len(got) != 0 {
		t.Errorf("differences = %+v, want none", got)
	}
}

func TestDifferences_ReportWhenTheyCanBeApplied(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Desired, *mo.VirtualMachine)
		want   []Difference
	}{
		{"more sockets without hot add", func(w *Desired, _ *mo.VirtualMachine) { w.Effective.CPU.Sockets = 4 },
			[]Difference{{Path: "cpu.sockets", Running: "2", Desired: "4"}}},
		{"more sockets with hot add", func(w *Desired, vm *mo.VirtualMachine) {
			w.Effective.CPU.Sockets, w.Effective.CPU.MaxSockets = 4, ptr(int32(8))
			vm.Config.CpuHotAddEnabled = ptr(true)
		}, []Difference{{Path: "cpu.sockets", Running: "2", Desired: "4", Live: true}}},
		{"fewer sockets with hot add", func(w *Desired, vm *mo.VirtualMachine) {
			w.Effective.CPU.Sockets, w.Effective.CPU.HotAddEnabled = 1, ptr(true)
			vm.Config.CpuHotAddEnabled = ptr(true)
		}, []Difference{{Path: "cpu.sockets", Running: "2", Desired: "1"}}},
		{"more cores", func(w *Desired, _ *mo.VirtualMachine) { w.Effective.CPU.Cores = 2 },
			[]Difference{{Path: "cpu.cores", Running: "1", Desired: "2"}, {Path: "cpu.cores", Running: "2 vCPUs", Desired: "4 vCPUs"}}},
		{"hot-add requested by a maximum", func(w *Desired, _ *mo.VirtualMachine) { w.Effective.Memory.MaxGuest = quantity("8Gi") },
			[]Difference{{Path: "memory.hotAddEnabled", Running: "false", Desired: "true"}}},
		{"more memory with hot add", func(w *Desired, vm *mo.VirtualMachine) {
			w.Effective.Memory.Guest, w.Effective.Memory.HotAddEnabled = quantity("3Gi"), ptr(true)
			vm.Config.MemoryHotAddEnabled = ptr(true)
		}, []Difference{{Path: "memory.guest", Running: "2Gi", Desired: "3Gi", Live: true}}},
		{"reservation and custom shares", func(w *Desired, _ *mo.VirtualMachine) {
			w.Effective.CPU.Reservation = quantity("2G")
			w.Effective.CPU.Shares = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesCustom, Shares: ptr(int32(77))}
		}, []Difference{{Path: "cpu.reservation", Running: "0", Desired: "2G", Live: true},
			{Path: "cpu.shares", Running: "Normal", Desired: "77", Live: true}}},
		{"a removed reservation returns to the default", func(_ *Desired, vm *mo.VirtualMachine) {
			vm.Config.MemoryAllocation = &types.ResourceAllocationInfo{Reservation: ptr(int64(512))}
		}, []Difference{{Path: "memory.reservation", Running: "512Mi", Desired: "0", Live: true}}},
		{"firmware", func(w *Desired, _ *mo.VirtualMachine) {
			w.Effective.Firmware = &vmv1alpha1.VirtualMachineFirmware{Bootloader: "EFI", SecureBoot: ptr(true), UUID: "CD"}
		}, []Difference{{Path: "firmware.bootloader", Running: "BIOS", Desired: "EFI"}, {Path: "firmware.secureBoot", Running: "false", Desired: "true"},
			{Path: "firmware.uuid", Desired: "cd"}}},
		{"renamed", func(_ *Desired, vm *mo.VirtualMachine) { vm.Name = "slipway-uid" },
			[]Difference{{Path: "metadata.name", Running: "slipway-uid", Desired: "web", Live: true}}},
		{"created without its owner", func(w *Desired, vm *mo.VirtualMachine) { w.New, vm.Config.ExtraConfig = true, nil },
			[]Difference{{Path: "metadata.uid", Desired: "ns/web/uid", Live: true}, {Path: "metadata.interfaces", Desired: "eth0=4000", Live: true, FirstBoot: true}}},
		{"hardware version", func(w *Desired, _ *mo.VirtualMachine) { w.Effective.MinHardwareVersion = 21 },
			[]Difference{{Path: "minHardwareVersion", Running: "19", Desired: "21"}}},
		{"another network", func(w *Desired, _ *mo.VirtualMachine) { w.Effective.Network.Interfaces[0].Network = "other" },
			[]Difference{{Path: "network.interfaces[eth0]", Running: "vmxnet3 on VM Network 00:50:56:01:02:03", Desired: "vmxnet3 on other 00:50:56:01:02:03", Live: true}}},
		{"a network that is not known", func(w *Desired, _ *mo.VirtualMachine) { w.Effective.Network.Interfaces[0].Network = "?" }, nil},
		{"no network", func(w *Desired, _ *mo.VirtualMachine) { w.Effective.Network.Disabled = true },
			[]Difference{{Path: "network.interfaces[eth0]", Running: "vmxnet3 on VM Network 00:50:56:01:02:03", Live: true}}},
		{"no effective spec", func(w *Desired, _ *mo.VirtualMachine) { w.Effective = nil }, nil},
		{"last restart", func(w *Desired, _ *mo.VirtualMachine) { w.Restarted = time.Unix(5, 6) },
			[]Difference{{Path: "nextRestartTime", Desired: "1970-01-01T00:00:05.000000006Z", Live: true, FirstBoot: true}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, vm := want(), have()
			tc.change(&w, vm)
			got := Differences(w, vm)
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(Difference{})); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpec_SetsTheDesiredValuesOfACreate(t *testing.T) {
	w := want()
	w.Bootstrap = &provider.BootstrapData{CloudConfig: []byte("#cloud-config")}
	w.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{}}
	w.Effective.Network.Interfaces[0].Model = "e1000e"
	w.Effective.Network.Interfaces[0].MACAddress = "00:50:56:AA:BB:CC"
	diffs := Differences(w, &mo.VirtualMachine{})
	spec := Spec(diffs)
	if spec.NumCPUs != 2 || spec.MemoryMB != 2048 || spec.InstanceUuid != "ab" {
		t.Errorf("got %d CPUs, %d MB, instance UUID %q; want 2, 2048, ab", spec.NumCPUs, spec.MemoryMB, spec.InstanceUuid)
	}
	extra := map[string]any{}
	for _, o := range spec.ExtraConfig {
		extra[o.GetOptionValue().Key] = o.GetOptionValue().Value
	}
	wantExtra := map[string]any{
		observe.OwnerKey:              "ns/web/uid",
		observe.AdaptersKey:           "eth0=new",
		observe.GuestSettingsKey:      `{"bootstrap.cloudInit":"set"}`,
		"disk.enableUUID":             "TRUE",
		"guestinfo.metadata":          "eyJpbnN0YW5jZS1pZCI6InVpZCIsImxvY2FsLWhvc3RuYW1lIjoid2ViIn0=",
		"guestinfo.metadata.encoding": "base64",
		"guestinfo.userdata":          "I2Nsb3VkLWNvbmZpZw==",
		"guestinfo.userdata.encoding": "base64",
	}
	if diff := cmp.Diff(wantExtra, extra); diff != "" {
		t.Errorf("extraConfig (-want +got):\n%s", diff)
	}
	if len(spec.DeviceChange) != 1 {
		t.Fatalf("got %d device changes, want 1", len(spec.DeviceChange))
	}
	nic, ok := spec.DeviceChange[0].GetVirtualDeviceConfigSpec().Device.(*types.VirtualE1000e)
	if !ok || nic.MacAddress != "00:50:56:aa:bb:cc" || nic.AddressType != "manual" {
		t.Errorf("adapter = %#v, want an e1000e with the manual address", spec.DeviceChange[0].GetVirtualDeviceConfigSpec().Device)
	}
	if spec.ManagedBy == nil || spec.ManagedBy.ExtensionKey != "dev.slipway" || !strings.Contains(spec.Annotation, "ns/web") {
		t.Errorf("managed by %+v, annotation %q; want both to name Slipway", spec.ManagedBy, spec.Annotation)
	}
	for _, d := range diffs {
		if d.Path == "bootstrap.cloudInit" && d.Desired != "" && d.Desired != "changed" && d.Desired != "base64" {
			t.Errorf("a difference contains a secret: %+v", d)
		}
	}
}
