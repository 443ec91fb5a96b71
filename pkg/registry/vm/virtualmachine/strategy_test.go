// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)

// uid is the UID of the VM, and uuid the firmware UUID derived from it.
const (
	uid  = types.UID("3c1d5b8a-6f0e-4c55-9d3a-1b2c3d4e5f60")
	uuid = "6f72f811-afc5-5ab3-bf9c-9c49b5ab3f12"
)

func clock() time.Time { return now }

func strategy() standard.Strategy[*vmv1alpha1.VirtualMachine] {
	return standard.NewStrategy(scheme.Scheme, Kind(clock))
}

func statusStrategy() standard.StatusStrategy[*vmv1alpha1.VirtualMachine] {
	return standard.StatusStrategy[*vmv1alpha1.VirtualMachine]{Strategy: strategy()}
}

func powerStrategy() standard.PartStrategy[*vmv1alpha1.VirtualMachine] {
	return standard.NewPartStrategy(scheme.Scheme, Kind(clock), PowerPart(clock), vmv1alpha1.AnnotationStartRequested)
}

func TestPowerStrategy_KeepsTheRequestOfAStart(t *testing.T) {
	got, want := stored(), stored()
	got.Annotations = map[string]string{vmv1alpha1.AnnotationStartRequested: "2026-01-01T00:00:00Z", "b": "1"}
	want.Annotations[vmv1alpha1.AnnotationStartRequested] = "2026-01-01T00:00:00Z"
	powerStrategy().PrepareForUpdate(t.Context(), got, stored())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("to be stored (-want +got):\n%s", diff)
	}
}

func refreshStrategy(role instancetype.Role) standard.PartStrategy[*vmv1alpha1.VirtualMachine] {
	return standard.NewPartStrategy(scheme.Scheme, Kind(clock), RefreshPart(role))
}

func stored() *vmv1alpha1.VirtualMachine {
	return &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{
			Name: "v", Namespace: "n", Generation: 3, ResourceVersion: "7",
			Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "1"}, Finalizers: []string{vmv1alpha1.VirtualMachineFinalizer},
		},
		Spec: vmv1alpha1.VirtualMachineSpec{
			Instancetype: &vmv1alpha1.InstancetypeMatcher{Name: "i", RevisionName: "old", ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "r"}},
			Preference:   &vmv1alpha1.PreferenceMatcher{Name: "p", ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "rp"}},
			PowerState:   vmv1alpha1.PoweredOn,
			GuestID:      "ubuntu64Guest",
		},
		Status: vmv1alpha1.VirtualMachineStatus{
			Phase:           vmv1alpha1.PhaseRunning,
			InstancetypeRef: &vmv1alpha1.InstancetypeRef{Name: "i", ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "r"}},
			PreferenceRef:   &vmv1alpha1.PreferenceRef{Name: "p", ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "rp"}},
		},
	}
}

// everythingChanged returns the stored object with every part changed.
func everythingChanged() *vmv1alpha1.VirtualMachine {
	v := stored()
	v.Labels, v.Annotations = map[string]string{"l": "2"}, map[string]string{"a": "2"}
	v.Finalizers, v.OwnerReferences = nil, []metav1.OwnerReference{{Name: "o"}}
	v.Spec.GuestID, v.Spec.PowerState, v.Spec.PowerOffMode = "other", vmv1alpha1.PoweredOff, vmv1alpha1.PowerOpModeHard
	v.Spec.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: "other"}
	v.Spec.Preference = &vmv1alpha1.PreferenceMatcher{Name: "other"}
	v.Status.Phase = vmv1alpha1.PhaseFailed
	v.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{Name: "other"}
	v.Status.PreferenceRef = &vmv1alpha1.PreferenceRef{Name: "other"}
	return v
}

// F152 F156
func TestStrategies_ChangeOnlyTheirPart(t *testing.T) {
	for name, tc := range map[string]struct {
		strategy rest.RESTUpdateStrategy
		// change modifies the stored object as the endpoint must.
		change func(*vmv1alpha1.VirtualMachine)
	}{
		"main keeps status": {strategy(), func(v *vmv1alpha1.VirtualMachine) {
			changed := everythingChanged()
			v.ObjectMeta, v.Spec = changed.ObjectMeta, changed.Spec
			v.Finalizers = stored().Finalizers // the manifest omits it
			v.Generation++
		}},
		"status keeps spec and metadata": {statusStrategy(), func(v *vmv1alpha1.VirtualMachine) {
			v.Status = everythingChanged().Status
		}},
		"power keeps all but power": {powerStrategy(), func(v *vmv1alpha1.VirtualMachine) {
			v.Spec.PowerState, v.Spec.PowerOffMode = vmv1alpha1.PoweredOff, vmv1alpha1.PowerOpModeHard
			v.Generation++
		}},
		"refresh of the instance type keeps all but its revision": {refreshStrategy(instancetype.RoleInstancetype), func(v *vmv1alpha1.VirtualMachine) {
			v.Spec.Instancetype.ControllerRevisionRef, v.Spec.Instancetype.RevisionName = nil, ""
			v.Status.InstancetypeRef.ControllerRevisionRef = nil
			v.Generation++
		}},
		"refresh of the preference keeps all but its revision": {refreshStrategy(instancetype.RolePreference), func(v *vmv1alpha1.VirtualMachine) {
			v.Spec.Preference.ControllerRevisionRef = nil
			v.Status.PreferenceRef.ControllerRevisionRef = nil
			v.Generation++
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := everythingChanged(), stored()
			tc.change(want)
			tc.strategy.PrepareForUpdate(t.Context(), got, stored())
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("to be stored (-want +got):\n%s", diff)
			}
		})
	}
}

// Only a refresh forgets that no instance type or preference could be inferred.
func TestRefresh_ForgetsThatNothingWasInferred(t *testing.T) {
	old := stored()
	old.Status.InstancetypeRef, old.Status.PreferenceRef = &vmv1alpha1.InstancetypeRef{InferFromVolume: "image"}, &vmv1alpha1.PreferenceRef{InferFromVolume: "image"}
	for role, want := range map[instancetype.Role][2]bool{instancetype.RoleInstancetype: {false, true}, instancetype.RolePreference: {true, false}} {
		got := old.DeepCopy()
		got.Status.InstancetypeRef, got.Status.PreferenceRef = nil, nil
		refreshStrategy(role).PrepareForUpdate(t.Context(), got, old.DeepCopy())
		if left := [2]bool{got.Status.InstancetypeRef != nil, got.Status.PreferenceRef != nil}; left != want {
			t.Errorf("refresh of the %s leaves %v, want %v", role, left, want)
		}
	}
	got, captured := stored(), stored()
	got.Status.InstancetypeRef = nil
	refreshStrategy(instancetype.RoleInstancetype).PrepareForUpdate(t.Context(), got, captured)
	if got.Status.InstancetypeRef == nil {
		t.Error("a refresh removed a reference with a name")
	}
}

func TestStrategies_KeepGenerationIfSpecIsUnchanged(t *testing.T) {
	for name, s := range map[string]rest.RESTUpdateStrategy{
		"main": strategy(), "status": statusStrategy(), "power": powerStrategy(),
		"refresh": refreshStrategy(instancetype.RoleInstancetype),
	} {
		got := stored()
		got.Labels = map[string]string{"l": "2"}
		got.Status.Phase = vmv1alpha1.PhaseFailed
		s.PrepareForUpdate(t.Context(), got, stored())
		if got.Generation != 3 {
			t.Errorf("%s: generation = %d, want 3", name, got.Generation)
		}
	}
}

func TestStrategy_SetsMissingFieldsOnCreate(t *testing.T) {
	for name, tc := range map[string]struct {
		given, want vmv1alpha1.VirtualMachineSpec
	}{
		"nothing set": {
			want: vmv1alpha1.VirtualMachineSpec{
				Firmware: &vmv1alpha1.VirtualMachineFirmware{UUID: uuid}, ProviderID: "vsphere://" + uuid,
				Network: &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0"}}},
			},
		},
		"UUID and interface set": {
			given: vmv1alpha1.VirtualMachineSpec{
				Firmware: &vmv1alpha1.VirtualMachineFirmware{UUID: "mine"},
				Network:  &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "lan"}}},
			},
			want: vmv1alpha1.VirtualMachineSpec{
				Firmware: &vmv1alpha1.VirtualMachineFirmware{UUID: "mine"}, ProviderID: "vsphere://mine",
				Network: &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "lan"}}},
			},
		},
		"a preference, which may disable the default interface (F95)": {
			given: vmv1alpha1.VirtualMachineSpec{Preference: &vmv1alpha1.PreferenceMatcher{Name: "linux"}},
			want: vmv1alpha1.VirtualMachineSpec{Preference: &vmv1alpha1.PreferenceMatcher{Name: "linux"}, Firmware: &vmv1alpha1.VirtualMachineFirmware{UUID: uuid},
				ProviderID: "vsphere://" + uuid},
		},
		"a provider ID set": {
			given: vmv1alpha1.VirtualMachineSpec{Preference: &vmv1alpha1.PreferenceMatcher{Name: "linux"}, ProviderID: "other"},
			want: vmv1alpha1.VirtualMachineSpec{Preference: &vmv1alpha1.PreferenceMatcher{Name: "linux"}, Firmware: &vmv1alpha1.VirtualMachineFirmware{UUID: uuid},
				ProviderID: "other"},
		},
		"an adopted VM, whose BIOS UUID only vSphere knows": {
			given: vmv1alpha1.VirtualMachineSpec{Preference: &vmv1alpha1.PreferenceMatcher{Name: "linux"}, InstanceUUID: "theirs"},
			want: vmv1alpha1.VirtualMachineSpec{Preference: &vmv1alpha1.PreferenceMatcher{Name: "linux"}, Firmware: &vmv1alpha1.VirtualMachineFirmware{UUID: uuid},
				InstanceUUID: "theirs"},
		},
		"bootloader without UUID, network disabled, restart now": {
			given: vmv1alpha1.VirtualMachineSpec{
				Firmware:        &vmv1alpha1.VirtualMachineFirmware{Bootloader: vmv1alpha1.BootloaderEFI},
				Network:         &vmv1alpha1.VirtualMachineNetworkSpec{Disabled: true},
				NextRestartTime: "now",
			},
			want: vmv1alpha1.VirtualMachineSpec{
				Firmware:        &vmv1alpha1.VirtualMachineFirmware{Bootloader: vmv1alpha1.BootloaderEFI, UUID: uuid},
				ProviderID:      "vsphere://" + uuid,
				Network:         &vmv1alpha1.VirtualMachineNetworkSpec{Disabled: true},
				NextRestartTime: "2026-01-02T03:04:05Z",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{UID: uid}, Spec: tc.given, Status: vmv1alpha1.VirtualMachineStatus{Phase: vmv1alpha1.PhaseRunning}}
			strategy().PrepareForCreate(t.Context(), got)
			want := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{UID: uid, Generation: 1, Finalizers: []string{vmv1alpha1.VirtualMachineFinalizer}}, Spec: tc.want,
				Status: vmv1alpha1.VirtualMachineStatus{ObservedGeneration: -1}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("to be stored (-want +got):\n%s", diff)
			}
		})
	}
}

// F95: a preference disabled the default interface.
func TestStrategy_AddsNoInterfaceOnUpdateAfterAPreference(t *testing.T) {
	created := &vmv1alpha1.VirtualMachine{Spec: vmv1alpha1.VirtualMachineSpec{Preference: &vmv1alpha1.PreferenceMatcher{Name: "appliance"}, Network: &vmv1alpha1.VirtualMachineNetworkSpec{HostName: "a"}}}
	strategy().PrepareForCreate(t.Context(), created)
	updated := created.DeepCopy()
	updated.Spec.Network.HostName = "b"
	strategy().PrepareForUpdate(t.Context(), updated, created)
	if got := updated.Spec.Network.Interfaces; len(got) != 0 {
		t.Errorf("interfaces %v, want none", got)
	}
}

// F149: an update preserves the UUID.
func TestStrategy_KeepsPermanentFieldsOnUpdate(t *testing.T) {
	created := func() *vmv1alpha1.VirtualMachine {
		v := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{UID: uid}}
		strategy().PrepareForCreate(t.Context(), v)
		return v
	}
	for name, tc := range map[string]struct {
		update func(*vmv1alpha1.VirtualMachineSpec)
		want   func(*vmv1alpha1.VirtualMachineSpec)
	}{
		"manifest without both": {func(s *vmv1alpha1.VirtualMachineSpec) { s.Firmware, s.Network = nil, nil }, func(*vmv1alpha1.VirtualMachineSpec) {}},
		"bootloader without UUID": {
			func(s *vmv1alpha1.VirtualMachineSpec) {
				s.Firmware = &vmv1alpha1.VirtualMachineFirmware{Bootloader: vmv1alpha1.BootloaderEFI}
			},
			func(s *vmv1alpha1.VirtualMachineSpec) { s.Firmware.Bootloader = vmv1alpha1.BootloaderEFI },
		},
		"network turned off": {
			func(s *vmv1alpha1.VirtualMachineSpec) {
				s.Network = &vmv1alpha1.VirtualMachineNetworkSpec{Disabled: true}
			},
			func(s *vmv1alpha1.VirtualMachineSpec) {
				s.Network = &vmv1alpha1.VirtualMachineNetworkSpec{Disabled: true}
			},
		},
		"another UUID is left to validation": {
			func(s *vmv1alpha1.VirtualMachineSpec) { s.Firmware.UUID = "other" },
			func(s *vmv1alpha1.VirtualMachineSpec) { s.Firmware.UUID = "other" },
		},
	} {
		got, want := created(), created()
		tc.update(&got.Spec)
		tc.want(&want.Spec)
		strategy().PrepareForUpdate(t.Context(), got, created())
		if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
			t.Errorf("%s: to be stored (-want +got):\n%s", name, diff)
		}
	}
}

// A VM that an earlier version created, or an adopted VM, has no provider ID at creation.
func TestStrategy_SetsTheProviderIDOnUpdate(t *testing.T) {
	for name, tc := range map[string]struct {
		stored vmv1alpha1.VirtualMachine
		given  string
		want   string
	}{
		"created by an earlier version": {stored: vmv1alpha1.VirtualMachine{Spec: vmv1alpha1.VirtualMachineSpec{Firmware: &vmv1alpha1.VirtualMachineFirmware{UUID: "MINE"}}}, want: "vsphere://mine"},
		"not the UUID that vSphere reports": {stored: vmv1alpha1.VirtualMachine{Spec: vmv1alpha1.VirtualMachineSpec{Firmware: &vmv1alpha1.VirtualMachineFirmware{UUID: "mine"}},
			Status: vmv1alpha1.VirtualMachineStatus{BiosUUID: "shown"}}, want: "vsphere://shown"},
		"adopted, not observed yet": {stored: vmv1alpha1.VirtualMachine{Spec: vmv1alpha1.VirtualMachineSpec{InstanceUUID: "theirs", Firmware: &vmv1alpha1.VirtualMachineFirmware{UUID: "mine"}}}},
		"adopted": {stored: vmv1alpha1.VirtualMachine{Spec: vmv1alpha1.VirtualMachineSpec{InstanceUUID: "theirs", Firmware: &vmv1alpha1.VirtualMachineFirmware{UUID: "mine"}},
			Status: vmv1alpha1.VirtualMachineStatus{BiosUUID: "shown"}}, want: "vsphere://shown"},
		"unchanged": {stored: vmv1alpha1.VirtualMachine{Spec: vmv1alpha1.VirtualMachineSpec{ProviderID: "vsphere://old", Firmware: &vmv1alpha1.VirtualMachineFirmware{UUID: "mine"}}}, want: "vsphere://old"},
		"another one is left to validation": {stored: vmv1alpha1.VirtualMachine{Spec: vmv1alpha1.VirtualMachineSpec{ProviderID: "vsphere://old"}}, given: "vsphere://new",
			want: "vsphere://new"},
	} {
		got := tc.stored.DeepCopy()
		got.Spec.ProviderID = tc.given
		strategy().PrepareForUpdate(t.Context(), got, &tc.stored)
		if got.Spec.ProviderID != tc.want {
			t.Errorf("%s: %q, want %q", name, got.Spec.ProviderID, tc.want)
		}
	}
}

func TestStrategies_ResetIgnoredFields(t *testing.T) {
	for name, tc := range map[string]struct {
		strategy     rest.ResetFieldsStrategy
		ignores, not fieldpath.Path
	}{
		"main":   {strategy(), fieldpath.MakePathOrDie("status"), fieldpath.MakePathOrDie("spec")},
		"status": {statusStrategy(), fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("status")},
	} {
		set := tc.strategy.GetResetFields()["vm.slipway.dev/v1alpha1"]
		if !set.Has(tc.ignores) || set.Has(tc.not) {
			t.Errorf("%s resets %s, want %s included and %s excluded", name, set, tc.ignores, tc.not)
		}
	}
}
