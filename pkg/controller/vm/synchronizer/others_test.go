// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package synchronizer_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/vm/synchronizer"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// Behaviors F131, F132 of test/behaviours.
func TestChain_AppliesThePolicy(t *testing.T) {
	for _, tc := range []struct {
		name     string
		policy   synchronizer.Policy
		captured bool
		expanded bool
	}{
		{"default keeps references", "", false, false},
		{"Reference keeps references", synchronizer.PolicyReference, false, false},
		{"Expand expands references without revision", synchronizer.PolicyExpand, false, true},
		{"Expand keeps references with revision", synchronizer.PolicyExpand, true, false},
		{"ExpandAll expands all references", synchronizer.PolicyExpandAll, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture()
			f.add(t, clusterIT, "small", "s", 1, small)
			f.add(t, clusterPref, "linux", "l", 1, "{devices: {preferredDiskBus: sata}}")
			vm := vmOf(t, "{instancetype: {name: small}, preference: {name: linux}, volumes: [{name: d, disk: {size: 1Gi}}]}")
			if tc.captured {
				vm = mustSync(t, f, vm)
			}
			result, err := chain(f, tc.policy).Sync(t.Context(), vm.DeepCopy(), nil)
			if err != nil {
				t.Fatal(err)
			}
			out := merged(result)
			if !tc.expanded {
				if out.Spec.Instancetype == nil || out.Spec.Instancetype.RevisionName != "" || out.Status.InstancetypeRef == nil || out.Status.PreferenceRef == nil {
					t.Errorf("spec %+v, status %+v; want references in both", out.Spec.Instancetype, out.Status.InstancetypeRef)
				}
				return
			}
			if out.Spec.Instancetype != nil || out.Spec.Preference != nil || out.Status.InstancetypeRef != nil || out.Status.PreferenceRef != nil {
				t.Errorf("references remain in %+v, %+v", out.Spec, out.Status)
			}
			if out.Spec.CPU.Sockets != 2 || out.Spec.Memory.Guest.String() != "4Gi" || out.Spec.Volumes[0].Bus != "sata" || out.Status.Resources.VCPUs != 2 {
				t.Errorf("expanded to %+v, %+v, %+v", out.Spec.CPU, out.Spec.Memory, out.Spec.Volumes)
			}
			if e := result.Effective; e == nil || e.Instancetype != nil || e.Preference != nil || e.CPU.Sockets != 2 {
				t.Errorf("effective spec %+v, want the one of the expanded VM", e)
			}
			if again, err := chain(f, tc.policy).Sync(t.Context(), out.DeepCopy(), nil); err != nil || !cmp.Equal(out, merged(again), quantities) {
				t.Errorf("a second reconcile changed (%v):\n%s", err, cmp.Diff(out, again.VM, quantities))
			}
		})
	}
}

// Behaviors F124, F148 of test/behaviours.
func TestNetwork_AddsTheDefaultInterface(t *testing.T) {
	eth0 := &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0"}}}
	for _, tc := range []struct {
		name     string
		network  *vmv1alpha1.VirtualMachineNetworkSpec
		deleting bool
		want     *vmv1alpha1.VirtualMachineNetworkSpec
	}{
		{"no network", nil, false, eth0},
		{"no interface", &vmv1alpha1.VirtualMachineNetworkSpec{}, false, eth0},
		{"disabled", &vmv1alpha1.VirtualMachineNetworkSpec{Disabled: true}, false, &vmv1alpha1.VirtualMachineNetworkSpec{Disabled: true}},
		{"own interfaces", &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "lan"}}}, false,
			&vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "lan"}}}},
		{"being deleted", nil, true, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vm := &vmv1alpha1.VirtualMachine{Spec: vmv1alpha1.VirtualMachineSpec{Network: tc.network}}
			if tc.deleting {
				vm.DeletionTimestamp = &metav1.Time{}
			}
			out, _, err := synchronizer.Network{}.Sync(t.Context(), vm, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, out.Spec.Network); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Behaviors F95 of test/behaviours.
func TestNetwork_PreferenceDeterminesTheDefaultInterface(t *testing.T) {
	for preference, want := range map[string]int{
		"{}": 1,
		"{devices: {preferredAutoattachPodInterface: true}}":  1,
		"{devices: {preferredAutoattachPodInterface: false}}": 0,
	} {
		f := newFixture()
		f.add(t, clusterPref, "linux", "l", 1, preference)
		vm := vmOf(t, "{cpu: {sockets: 1}, memory: {guest: 1Gi}, preference: {name: linux}}")
		vm.Spec.Network = nil
		result, err := chain(f, "").Sync(t.Context(), vm, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(result.Effective.Network.Interfaces); got != want || result.VM.Spec.Network != nil {
			t.Errorf("%s: %d interfaces and spec %+v, want %d and nothing in the spec", preference, got, result.VM.Spec.Network, want)
		}
	}
}

func TestInstancetype_ReportsAnUnappliedTimeZone(t *testing.T) {
	for bootstrap, want := range map[string]string{
		"cloudInit: {}": "not applied: clock.preferredClockOffset.timezone Europe/Berlin (needs bootstrap.linuxPrep)",
		"linuxPrep: {}": "",
	} {
		f := newFixture()
		f.add(t, clusterPref, "linux", "l", 1, "{clock: {preferredClockOffset: {timezone: Europe/Berlin}}}")
		vm := mustSync(t, f, vmOf(t, "{cpu: {sockets: 1}, memory: {guest: 1Gi}, preference: {name: linux}, bootstrap: {"+bootstrap+"}}"))
		if c := condition(t, vm, vmv1alpha1.ConditionPreferenceReady); c.Status != metav1.ConditionTrue || c.Message != want {
			t.Errorf("%s: PreferenceReady %s %q, want True %q", bootstrap, c.Status, c.Message, want)
		}
	}
}

// Behaviors F149 of test/behaviours.
func TestFirmware_SetsAStableUUID(t *testing.T) {
	uuidOf := func(uid types.UID, given string) (string, error) {
		vm := &vmv1alpha1.VirtualMachine{}
		vm.UID = uid
		if given != "" {
			vm.Spec.Firmware = &vmv1alpha1.VirtualMachineFirmware{UUID: given}
		}
		out, _, err := synchronizer.Firmware{}.Sync(t.Context(), vm, nil)
		if out.Spec.Firmware == nil {
			return "", err
		}
		return out.Spec.Firmware.UUID, err
	}
	first, err := uuidOf("a", "")
	if err != nil || first == "" {
		t.Fatalf("missing UUID: %q, %v", first, err)
	}
	if again, _ := uuidOf("a", ""); again != first {
		t.Errorf("a repeated reconcile chose %s after %s", again, first)
	}
	if kept, _ := uuidOf("a", "given"); kept != "given" {
		t.Error("an existing UUID was changed")
	}
	if other, _ := uuidOf("b", ""); other == first {
		t.Error("two objects got the same UUID")
	}
	if got, err := uuidOf("", ""); err == nil || got != "" {
		t.Errorf("without UID: %q, %v; want an error and the VM unchanged", got, err)
	}
}

func TestClass_SetsStatusAndCondition(t *testing.T) {
	f := newFixture()
	class := &vmv1alpha1.VirtualMachineClass{Spec: *parse[vmv1alpha1.VirtualMachineClassSpec](t, "{cpu: {sockets: 4}, memory: {guest: 8Gi}}")}
	class.Name, class.Generation = "gold", 7
	f.classes["gold"] = class
	vm := mustSync(t, f, vmOf(t, "{className: gold}"))
	if got := vm.Status.Class; got == nil || *got != (vmv1alpha1.VirtualMachineClassStatus{Name: "gold", Generation: 7}) || vm.Status.Resources.VCPUs != 4 {
		t.Errorf("class %+v, resources %+v", got, vm.Status.Resources)
	}
	if got := reasons(vm)["ClassReady"]; got != "True Succeeded" {
		t.Errorf("ClassReady is %s", got)
	}
	vm = vmOf(t, "{cpu: {sockets: 1}, memory: {guest: 1Gi}}")
	vm.Status.Class = &vmv1alpha1.VirtualMachineClassStatus{Name: "gold"}
	vm = mustSync(t, f, vm)
	if _, ok := reasons(vm)["ClassReady"]; ok || vm.Status.Class != nil {
		t.Errorf("class %+v, conditions %v of a VM without class", vm.Status.Class, reasons(vm))
	}
}

// The create strategy sets the UUID, so only older objects have none.
func TestFirmware_SetsAMissingUUID(t *testing.T) {
	const own = "11111111-2222-3333-4444-555555555555"
	generated := apply.FirmwareUUID("uid")
	for name, test := range map[string]struct {
		spec, bootloader, want string
	}{
		"no firmware":             {"{}", "", generated},
		"firmware without a UUID": {"{firmware: {bootloader: EFI}}", "EFI", generated},
		"firmware with a UUID":    {"{firmware: {bootloader: EFI, uuid: " + own + "}}", "EFI", own},
	} {
		vm := &vmv1alpha1.VirtualMachine{Spec: *parse[vmv1alpha1.VirtualMachineSpec](t, test.spec)}
		vm.UID = "uid"
		out, _, err := synchronizer.Firmware{}.Sync(t.Context(), vm, nil)
		if err != nil {
			t.Fatal(err)
		}
		f := out.Spec.Firmware
		if f == nil || f.UUID != test.want || string(f.Bootloader) != test.bootloader {
			t.Errorf("%s: %+v, want UUID %s and bootloader %q", name, f, test.want, test.bootloader)
		}
	}
}

// All synchronizers run even though two of them fail.
// Behaviors F59 of test/behaviours.
func TestChain_RunsAllSynchronizers(t *testing.T) {
	vm := &vmv1alpha1.VirtualMachine{Spec: *parse[vmv1alpha1.VirtualMachineSpec](t, "{instancetype: {name: gone}, className: gone}")}
	vm.Name, vm.Namespace, vm.UID = "vm", "default", "uid"
	result, err := chain(newFixture(), "").Sync(t.Context(), vm, nil)
	out := merged(result)
	if err == nil || result.Effective != nil || out.Spec.Network == nil || out.Spec.Firmware == nil || out.Spec.Firmware.UUID == "" {
		t.Errorf("network %+v, firmware %+v, error %v", out.Spec.Network, out.Spec.Firmware, err)
	}
	want := map[string]string{"InstancetypeReady": "False NotFound", "ClassReady": "False NotFound", "Synchronized": "False NotFound"}
	if diff := cmp.Diff(want, reasons(out)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) || len(joined.Unwrap()) != 2 {
		t.Errorf("error %v, want both failures", err)
	}
}
