// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// manualVM returns a VM that an administrator has created, with the size that want requests.
func manualVM() *mo.VirtualMachine {
	vm := have()
	vm.Name = "by-hand"
	vm.Config.Uuid = "42"
	vm.Config.ExtraConfig = []types.BaseOptionValue{&types.OptionValue{Key: "sched.mem.lpage.enable1GPage", Value: "TRUE"}}
	vm.Config.Hardware.NumCoresPerSocket = ptr(int32(2))
	vm.Config.CpuAllocation = &types.ResourceAllocationInfo{Reservation: ptr(int64(500)), Limit: ptr(int64(2000))}
	vm.Config.MemoryAllocation = &types.ResourceAllocationInfo{Shares: &types.SharesInfo{Level: types.SharesLevelHigh}}
	vm.Config.MemoryReservationLockedToMax = ptr(true)
	vm.Config.LatencySensitivity = &types.LatencySensitivity{Level: types.LatencySensitivitySensitivityLevelHigh}
	for n, name := range []string{"prod", "backup"} {
		nic := &types.VirtualE1000{}
		nic.Key, nic.MacAddress, nic.Backing = int32(4001+n), "00:50:56:00:00:0"+string(rune('1'+n)), backing(name)
		vm.Config.Hardware.Device = append(vm.Config.Hardware.Device, nic)
	}
	vgpu := &types.VirtualPCIPassthrough{}
	vgpu.Backing = &types.VirtualPCIPassthroughVmiopBackingInfo{Vgpu: "grid_a100-10c"}
	vm.Config.Hardware.Device = append(vm.Config.Hardware.Device, vgpu, &types.VirtualTPM{})
	return vm
}

// wantAdopted returns the desired configuration of an object whose spec contains only a size. The server has added
// the interface and the BIOS UUID.
func wantAdopted() Desired {
	w := want()
	w.Effective.CPU = &vmv1alpha1.VirtualMachineCPU{Sockets: 2, Cores: 1, Threads: 1}
	w.Effective.Firmware = &vmv1alpha1.VirtualMachineFirmware{UUID: "CD", Bootloader: "EFI", SecureBoot: ptr(true)}
	w.Effective.Devices = &vmv1alpha1.VirtualMachineDevices{TPM: &vmv1alpha1.VirtualMachineTPM{Enabled: ptr(false)}}
	w.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{}}
	return w
}

func TestDifferences_AdoptedVMChangesOnlySpecFields(t *testing.T) {
	owner := Difference{Path: "metadata.uid", Desired: "ns/web/uid", Live: true}
	mark := Difference{Path: "metadata.uid", Desired: "uid", Live: true}
	record := Difference{Path: "metadata.interfaces", Desired: "eth0=4000", Live: true, FirstBoot: true}
	for _, tc := range []struct {
		name   string
		change func(*Desired, *mo.VirtualMachine)
		want   []Difference
	}{
		{"an empty spec", func(*Desired, *mo.VirtualMachine) {}, []Difference{owner, mark, record}},
		{"adopted before", func(_ *Desired, vm *mo.VirtualMachine) {
			vm.Config.ExtraConfig = append(vm.Config.ExtraConfig, &types.OptionValue{Key: observe.OwnerKey, Value: "ns/web/uid"},
				&types.OptionValue{Key: observe.AdoptedKey, Value: "uid"})
		}, nil},
		{"a size and a reservation", func(w *Desired, _ *mo.VirtualMachine) {
			w.Effective.CPU.Sockets, w.Effective.CPU.Reservation = 4, quantity("1G")
		}, []Difference{owner, mark, {Path: "cpu.sockets", Running: "2", Desired: "4"}, {Path: "cpu.reservation", Running: "500M", Desired: "1G"}, record}},
		{"a network", func(w *Desired, _ *mo.VirtualMachine) { w.Effective.Network.Interfaces[0].Network = "other" },
			[]Difference{owner, mark, {Path: "network.interfaces[eth0]", Running: "vmxnet3 on VM Network 00:50:56:01:02:03", Desired: "vmxnet3 on other 00:50:56:01:02:03", Live: true}, record}},
		{"a network that is not known", func(w *Desired, _ *mo.VirtualMachine) { w.Effective.Network.Interfaces[0].Network = "?" }, []Difference{owner, mark, record}},
		{"no network", func(w *Desired, _ *mo.VirtualMachine) { w.Effective.Network.Disabled = true }, []Difference{owner, mark}},
		{"no adapter, and the interface that every VM gets", func(_ *Desired, vm *mo.VirtualMachine) { vm.Config.Hardware.Device = nil }, []Difference{owner, mark}},
		{"no adapter, and a network", func(w *Desired, vm *mo.VirtualMachine) {
			vm.Config.Hardware.Device, w.Effective.Network.Interfaces[0].Network = nil, "other"
		}, []Difference{owner, mark, {Path: "network.interfaces[eth0]", Desired: "vmxnet3 on other", Live: true}}},
		{"a copy of an adopted VM", func(_ *Desired, vm *mo.VirtualMachine) {
			vm.Config.ExtraConfig = []types.BaseOptionValue{&types.OptionValue{Key: observe.OwnerKey, Value: "ns/web/uid"},
				&types.OptionValue{Key: observe.AdoptedKey, Value: "another"}}
			vm.Config.Hardware.Device = vm.Config.Hardware.Device[:1]
			*vm.Config = types.VirtualMachineConfigInfo{
				InstanceUuid: "ab", Firmware: "efi", Uuid: "cd", BootOptions: &types.VirtualMachineBootOptions{EfiSecureBootEnabled: ptr(true)},
				Hardware: types.VirtualHardware{NumCPU: 2, MemoryMB: 2048, Device: vm.Config.Hardware.Device}, ExtraConfig: vm.Config.ExtraConfig,
			}
		}, []Difference{{Path: "metadata.name", Running: "by-hand", Desired: "web", Live: true},
			{Path: "bootstrap.cloudInit", Desired: "changed", FirstBoot: true}, {Path: "bootstrap.cloudInit", Desired: "base64", FirstBoot: true}, record}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, vm := wantAdopted(), manualVM()
			tc.change(&w, vm)
			got := Differences(w, vm)
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(Difference{})); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDifferences_AdoptedAdapterKeepsOtherProperties(t *testing.T) {
	w, vm := wantAdopted(), manualVM()
	first := vm.Config.Hardware.Device[0].(*types.VirtualVmxnet3)
	first.WakeOnLanEnabled = ptr(true)
	w.Effective.Network.Interfaces[0].Network = "other"
	changes := Spec(Differences(w, vm)).DeviceChange
	if len(changes) != 1 {
		t.Fatalf("%d device changes, want 1", len(changes))
	}
	change := changes[0].GetVirtualDeviceConfigSpec()
	got, ok := change.Device.(*types.VirtualVmxnet3)
	if !ok || change.Operation != types.VirtualDeviceConfigSpecOperationEdit || got.Key != 4000 || !isTrue(got.WakeOnLanEnabled) {
		t.Errorf("change = %s %#v, want an edit that keeps all other properties", change.Operation, change.Device)
	}
	if backingName(first.Backing) != "VM Network" {
		t.Error("the record of the VM was changed")
	}
}

func TestNotApplied_ListsFieldsOfAdoptedVM(t *testing.T) {
	got := NotApplied(wantAdopted(), manualVM())
	want := []string{
		"firmware.uuid CD (the virtual machine was adopted, and keeps 42)",
		"firmware.bootloader EFI (the virtual machine was adopted, and its guest was installed for bios)",
		"bootstrap (the virtual machine was adopted, and its guest has already booted)",
		"network.interfaces: 2 adapters that are not in the spec stay (the virtual machine was adopted)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("not applied (-want +got):\n%s", diff)
	}
}

// A volume that sets bus, controller and unit uses the existing disk at that position. The disk is recorded
// together with the VM's owner.
func TestDifferences_AdoptedVolumeUsesExistingDisk(t *testing.T) {
	at := func(name, size string, number, unit int32) vmv1alpha1.VirtualMachineVolume {
		v := volume(name, size, "pvscsi")
		v.ControllerBusNumber, v.UnitNumber = &number, &unit
		return v
	}
	for _, tc := range []struct {
		name    string
		volume  vmv1alpha1.VirtualMachineVolume
		change  func(*mo.VirtualMachine)
		want    []string
		refused string
	}{
		{"the requested size", at("data", "2Gi", 0, 1), nil, []string{"slipway.volume.data=scsi0:1", "slipway.disk.scsi0:1=disk-uuid"}, ""},
		{"larger", at("data", "3Gi", 0, 1), nil, []string{"slipway.volume.data=scsi0:1", "slipway.disk.scsi0:1=disk-uuid", "edit 3Gi"}, ""},
		{"larger than requested", at("data", "1Gi", 0, 1), nil, []string{"slipway.volume.data=scsi0:1", "slipway.disk.scsi0:1=disk-uuid"}, ""},
		{"at an empty position", at("data", "2Gi", 0, 5), nil, []string{"add 2Gi", "slipway.volume.data=scsi0:5", "slipway.disk.scsi0:5=created"}, ""},
		{"without a unit", volume("data", "2Gi", "pvscsi"), nil, []string{"add 2Gi", "slipway.volume.data=scsi0:2", "slipway.disk.scsi0:2=created"}, ""},
		{"a first class disk", at("data", "2Gi", 0, 1), func(vm *mo.VirtualMachine) {
			disksOf(vm)[1].VDiskId = &types.ID{Id: "fcd"}
		}, nil, "volumes[data].unitNumber: scsi0:1 is in use by another device"},
		{"the disk of another volume", at("data", "2Gi", 0, 1), func(vm *mo.VirtualMachine) {
			with(vm, observe.VolumeKey("other"), "scsi0:1")
		}, nil, "volumes[data].unitNumber: scsi0:1 is in use by another device"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, vm := wantAdopted(), manualVM()
			withTwoDisks(vm)
			with(vm, observe.OwnerKey, "ns/web/uid", observe.AdoptedKey, "uid", observe.AdaptersKey, "eth0=4000")
			if tc.change != nil {
				tc.change(vm)
			}
			w.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{tc.volume}
			w.Effective.BootDisk = &vmv1alpha1.VirtualMachineBootDisk{Capacity: quantity("16Gi")}
			refused := strings.Join(Refused(w, vm).Invalid, "; ")
			if !strings.Contains(refused, tc.refused) || tc.refused == "" && tc.want[0] == "slipway.volume.data=scsi0:1" && refused != "" {
				t.Errorf("refused = %q, want %q", refused, tc.refused)
			}
			if tc.refused != "" {
				return
			}
			spec := Spec(Differences(w, vm))
			var got []string
			for _, c := range spec.DeviceChange {
				change := c.GetVirtualDeviceConfigSpec()
				got = append(got, string(change.Operation)+" "+hardware.Bytes(change.Device.(*types.VirtualDisk).CapacityInBytes))
			}
			for _, o := range spec.ExtraConfig {
				got = append(got, o.GetOptionValue().Key+"="+o.GetOptionValue().Value.(string))
			}
			slices.Sort(got)
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

func disksOf(vm *mo.VirtualMachine) (out []*types.VirtualDisk) {
	for _, d := range vm.Config.Hardware.Device {
		if disk, ok := d.(*types.VirtualDisk); ok {
			out = append(out, disk)
		}
	}
	return out
}

// withTwoDisks gives a VM a boot disk and another disk.
func withTwoDisks(vm *mo.VirtualMachine) {
	scsi := &types.ParaVirtualSCSIController{}
	scsi.Key = 1000
	vm.Config.Hardware.Device = append(vm.Config.Hardware.Device, scsi, diskAt(2000, 1000, 0, 16<<30), diskAt(2001, 1000, 1, 2<<30))
}
