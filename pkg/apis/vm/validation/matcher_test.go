// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	vm "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// matcherCases are preference matchers; those of instance types follow the same
// rules with their kinds.
var matcherCases = []struct {
	name    string
	matcher vm.PreferenceMatcher
	want    []string
}{
	{"F122 a name", vm.PreferenceMatcher{Name: "linux"}, nil},
	{"a name and the kind", vm.PreferenceMatcher{Name: "linux", Kind: "VirtualMachinePreference"}, nil},
	{"the kind in another letter case", vm.PreferenceMatcher{Name: "linux", Kind: "virtualMACHINEclusterpreference"}, nil},
	{"the kind in plural", vm.PreferenceMatcher{Name: "linux", Kind: "virtualmachinepreferences"}, nil},
	{"another kind", vm.PreferenceMatcher{Name: "linux", Kind: "Preference"}, []string{"NotSupported m.kind"}},
	{"F122 neither name nor volume", vm.PreferenceMatcher{Kind: "VirtualMachinePreference"}, []string{"Required m.name"}},
	{"a malformed name", vm.PreferenceMatcher{Name: "Linux!"}, []string{"Invalid m.name"}},
	{"F122 inferring from a volume", vm.PreferenceMatcher{InferFromVolume: "root"}, nil},
	{"inferring from the image", vm.PreferenceMatcher{InferFromVolume: "image"}, nil},
	{"inferring from a volume that is not there", vm.PreferenceMatcher{InferFromVolume: "other"}, []string{"Invalid m.inferFromVolume"}},
	{"F122 inferring a given name", vm.PreferenceMatcher{InferFromVolume: "root", Name: "linux"}, []string{"Invalid m.name"}},
	{"F122 inferring a given kind", vm.PreferenceMatcher{InferFromVolume: "root", Kind: "VirtualMachinePreference"}, []string{"Invalid m.kind"}},
	{"F122 inferring a given name and kind", vm.PreferenceMatcher{InferFromVolume: "root", Name: "linux", Kind: "VirtualMachinePreference"}, []string{"Invalid m.name", "Invalid m.kind"}},
	{"the form that a restore leaves behind", vm.PreferenceMatcher{InferFromVolume: "root", Name: "linux", Kind: "VirtualMachinePreference", ControllerRevisionRef: &vm.ControllerRevisionRef{Name: "r"}}, nil},
	{"a failure policy", vm.PreferenceMatcher{InferFromVolume: "root", InferFromVolumeFailurePolicy: ptr.To(vm.InferFromVolumeFailureIgnore)}, nil},
	{"F122 an unknown failure policy", vm.PreferenceMatcher{InferFromVolume: "root", InferFromVolumeFailurePolicy: ptr.To(vm.InferFromVolumeFailurePolicy("Panic"))}, []string{"NotSupported m.inferFromVolumeFailurePolicy"}},
	{"F122 an empty failure policy", vm.PreferenceMatcher{InferFromVolume: "root", InferFromVolumeFailurePolicy: ptr.To(vm.InferFromVolumeFailurePolicy(""))}, []string{"Required m.inferFromVolumeFailurePolicy"}},
	{"a pin without name", vm.PreferenceMatcher{Name: "linux", ControllerRevisionRef: &vm.ControllerRevisionRef{}}, []string{"Required m.controllerRevisionRef.name"}},
	{"two pins that agree", vm.PreferenceMatcher{Name: "linux", RevisionName: "r", ControllerRevisionRef: &vm.ControllerRevisionRef{Name: "r"}}, nil},
	{"two pins that disagree", vm.PreferenceMatcher{Name: "linux", RevisionName: "q", ControllerRevisionRef: &vm.ControllerRevisionRef{Name: "r"}}, []string{"Invalid m.revisionName"}},
}

func TestMatchers(t *testing.T) {
	volumes := []vm.VirtualMachineVolume{{Name: "root"}}
	path := field.NewPath("m")
	for _, tc := range matcherCases {
		t.Run("preference with "+tc.name, func(t *testing.T) {
			check(t, tc.want, validatePreferenceMatcher(&tc.matcher, volumes, path))
		})
		t.Run("instance type with "+tc.name, func(t *testing.T) {
			m := vm.InstancetypeMatcher(tc.matcher)
			m.Kind = strings.NewReplacer("preference", "instancetype", "Preference", "Instancetype").Replace(m.Kind)
			check(t, tc.want, validateInstancetypeMatcher(&m, volumes, path))
		})
	}
	for kind, want := range map[string][]string{
		"":                                   nil,
		"VirtualMachineInstancetype":         nil,
		"virtualmachineclusterinstancetypes": nil,
		"VirtualMachineClusterPreference":    {"NotSupported m.kind"},
	} {
		t.Run("instance type of kind "+kind, func(t *testing.T) {
			check(t, want, validateInstancetypeMatcher(&vm.InstancetypeMatcher{Name: "small", Kind: kind}, nil, path))
		})
	}
}

// The numbers of both roles: their matchers have the same fields.
func TestMatcherUpdates(t *testing.T) {
	pinned := func(name, revision string) *vm.InstancetypeMatcher {
		return &vm.InstancetypeMatcher{Name: name, RevisionName: revision}
	}
	referring := func(name, revision string) *vm.InstancetypeMatcher {
		return &vm.InstancetypeMatcher{Name: name, ControllerRevisionRef: &vm.ControllerRevisionRef{Name: revision}}
	}
	for _, tc := range []struct {
		name     string
		old, new *vm.InstancetypeMatcher
		want     []string
	}{
		{"F123 nothing changed", pinned("a", "r"), pinned("a", "r"), nil},
		{"F123 pin cleared", pinned("a", "r"), pinned("a", ""), nil},
		{"F123 pin changed", pinned("a", "r"), pinned("a", "s"), nil},
		{"name changed and pin cleared", pinned("a", "r"), pinned("b", ""), nil},
		{"name and pin changed", pinned("a", "r"), pinned("b", "s"), nil},
		{"F123 pin introduced", pinned("a", ""), pinned("a", "r"), nil},
		{"F123 matcher introduced", nil, pinned("a", "r"), nil},
		{"F123 matcher removed", pinned("a", "r"), nil, nil},
		{"F123 name changed under the same pin", pinned("a", "r"), pinned("b", "r"), []string{"Invalid m.revisionName"}},
		{"name changed under the same reference", referring("a", "r"), referring("b", "r"), []string{"Invalid m.controllerRevisionRef.name"}},
		{"name and reference changed", referring("a", "r"), referring("b", "s"), nil},
	} {
		t.Run("instance type: "+tc.name, func(t *testing.T) {
			check(t, tc.want, validateMatcherUpdate(instancetypeMatcher(tc.new), instancetypeMatcher(tc.old), field.NewPath("m")))
		})
		t.Run("preference: "+tc.name, func(t *testing.T) {
			next, old := preferenceMatcher((*vm.PreferenceMatcher)(tc.new)), preferenceMatcher((*vm.PreferenceMatcher)(tc.old))
			check(t, tc.want, validateMatcherUpdate(next, old, field.NewPath("m")))
		})
	}
}
