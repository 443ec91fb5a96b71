// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

type (
	spec    = vmv1alpha1.VirtualMachineInstanceSpec
	devices = vmv1alpha1.VirtualMachineDevices
	device  = vmv1alpha1.VirtualMachineDevice
)

var tpm = &devices{TPM: &vmv1alpha1.VirtualMachineTPM{}}

func TestRefused_NamesEachFieldAndTheReason(t *testing.T) {
	for _, tc := range []struct {
		name string
		spec func(*spec)
		// notYet is true for a VM that does not exist yet.
		notYet bool
		want   []string
	}{
		{"nothing", func(*spec) {}, false, nil},
		{"a disk that is larger than requested", func(s *spec) { s.Volumes = []vmv1alpha1.VirtualMachineVolume{volume("data", "1Gi", "")} }, false, nil},
		{"a disk that was removed in vSphere", func(s *spec) { s.Volumes = []vmv1alpha1.VirtualMachineVolume{volume("gone", "1Gi", "")} }, false,
			[]string{"volumes[gone]: its disk was removed in vSphere: attach it again at scsi0:9, or rename the volume to get an empty disk"}},
		{"a bus without free slot", func(s *spec) { s.Volumes = []vmv1alpha1.VirtualMachineVolume{volume("a", "1Gi", "ide")} }, false,
			[]string{"volumes[a].bus: the virtual machine has no free slot on ide"}},
		{"a TPM with BIOS", func(s *spec) {
			s.Devices, s.Firmware = tpm, &vmv1alpha1.VirtualMachineFirmware{Bootloader: vmv1alpha1.BootloaderBIOS}
		}, true, []string{"devices.tpm: requires EFI, but firmware.bootloader is BIOS"}},
		{"a TPM with the BIOS of the image", func(s *spec) { s.Devices = tpm }, false,
			[]string{"devices.tpm: requires EFI, but firmware.bootloader is BIOS (from the image)"}},
		{"a TPM with an image that is not known yet", func(s *spec) { s.Devices = tpm }, true, nil},
		{"a disabled TPM", func(s *spec) {
			s.Devices = &devices{TPM: &vmv1alpha1.VirtualMachineTPM{Enabled: ptr(false)}}
		}, false, nil},
		{"invalid device names", func(s *spec) {
			s.Devices = &devices{GPUs: []device{{Name: "g", DeviceName: "nvidia.com/TU104"}}, HostDevices: []device{{Name: "h", DeviceName: "grid"}}}
		}, true, []string{
			`devices.gpus[g].deviceName "nvidia.com/TU104" is not a vGPU profile, for example grid_a100-10c, or vendor:device in hexadecimal, for example 10de:2231`,
			`devices.hostDevices[h].deviceName "grid" is not vendor:device in hexadecimal, for example 8086:1572`,
		}},
		{"vNUMA with hot-add", func(s *spec) { s.CPU.ExposeVNUMA, s.CPU.HotAddEnabled = ptr(true), ptr(true) }, true,
			[]string{"cpu.exposeVNUMA: cannot be combined with cpu.hotAddEnabled, because vSphere disables vNUMA when CPU hot-add is enabled"}},
		{"an address that no bootstrap passes to the guest", func(s *spec) {
			s.Network.Interfaces[0].Addresses, s.Network.Interfaces[0].Gateway4 = []string{"192.0.2.5/24"}, "192.0.2.1"
		}, true, []string{
			"network.interfaces[eth0].addresses: requires bootstrap.cloudInit, linuxPrep or sysprep to configure it in the guest",
			"network.interfaces[eth0].gateway4: requires bootstrap.cloudInit, linuxPrep or sysprep to configure it in the guest",
		}},
		{"an address for cloud-init", func(s *spec) {
			s.Network.Interfaces[0].Addresses = []string{"192.0.2.5/24"}
			s.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{}}
		}, true, nil},
		{"a name that Windows truncates", func(s *spec) {
			s.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{Sysprep: &vmv1alpha1.SysprepBootstrap{Answers: &vmv1alpha1.SysprepAnswers{}}}
			s.Network.HostName = "sixteen-letters-"
		}, true, []string{`bootstrap.sysprep: a Windows computer name has at most 15 characters, but "sixteen-letters-" has 16: set network.hostName`}},
		{"a name in the answer file", func(s *spec) {
			s.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{Sysprep: &vmv1alpha1.SysprepBootstrap{RawSysprep: &vmv1alpha1.SecretKeySelector{Name: "s"}}}
			s.Network.HostName = "sixteen-letters-"
		}, true, nil},
		{"a name of digits", func(s *spec) {
			s.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{Sysprep: &vmv1alpha1.SysprepBootstrap{Answers: &vmv1alpha1.SysprepAnswers{}}}
			s.Network.HostName = "2025"
		}, true, []string{`bootstrap.sysprep: a Windows computer name cannot consist of digits only: "2025"; set network.hostName`}},
		{"an address for Windows", func(s *spec) {
			s.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{Sysprep: &vmv1alpha1.SysprepBootstrap{Answers: &vmv1alpha1.SysprepAnswers{}}}
			s.Network.Interfaces[0].Addresses = []string{"192.0.2.5/24"}
		}, true, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, vm := want(), have()
			withDisks(vm)
			if tc.notYet {
				vm = &mo.VirtualMachine{}
			}
			tc.spec(w.Effective)
			if diff := cmp.Diff(tc.want, Refused(w, vm).Invalid); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefused_PreferredTPMIsNotRefused(t *testing.T) {
	w, vm := want(), have()
	w.Effective.Devices, w.TPMPreferred = tpm, true
	if got := Refused(w, vm).Invalid; got != nil {
		t.Errorf("refused = %q, want nothing", got)
	}
	wantList := []string{"devices.tpm (preferred, but it requires EFI, and the firmware is BIOS)"}
	if diff := cmp.Diff(wantList, NotApplied(w, vm)); diff != "" {
		t.Errorf("not applied (-want +got):\n%s", diff)
	}
	efi(&w, vm)
	if got := NotApplied(w, vm); got != nil {
		t.Errorf("not applied with EFI = %q, want nothing", got)
	}
}

func TestRefused_NamesTheRequiredHardwareVersion(t *testing.T) {
	w, vm := want(), have()
	efi(&w, vm)
	vm.Config.Version = "vmx-13"
	w.Effective.Devices = &devices{TPM: tpm.TPM, HostDevices: []device{{Name: "nic", DeviceName: "8086:1572"}}}
	wantList := []string{
		"devices.hostDevices: requires virtual hardware version 17: set minHardwareVersion",
		"devices.tpm: requires virtual hardware version 14: set minHardwareVersion",
	}
	if diff := cmp.Diff(wantList, Refused(w, vm).Invalid); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	w.TPMPreferred = true
	if diff := cmp.Diff(wantList[:1], Refused(w, vm).Invalid); diff != "" {
		t.Errorf("refused with a preferred TPM (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"devices.tpm (preferred, but it requires virtual hardware version 14)"}, NotApplied(w, vm)); diff != "" {
		t.Errorf("not applied (-want +got):\n%s", diff)
	}
	for _, d := range Differences(w, vm) {
		if d.Path == "devices.tpm" {
			t.Errorf("difference %+v for hardware that the VM does not support", d)
		}
	}
	w.Effective.MinHardwareVersion = 17
	if got := Refused(w, vm).Invalid; got != nil {
		t.Errorf("refused = %q with the version that both require, want nothing", got)
	}
}

func TestNotApplied_ListsAllUnsupportedSettings(t *testing.T) {
	w, vm := want(), have()
	withDisks(vm)
	moved := volume("data", "1Gi", "sata")
	w.Effective.BootDisk = bootDiskOf("8Gi")
	moved.Disk.StorageClass = "gold"
	w.Effective.StorageClass = "silver"
	w.Effective.NodeSelector = map[string]string{"b": "2", "a": "1"}
	w.Effective.Memory.HugePageSize = "4Mi"
	w.Effective.CPU.Model, w.Effective.CPU.DedicatedCPUPlacement = "Skylake", ptr(true)
	w.Effective.Devices = &devices{Video: &vmv1alpha1.VirtualMachineVideo{Type: "virtio"}}
	w.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{moved}
	wantList := []string{
		"storageClass silver (its storage policy is not known)",
		"storageClass gold (its storage policy is not known)",
		"nodeSelector a=1,b=2 (vSphere chooses the host)",
		"cpu.model Skylake (EVC determines the CPU model)",
		"cpu.dedicatedCPUPlacement (no CPU is reserved, because the host's clock rate is not known)",
		"memory.hugePageSize 4Mi (vSphere supports 1Gi, and 2Mi, which it always uses)",
		"devices.video.type virtio (vSphere supports only svga)",
		"bootDisk.size 8Gi (the disk has 16Gi, and vSphere cannot shrink disks)",
		"volumes[data].disk.size 1Gi (the disk has 2Gi, and vSphere cannot shrink disks)",
	}
	if diff := cmp.Diff(wantList, NotApplied(w, vm)); diff != "" {
		t.Errorf("not applied (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"volumes[data].bus sata (the disk is on pvscsi, and its bus cannot be changed)"}, Deviations(w, vm)); diff != "" {
		t.Errorf("deviating (-want +got):\n%s", diff)
	}
}
