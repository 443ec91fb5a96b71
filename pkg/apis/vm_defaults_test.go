// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	"github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestDefaults_SetUnsetFields(t *testing.T) {
	obj := &v1alpha1.VirtualMachine{Spec: v1alpha1.VirtualMachineSpec{
		Image: &v1alpha1.VirtualMachineImageRef{Name: "photon"},
		ReadinessProbe: &v1alpha1.VirtualMachineReadinessProbe{
			GuestHeartbeat: &v1alpha1.GuestHeartbeatAction{},
		},
	}}
	scheme.Scheme.Default(obj)
	want := v1alpha1.VirtualMachineSpec{
		PowerState:       v1alpha1.PoweredOn,
		PowerOffMode:     v1alpha1.PowerOpModeTrySoft,
		SuspendMode:      v1alpha1.PowerOpModeTrySoft,
		RestartMode:      v1alpha1.PowerOpModeTrySoft,
		PromoteDisksMode: v1alpha1.PromoteDisksModeOnline,
		WhenMissing:      v1alpha1.WhenMissingWait,
		UpdateStrategy:   v1alpha1.UpdateStrategyLiveUpdate,
		Image:            &v1alpha1.VirtualMachineImageRef{Kind: "VirtualMachineImage", Name: "photon"},
		ReadinessProbe: &v1alpha1.VirtualMachineReadinessProbe{
			GuestHeartbeat: &v1alpha1.GuestHeartbeatAction{ThresholdStatus: v1alpha1.GuestHeartbeatGreen},
			PeriodSeconds:  10,
			TimeoutSeconds: 10,
		},
	}
	if diff := cmp.Diff(want, obj.Spec); diff != "" {
		t.Errorf("defaulted spec differs (-want +got):\n%s", diff)
	}
}

func TestDefaults_DoNotChangeSetFields(t *testing.T) {
	want := v1alpha1.VirtualMachineSpec{
		PowerState:       v1alpha1.Suspended,
		PowerOffMode:     v1alpha1.PowerOpModeHard,
		SuspendMode:      v1alpha1.PowerOpModeSoft,
		RestartMode:      v1alpha1.PowerOpModeHard,
		PromoteDisksMode: v1alpha1.PromoteDisksModeDisabled,
		WhenMissing:      v1alpha1.WhenMissingRecreate,
		UpdateStrategy:   v1alpha1.UpdateStrategyStage,
	}
	obj := &v1alpha1.VirtualMachine{Spec: *want.DeepCopy()}
	scheme.Scheme.Default(obj)
	if diff := cmp.Diff(want, obj.Spec); diff != "" {
		t.Errorf("defaulted spec differs (-want +got):\n%s", diff)
	}
}

func TestDefaults_DoNotSetPowerStateOfGroupMembers(t *testing.T) {
	for name, tc := range map[string]struct{ group, set, want v1alpha1.PowerState }{
		"no group": {"", "", v1alpha1.PoweredOn}, "in a group": {"shop", "", ""}, "in a group, with its own": {"shop", v1alpha1.PoweredOff, v1alpha1.PoweredOff},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &v1alpha1.VirtualMachine{Spec: v1alpha1.VirtualMachineSpec{GroupName: string(tc.group), PowerState: tc.set}}
			scheme.Scheme.Default(obj)
			if obj.Spec.PowerState != tc.want {
				t.Errorf("spec.powerState is %q, want %q", obj.Spec.PowerState, tc.want)
			}
		})
	}
}

func TestDefaults_SetFieldsOfGroups(t *testing.T) {
	obj := &v1alpha1.VirtualMachineGroup{Spec: v1alpha1.VirtualMachineGroupSpec{BootOrder: []v1alpha1.VirtualMachineGroupStep{{
		Members: []v1alpha1.VirtualMachineGroupMember{{Name: "db"}, {Kind: v1alpha1.GroupMemberKind, Name: "web"}},
	}}}}
	scheme.Scheme.Default(obj)
	want := v1alpha1.VirtualMachineGroupSpec{BootOrder: []v1alpha1.VirtualMachineGroupStep{{
		Members: []v1alpha1.VirtualMachineGroupMember{{Kind: v1alpha1.MachineMemberKind, Name: "db"}, {Kind: v1alpha1.GroupMemberKind, Name: "web"}},
		WaitFor: v1alpha1.WaitForNothing,
	}}}
	if diff := cmp.Diff(want, obj.Spec); diff != "" {
		t.Errorf("defaulted spec differs (-want +got):\n%s", diff)
	}
}

func TestDesiredPowerState(t *testing.T) {
	const on, off, suspended = v1alpha1.PoweredOn, v1alpha1.PoweredOff, v1alpha1.Suspended
	for name, tc := range map[string]struct {
		own                  v1alpha1.PowerState
		group                string
		inherited, has, want v1alpha1.PowerState
	}{
		"the default":                             {"", "", "", off, on},
		"its own":                                 {suspended, "shop", on, on, suspended},
		"that of the group":                       {"", "shop", on, off, on},
		"the group is off":                        {"", "shop", off, suspended, off},
		"not set, running":                        {"", "shop", "", on, on},
		"not set, powered off":                    {"", "shop", "", off, off},
		"not set, not created":                    {"", "shop", "", "", off},
		"suspended with the group":                {"", "shop", suspended, on, suspended},
		"suspended like the group":                {"", "shop", suspended, suspended, suspended},
		"off when the group is suspended":         {"", "shop", suspended, off, off},
		"not created when the group is suspended": {"", "shop", suspended, "", off},
	} {
		t.Run(name, func(t *testing.T) {
			vm := &v1alpha1.VirtualMachine{Spec: v1alpha1.VirtualMachineSpec{PowerState: tc.own, GroupName: tc.group}, Status: v1alpha1.VirtualMachineStatus{InheritedPowerState: tc.inherited}}
			if got := vm.DesiredPowerState(tc.has); got != tc.want {
				t.Errorf("DesiredPowerState() = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestFieldLabels_AreConvertedIfSupported(t *testing.T) {
	for _, tc := range []struct {
		kind, label string
		accepted    bool
	}{
		{"VirtualMachine", "metadata.name", true},
		{"VirtualMachine", "metadata.namespace", true},
		{"VirtualMachine", "spec.powerState", true},
		{"VirtualMachine", "status.powerState", true},
		{"VirtualMachine", "status.phase", true},
		{"VirtualMachine", "status.nodeName", true},
		{"VirtualMachine", "status.instancetypeRef.name", true},
		{"VirtualMachine", "status.instancetypeRef.outdated", true},
		{"VirtualMachine", "status.preferenceRef.outdated", true},
		{"VirtualMachine", "spec.className", false},
		{"VirtualMachineInstance", "status.nodeName", true},
		{"VirtualMachineInstance", "spec.powerState", false},
		{"VirtualMachineClass", "metadata.name", true},
		{"VirtualMachineClass", "status.phase", false},
		{"VirtualMachineImage", "metadata.name", true},
	} {
		t.Run(tc.kind+" by "+tc.label, func(t *testing.T) {
			label, value, err := scheme.Scheme.ConvertFieldLabel(v1alpha1.SchemeGroupVersion.WithKind(tc.kind), tc.label, "x")
			if (err == nil) != tc.accepted {
				t.Fatalf("got error %v, want accepted = %t", err, tc.accepted)
			}
			if tc.accepted && (label != tc.label || value != "x") {
				t.Errorf("was converted to %s=%s", label, value)
			}
		})
	}
}

func TestExpandOptions_AreDecodedFromQuery(t *testing.T) {
	var options v1alpha1.ExpandOptions
	query := map[string][]string{"generation": {"latest"}}
	if err := scheme.ParameterCodec.DecodeParameters(query, v1alpha1.SchemeGroupVersion, &options); err != nil {
		t.Fatal(err)
	}
	if options.Generation != "latest" {
		t.Errorf("generation is %q, want latest", options.Generation)
	}
}
