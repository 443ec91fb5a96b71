// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/storage"
)

// Refused settings are not differences, but all other changes are.
func TestDifferences_ContainNoRefusedSettings(t *testing.T) {
	encrypts := func(w *Desired) {
		w.Storage.Policies = map[string]storage.Policy{"secret": {ID: "p", Name: "Encrypted", Encrypted: true}}
	}
	var keys []string
	for sum := sha256.Sum256(nil); len(keys) < 3000; sum = sha256.Sum256(sum[:]) {
		keys = append(keys, hex.EncodeToString(sum[:]))
	}
	for name, change := range map[string]func(*Desired, *mo.VirtualMachine){
		"a disk that cannot grow": func(w *Desired, vm *mo.VirtualMachine) {
			withSnapshot(diskOfVM(vm, 2001))
			w.Effective.Volumes[0] = volume("data", "3Gi", "")
		},
		"a disk that was removed": func(w *Desired, _ *mo.VirtualMachine) {
			w.Effective.Volumes = append(w.Effective.Volumes, volume("gone", "1Gi", ""))
		},
		"a slot in use": func(w *Desired, _ *mo.VirtualMachine) {
			v := volume("new", "1Gi", "")
			v.ControllerBusNumber, v.UnitNumber = ptr(int32(0)), ptr(int32(0))
			w.Effective.Volumes = append(w.Effective.Volumes, v)
		},
		"a new disk that cannot be encrypted": func(w *Desired, _ *mo.VirtualMachine) {
			encrypts(w)
			v := volume("new", "1Gi", "")
			v.Disk.StorageClass = "secret"
			w.Effective.Volumes = append(w.Effective.Volumes, v)
		},
		"a disk that cannot be encrypted": func(w *Desired, _ *mo.VirtualMachine) {
			encrypts(w)
			w.Effective.Volumes[0].Disk.StorageClass = "secret"
		},
		"a boot disk that cannot be encrypted": func(w *Desired, _ *mo.VirtualMachine) {
			encrypts(w)
			w.Effective.BootDisk = &vmv1alpha1.VirtualMachineBootDisk{StorageClass: "secret"}
		},
		"an unknown boot disk": func(w *Desired, vm *mo.VirtualMachine) {
			vm.Config.Hardware.Device = append(vm.Config.Hardware.Device, diskAt(2003, 1000, 3, 4<<30))
			w.Effective.BootDisk = bootDiskOf("20Gi")
		},
		"a TPM with BIOS": func(w *Desired, _ *mo.VirtualMachine) { w.Effective.Devices = tpm },
		"an old hardware version": func(w *Desired, vm *mo.VirtualMachine) {
			vm.Config.Version = "vmx-13"
			efi(w, vm)
			w.Effective.Devices = tpm
		},
		"vNUMA with hot-add": func(w *Desired, vm *mo.VirtualMachine) {
			vm.Config.CpuHotAddEnabled = ptr(true)
			w.Effective.CPU.ExposeVNUMA, w.Effective.CPU.HotAddEnabled = ptr(true), ptr(true)
		},
		"an address that no bootstrap passes to the guest": func(w *Desired, _ *mo.VirtualMachine) {
			w.Effective.Network.Interfaces[0].Addresses = []string{"192.0.2.5/24"}
		},
		"metadata that is too long": func(w *Desired, _ *mo.VirtualMachine) {
			w.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{InstanceID: "two", SSHAuthorizedKeys: keys}}
			w.Bootstrap = &provider.BootstrapData{CloudConfig: []byte("#cloud-config\n")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, vm := want(), have()
			withDisks(vm)
			w.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{volume("data", "2Gi", "")}
			change(&w, vm)
			w.Effective.CPU.Shares = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesHigh}
			w.Effective.Network.Interfaces[0].Network = "other"
			if len(Refused(w, vm).Invalid) == 0 {
				t.Fatal("nothing is refused")
			}
			var got []string
			for _, d := range Differences(w, vm) {
				got = append(got, d.Path)
			}
			if diff := cmp.Diff([]string{"cpu.shares", "network.interfaces[eth0]"}, got); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}
