// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/test/vcenter"
)

func disk(name, size, bus string) vmv1alpha1.VirtualMachineVolume {
	return vmv1alpha1.VirtualMachineVolume{Name: name, Bus: bus,
		Disk: &vmv1alpha1.DiskVolumeSource{Capacity: ptr(resource.MustParse(size))}}
}

// devicesOf counts the devices of a VM by type. Disks are counted by size.
func devicesOf(t *testing.T, ready vcenter.Ready, name string) map[string]int {
	t.Helper()
	vm, ok := inVCenter(t, ready)["team-a/"+name]
	if !ok {
		t.Fatalf("vCenter has no VM %s", name)
	}
	out := map[string]int{}
	for _, d := range vm.Config.Hardware.Device {
		switch d := d.(type) {
		case *vimtypes.VirtualDisk:
			out["disk "+resource.NewQuantity(d.CapacityInKB<<10, resource.BinarySI).String()]++
		case *vimtypes.VirtualTPM:
			out["tpm"]++
		case *vimtypes.VirtualAHCIController:
			out["sata"]++
		case *vimtypes.VirtualNVMEController:
			out["nvme"]++
		case *vimtypes.VirtualLsiLogicSASController:
			out["lsilogicsas"]++
		case *vimtypes.VirtualSerialPort:
			out["serial"]++
		case *vimtypes.VirtualPCIPassthrough:
			out["passthrough"]++
		case *vimtypes.VirtualE1000e:
			out["e1000e"]++
		}
	}
	return out
}

func message(st *vmv1alpha1.VirtualMachineStatus, conditionType string) string {
	if c := meta.FindStatusCondition(st.Conditions, conditionType); c != nil {
		return c.Message
	}
	return ""
}

// checkNoOperation checks that a further reconcile changes nothing in vCenter.
func checkNoOperation(t *testing.T, p *Provider, req *provider.Request) {
	t.Helper()
	for range 5 {
		req.Now = time.Now()
		if ch, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req); ch != nil || err != nil {
			t.Fatalf("the reconcile of a synchronized VM started an operation or failed: %v", err)
		}
	}
}

func TestEmptyDisks_AreCreatedExtendedAndNeverShrunk(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	for name, image := range map[string]*vmv1alpha1.VirtualMachineImage{"library": libraryImage(), "clone": templateImage()} {
		t.Run(name, func(t *testing.T) {
			p, _ := startProvider(t, ready, nil)
			l := newLoop(t, p)
			req := newRequest("disks-"+name, image)
			req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{
				disk("data", "2Gi", ""), disk("more", "3Gi", "virtio"), disk("cold", "4Gi", "sata"),
				disk("fast", "5Gi", "nvme"), disk("old", "6Gi", "lsilogicsas"),
			}
			l.until("the VM runs", isRunning(req), req)
			checkNoOperation(t, p, req)
			before := devicesOf(t, ready, "disks-"+name)
			for _, d := range []string{"disk 2Gi", "disk 3Gi", "disk 4Gi", "disk 5Gi", "disk 6Gi", "sata", "nvme", "lsilogicsas"} {
				if before[d] != 1 {
					t.Errorf("the VM has %d of %q, want 1; all: %v", before[d], d, before)
				}
			}
			want := []vmv1alpha1.VirtualMachineVolumeStatus{
				{Name: "data", Attached: true, Capacity: ptr(resource.MustParse("2Gi"))},
				{Name: "more", Attached: true, Capacity: ptr(resource.MustParse("3Gi"))},
				{Name: "cold", Attached: true, Capacity: ptr(resource.MustParse("4Gi"))},
				{Name: "fast", Attached: true, Capacity: ptr(resource.MustParse("5Gi"))},
				{Name: "old", Attached: true, Capacity: ptr(resource.MustParse("6Gi"))},
			}
			if diff := cmp.Diff(want, req.VM.Status.Volumes, cmpopts.IgnoreFields(vmv1alpha1.VirtualMachineVolumeStatus{}, "DiskUUID", "DeviceKey")); diff != "" {
				t.Errorf("status.volumes (-want +got):\n%s", diff)
			}
			changeDisks(t, l, ready, req)
		})
	}
}

// changeDisks grows, adds and shrinks disks of a running VM.
func changeDisks(t *testing.T, l *loop, ready vcenter.Ready, req *provider.Request) {
	t.Helper()
	st := &req.VM.Status
	uuid := st.Volumes[0].DiskUUID
	req.Effective.Volumes[0].Disk.Capacity = ptr(resource.MustParse("7Gi"))
	req.Effective.Volumes = append(req.Effective.Volumes, disk("later", "1Gi", ""))
	l.until("one disk has grown and another was added", func() bool {
		return len(st.Volumes) == 6 && st.Volumes[5].Attached && st.Volumes[0].Capacity.String() == "7Gi" &&
			reason(st, vmv1alpha1.ConditionConfigurationSynced) == "True Succeeded"
	}, req)
	if st.PowerState != vmv1alpha1.PoweredOn || st.Volumes[0].DiskUUID != uuid || uuid == "" {
		t.Errorf("after growing the VM is %s with disk %q, want it running with the same disk %q", st.PowerState, st.Volumes[0].DiskUUID, uuid)
	}
	checkNoOperation(t, l.p, req)
	if got := devicesOf(t, ready, req.VM.Name); got["disk 7Gi"] != 1 || got["disk 2Gi"] != 0 || got["disk 1Gi"] != 1 {
		t.Errorf("devices = %v, want one disk of 7Gi, one of 1Gi and none of 2Gi", got)
	}

	req.Effective.Volumes[0].Disk.Capacity = ptr(resource.MustParse("1Gi"))
	const want = "not applied: volumes[data].disk.size 1Gi (the disk has 7Gi, and vSphere cannot shrink disks)"
	l.until("the larger disk satisfies the request", func() bool {
		return reason(st, vmv1alpha1.ConditionConfigurationSynced) == "True Succeeded" && message(st, vmv1alpha1.ConditionConfigurationSynced) == want
	}, req)
	req.Effective.Volumes = req.Effective.Volumes[1:]
	file := filesOf(t, ready, req.VM.Name)["7Gi"]
	l.until("the removed volume is detached", func() bool {
		return len(st.Volumes) == 5 && reason(st, vmv1alpha1.ConditionConfigurationSynced) == "True Succeeded"
	}, req)
	if got := devicesOf(t, ready, req.VM.Name); got["disk 7Gi"] != 0 || !fileExists(t, ready, file) {
		t.Errorf("devices = %v, its file %s exists: %t; want the disk detached and its file kept", got, file, fileExists(t, ready, file))
	}
	checkNoOperation(t, l.p, req)
}

func TestDevices_OfTheSpecAreAdded(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("devices", libraryImage())
	req.Effective.Firmware = &vmv1alpha1.VirtualMachineFirmware{Bootloader: vmv1alpha1.BootloaderEFI}
	req.Effective.Network.Interfaces[0].Model = "e1000e"
	req.Effective.CPU.DedicatedCPUPlacement = ptr(true)
	req.Effective.Devices = &vmv1alpha1.VirtualMachineDevices{
		TPM:                     &vmv1alpha1.VirtualMachineTPM{},
		GPUs:                    []vmv1alpha1.VirtualMachineDevice{{Name: "gpu", DeviceName: "grid_a100-10c"}},
		HostDevices:             []vmv1alpha1.VirtualMachineDevice{{Name: "nic", DeviceName: "8086:1572"}},
		DisableHotplug:          ptr(true),
		AutoattachSerialConsole: ptr(true),
	}
	l.until("the VM runs", isRunning(req), req)
	checkNoOperation(t, p, req)
	vm := inVCenter(t, ready)["team-a/devices"]
	want := map[string]int{"tpm": 1, "passthrough": 2, "serial": 1, "e1000e": 1, "disk 16Gi": 1}
	if diff := cmp.Diff(want, devicesOf(t, ready, "devices")); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
	if r := *vm.Config.MemoryAllocation.Reservation; r != 1024 || !*vm.Config.MemoryReservationLockedToMax {
		t.Errorf("reserved %d MB, locked %v; want all 1024", r, *vm.Config.MemoryReservationLockedToMax)
	}
	speed := p.inventory.HostMHz(vmHost(p, req))
	if r := *vm.Config.CpuAllocation.Reservation; speed == 0 || r != 2*speed {
		t.Errorf("reserved %d MHz on a host of %d MHz; want the speed of two cores", r, speed)
	}

	req.Effective.Devices.GPUs = nil
	st := &req.VM.Status
	l.until("the GPU requires a restart", func() bool { return len(st.RestartRequired) > 0 }, req)
	if diff := cmp.Diff([]vmv1alpha1.RestartRequirement{{Path: "devices.gpus", Running: "grid_a100-10c"}}, st.RestartRequired); diff != "" {
		t.Errorf("restartRequired (-want +got):\n%s", diff)
	}
}

func vmHost(p *Provider, req *provider.Request) *vimtypes.ManagedObjectReference {
	vm := p.record(req.VM.Status.UniqueID, req.VM.Status.InstanceUUID)
	return vm.Runtime.Host
}

func TestSize_GrowsLiveWithHotAdd(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("hot", libraryImage())
	req.Effective.CPU.HotAddEnabled, req.Effective.Memory.HotAddEnabled = ptr(true), ptr(true)
	l.until("the VM runs", isRunning(req), req)
	boot := req.VM.Status.Guest.BootTime

	req.Effective.CPU.Sockets = 4
	req.Effective.Memory.Guest = ptr(resource.MustParse("2Gi"))
	req.Effective.Memory.Reservation = ptr(resource.MustParse("2Gi"))
	st := &req.VM.Status
	l.until("the size is applied", func() bool {
		vm := p.record(st.UniqueID, st.InstanceUUID)
		return vm.Config.Hardware.NumCPU == 4 && reason(st, vmv1alpha1.ConditionConfigurationSynced) == "True Succeeded"
	}, req)
	vm := inVCenter(t, ready)["team-a/hot"]
	if vm.Config.Hardware.NumCPU != 4 || vm.Config.Hardware.MemoryMB != 2048 || *vm.Config.MemoryAllocation.Reservation != 2048 {
		t.Errorf("size = %d CPUs, %d MB, %d MB reserved; want 4, 2048, 2048",
			vm.Config.Hardware.NumCPU, vm.Config.Hardware.MemoryMB, *vm.Config.MemoryAllocation.Reservation)
	}
	if len(st.RestartRequired) != 0 || !st.Guest.BootTime.Equal(boot) {
		t.Errorf("restartRequired = %v, booted at %v; want no requirement and no restart since %v", st.RestartRequired, st.Guest.BootTime, boot)
	}

	req.Effective.CPU.Sockets = 2
	req.Effective.Memory.Guest = ptr(resource.MustParse("4Gi"))
	req.Effective.Memory.Reservation = ptr(resource.MustParse("4Gi"))
	req.VM.Spec.UpdateStrategy = vmv1alpha1.UpdateStrategyStage
	l.until("all changes require a restart", func() bool { return len(st.RestartRequired) == 3 }, req)
	checkNoOperation(t, p, req)
	if got := inVCenter(t, ready)["team-a/hot"].Config; *got.MemoryAllocation.Reservation != 2048 || got.Hardware.MemoryMB != 2048 {
		t.Errorf("Stage changed the running VM: %d MB, %d MB reserved", got.Hardware.MemoryMB, *got.MemoryAllocation.Reservation)
	}
}

func TestHardwareVersion_IsUpgradedBeforePowerOn(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("upgrade", libraryImage())
	req.Effective.MinHardwareVersion = 21
	l.until("the VM runs", isRunning(req), req)
	if st := req.VM.Status; st.HardwareVersion != 21 || len(st.RestartRequired) != 0 {
		t.Errorf("hardware version %d, restartRequired %v; want 21 and none", st.HardwareVersion, st.RestartRequired)
	}
	checkNoOperation(t, p, req)
}

func TestNetwork_CanBeCorrectedAfterAnInvalidChange(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("network", libraryImage())
	l.until("the VM runs", isRunning(req), req)
	st := &req.VM.Status
	req.Effective.Network = req.Effective.Network.DeepCopy()
	req.Effective.Network.Interfaces[0].Network = "nope"
	l.until("the network is missing", func() bool {
		return reason(st, vmv1alpha1.ConditionNetworkReady) == "False NotFound" &&
			reason(st, vmv1alpha1.ConditionConfigurationSynced) == "False WaitingForPrerequisites"
	}, req)
	req.Effective.Network.Interfaces[0].Network = ""
	l.until("the VM is synchronized again", func() bool {
		return isTrue(st, vmv1alpha1.ConditionNetworkReady) && reason(st, vmv1alpha1.ConditionConfigurationSynced) == "True Succeeded"
	}, req)
}

func TestPreferredTPM_IsAddedIfTheFirmwareSupportsIt(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	asked := &vmv1alpha1.VirtualMachineDevices{TPM: &vmv1alpha1.VirtualMachineTPM{}}
	bios, efi, own := newRequest("bios", libraryImage()), newRequest("efi", libraryImage()), newRequest("own", libraryImage())
	for _, req := range []*provider.Request{bios, efi, own} {
		req.VM.Spec.Preference = &vmv1alpha1.PreferenceMatcher{Name: "p"}
		req.Effective.Devices = asked
	}
	efi.Effective.Firmware = &vmv1alpha1.VirtualMachineFirmware{Bootloader: vmv1alpha1.BootloaderEFI}
	bios.Effective.Firmware = &vmv1alpha1.VirtualMachineFirmware{Bootloader: vmv1alpha1.BootloaderBIOS}
	own.Effective.Firmware = bios.Effective.Firmware
	own.VM.Spec.Devices = asked
	l.until("both VMs run", isRunning(bios, efi), bios, efi)
	if got := message(&bios.VM.Status, vmv1alpha1.ConditionConfigurationSynced); got != "not applied: devices.tpm (preferred, but it requires EFI, and the firmware is BIOS)" {
		t.Errorf("message = %q, want the reason why no TPM was added", got)
	}
	if got := devicesOf(t, ready, "bios")["tpm"] + 10*devicesOf(t, ready, "efi")["tpm"]; got != 10 {
		t.Errorf("TPMs = %d, want one with EFI and none with BIOS", got)
	}
	l.until("the VM with an explicit TPM is refused", func() bool {
		return reason(&own.VM.Status, vmv1alpha1.ConditionCreated) == "False Invalid"
	}, own)
	if got := message(&own.VM.Status, vmv1alpha1.ConditionCreated); got != "devices.tpm: requires EFI, but firmware.bootloader is BIOS" {
		t.Errorf("message = %q, want the field", got)
	}
}
