// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// matcherCases are preference matchers. Instance type matchers follow the same rules with their kinds.
var matcherCases = []struct {
	name    string
	matcher vmv1alpha1.PreferenceMatcher
	want    []string
}{
	{"F122 a name", vmv1alpha1.PreferenceMatcher{Name: "linux"}, nil},
	{"a name and the kind", vmv1alpha1.PreferenceMatcher{Name: "linux", Kind: "VirtualMachinePreference"}, nil},
	{"the kind in another letter case", vmv1alpha1.PreferenceMatcher{Name: "linux", Kind: "virtualMACHINEclusterpreference"}, nil},
	{"the kind in plural", vmv1alpha1.PreferenceMatcher{Name: "linux", Kind: "virtualmachinepreferences"}, nil},
	{"another kind", vmv1alpha1.PreferenceMatcher{Name: "linux", Kind: "Preference"}, []string{"NotSupported m.kind"}},
	{"F122 neither name nor volume", vmv1alpha1.PreferenceMatcher{Kind: "VirtualMachinePreference"}, []string{"Required m.name"}},
	{"a malformed name", vmv1alpha1.PreferenceMatcher{Name: "Linux!"}, []string{"Invalid m.name"}},
	{"F122 inferring from a volume", vmv1alpha1.PreferenceMatcher{InferFromVolume: "root"}, nil},
	{"inferring from the image", vmv1alpha1.PreferenceMatcher{InferFromVolume: "image"}, nil},
	{"inferring from an unknown volume", vmv1alpha1.PreferenceMatcher{InferFromVolume: "other"}, []string{"Invalid m.inferFromVolume"}},
	{"F122 inferring a given name", vmv1alpha1.PreferenceMatcher{InferFromVolume: "root", Name: "linux"}, []string{"Invalid m.name"}},
	{"F122 inferring a given kind", vmv1alpha1.PreferenceMatcher{InferFromVolume: "root", Kind: "VirtualMachinePreference"}, []string{"Invalid m.kind"}},
	{"F122 inferring a given name and kind", vmv1alpha1.PreferenceMatcher{InferFromVolume: "root", Name: "linux", Kind: "VirtualMachinePreference"}, []string{"Invalid m.name", "Invalid m.kind"}},
	{"an inferred name and kind with a pinned revision", vmv1alpha1.PreferenceMatcher{InferFromVolume: "root", Name: "linux", Kind: "VirtualMachinePreference", ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "r"}}, nil},
	{"a failure policy", vmv1alpha1.PreferenceMatcher{InferFromVolume: "root", InferFromVolumeFailurePolicy: ptr.To(vmv1alpha1.InferFromVolumeFailureIgnore)}, nil},
	{"F122 an unknown failure policy", vmv1alpha1.PreferenceMatcher{InferFromVolume: "root", InferFromVolumeFailurePolicy: ptr.To(vmv1alpha1.InferFromVolumeFailurePolicy("Panic"))}, []string{"NotSupported m.inferFromVolumeFailurePolicy"}},
	{"F122 an empty failure policy", vmv1alpha1.PreferenceMatcher{InferFromVolume: "root", InferFromVolumeFailurePolicy: ptr.To(vmv1alpha1.InferFromVolumeFailurePolicy(""))}, []string{"Required m.inferFromVolumeFailurePolicy"}},
	{"a pin without name", vmv1alpha1.PreferenceMatcher{Name: "linux", ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{}}, []string{"Required m.controllerRevisionRef.name"}},
	{"two pins that agree", vmv1alpha1.PreferenceMatcher{Name: "linux", RevisionName: "r", ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "r"}}, nil},
	{"two pins that disagree", vmv1alpha1.PreferenceMatcher{Name: "linux", RevisionName: "q", ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "r"}}, []string{"Invalid m.revisionName"}},
}

func TestValidateMatchers(t *testing.T) {
	volumes := []vmv1alpha1.VirtualMachineVolume{{Name: "root"}}
	path := field.NewPath("m")
	for _, tc := range matcherCases {
		t.Run("preference with "+tc.name, func(t *testing.T) {
			check(t, tc.want, validatePreferenceMatcher(&tc.matcher, volumes, path))
		})
		t.Run("instance type with "+tc.name, func(t *testing.T) {
			m := vmv1alpha1.InstancetypeMatcher(tc.matcher)
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
			check(t, want, validateInstancetypeMatcher(&vmv1alpha1.InstancetypeMatcher{Name: "small", Kind: kind}, nil, path))
		})
	}
}

// Instance type and preference matchers have the same fields.
func TestValidateMatcherUpdate(t *testing.T) {
	pinned := func(name, revision string) *vmv1alpha1.InstancetypeMatcher {
		return &vmv1alpha1.InstancetypeMatcher{Name: name, RevisionName: revision}
	}
	referring := func(name, revision string) *vmv1alpha1.InstancetypeMatcher {
		return &vmv1alpha1.InstancetypeMatcher{Name: name, ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: revision}}
	}
	for _, tc := range []struct {
		name     string
		old, new *vmv1alpha1.InstancetypeMatcher
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
			next, old := preferenceMatcher((*vmv1alpha1.PreferenceMatcher)(tc.new)), preferenceMatcher((*vmv1alpha1.PreferenceMatcher)(tc.old))
			check(t, tc.want, validateMatcherUpdate(next, old, field.NewPath("m")))
		})
	}
}
