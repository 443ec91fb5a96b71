// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
)

func vgpu(key int32, profile string) *types.VirtualPCIPassthrough {
	p := &types.VirtualPCIPassthrough{}
	p.Key, p.Backing = key, &types.VirtualPCIPassthroughVmiopBackingInfo{Vgpu: profile}
	return p
}

func dynamic(key, vendor, id int32) *types.VirtualPCIPassthrough {
	p := &types.VirtualPCIPassthrough{}
	p.Key = key
	p.Backing = &types.VirtualPCIPassthroughDynamicBackingInfo{
		AllowedDevice: []types.VirtualPCIPassthroughAllowedDevice{{VendorId: vendor, DeviceId: id}},
	}
	return p
}

func TestDevices_AreComparedOneByOne(t *testing.T) {
	existing := &types.VirtualTPM{}
	existing.Key = 11000
	for _, tc := range []struct {
		name    string
		have    []types.BaseVirtualDevice
		devices *devices
		change  func(*Desired, *mo.VirtualMachine)
		want    []Difference
		changes []string
	}{
		{name: "a TPM on EFI", devices: tpm, change: efi,
			want:    []Difference{{Path: "devices.tpm", Desired: "present"}},
			changes: []string{"add *types.VirtualTPM -400"}},
		{name: "an existing TPM", devices: tpm, have: []types.BaseVirtualDevice{existing}, change: efi},
		{name: "a TPM that is not in the spec stays", have: []types.BaseVirtualDevice{existing}},
		{name: "a disabled TPM", devices: &devices{TPM: &vmv1alpha1.VirtualMachineTPM{Enabled: ptr(false)}}, have: []types.BaseVirtualDevice{existing},
			want:    []Difference{{Path: "devices.tpm", Running: "present"}},
			changes: []string{"remove *types.VirtualTPM 11000"}},
		{name: "passed-through devices", devices: &devices{
			GPUs:        []device{{Name: "a", DeviceName: "grid"}, {Name: "b", DeviceName: "grid"}, {Name: "c", DeviceName: "10de:2231"}},
			HostDevices: []device{{Name: "d", DeviceName: "0x8086:0x1572"}}},
			have: []types.BaseVirtualDevice{vgpu(13000, "grid"), dynamic(13001, 0x8086, 0x1572)}, change: locked,
			want:    []Difference{{Path: "devices.gpus", Running: "grid", Desired: "10de:2231, grid, grid"}},
			changes: []string{"add *types.VirtualPCIPassthrough -501", "add *types.VirtualPCIPassthrough -502"}},
		{name: "an invalid device, for which no memory is reserved", devices: &devices{HostDevices: []device{{Name: "d", DeviceName: "network card"}}}},
		{name: "a device that is not allowed, for which no memory is reserved", devices: &devices{HostDevices: []device{{Name: "d", DeviceName: "8086:1572"}}},
			change: func(w *Desired, _ *mo.VirtualMachine) { w.NotAllowedLists = []string{hardware.HostDevices} }},
		{name: "a new device, in a list with a device that is not allowed",
			devices: &devices{GPUs: []device{{Name: "a", DeviceName: "grid"}}, HostDevices: []device{{Name: "d", DeviceName: "8086:1572"}}},
			change:  func(w *Desired, _ *mo.VirtualMachine) { w.NotAllowedLists = []string{hardware.HostDevices} },
			want: []Difference{{Path: "memory.reservation", Running: "0", Desired: "2Gi", Live: true},
				{Path: "memory.reservationLocked", Running: "false", Desired: "true", Live: true}, {Path: "devices.gpus", Desired: "grid"}},
			changes: []string{"add *types.VirtualPCIPassthrough -500"}},
		{name: "an attached device, in a list with a device that is not allowed",
			devices: &devices{HostDevices: []device{{Name: "d", DeviceName: "8086:1572"}, {Name: "e", DeviceName: "8086:1573"}}},
			have:    []types.BaseVirtualDevice{dynamic(13001, 0x8086, 0x1572)},
			change: func(w *Desired, vm *mo.VirtualMachine) {
				locked(w, vm)
				w.NotAllowedLists = []string{hardware.HostDevices}
			}},
		{name: "a device that was removed from the spec", have: []types.BaseVirtualDevice{vgpu(13000, "grid"), dynamic(13001, 0x8086, 0x1572)},
			want:    []Difference{{Path: "devices.gpus", Running: "grid"}, {Path: "devices.hostDevices", Running: "8086:1572"}},
			changes: []string{"remove *types.VirtualPCIPassthrough 13000", "remove *types.VirtualPCIPassthrough 13001"}},
		{name: "no video card", devices: &devices{AutoattachGraphicsDevice: ptr(false)},
			want:    []Difference{{Path: "devices.autoattachGraphicsDevice", Running: "true", Desired: "false"}},
			changes: []string{"svga.present=FALSE"}},
		{name: "defaults", devices: &devices{AutoattachGraphicsDevice: ptr(true), DisableHotplug: ptr(false)}},
		{name: "a serial port", devices: &devices{AutoattachSerialConsole: ptr(true)},
			want:    []Difference{{Path: "devices.autoattachSerialConsole", Running: "false", Desired: "true"}},
			changes: []string{"add *types.VirtualSerialPort -401"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, vm := want(), have()
			vm.Config.Files.VmPathName = "[ds] web/web.vmx"
			vm.Config.Hardware.Device = append(vm.Config.Hardware.Device, tc.have...)
			w.Effective.Devices = tc.devices
			if tc.change != nil {
				tc.change(&w, vm)
			}
			got := Differences(w, vm)
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(Difference{})); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.changes, changes(Spec(got))); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

func efi(_ *Desired, vm *mo.VirtualMachine) { vm.Config.Firmware = "efi" }

// locked reserves all memory.
func locked(_ *Desired, vm *mo.VirtualMachine) {
	vm.Config.MemoryReservationLockedToMax = ptr(true)
	vm.Config.MemoryAllocation = &types.ResourceAllocationInfo{Reservation: ptr(int64(2048))}
}

func TestDevices_SerialConsoleWritesToTheVMFolder(t *testing.T) {
	w, vm := want(), have()
	vm.Config.Files.VmPathName = "[ds] web/web.vmx"
	w.Effective.Devices = &devices{AutoattachSerialConsole: ptr(true)}
	spec := Spec(Differences(w, vm))
	port, ok := spec.DeviceChange[0].GetVirtualDeviceConfigSpec().Device.(*types.VirtualSerialPort)
	if !ok || port.Backing.(*types.VirtualSerialPortFileBackingInfo).FileName != "[ds] web/console.log" {
		t.Errorf("device = %+v, want a serial port that writes to [ds] web/console.log", spec.DeviceChange[0])
	}
}
