// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// newContentLibrary returns a valid ContentLibrary, to which change is applied.
func newContentLibrary(change func(*vmv1alpha1.ContentLibrarySpec)) *vmv1alpha1.ContentLibrary {
	obj := &vmv1alpha1.ContentLibrary{
		ObjectMeta: metav1.ObjectMeta{Name: "golden", ResourceVersion: "1"},
		Spec: vmv1alpha1.ContentLibrarySpec{
			Library: "Golden Images", Include: []string{"*"}, Exclude: []string{"* (test)"}, NameTemplate: "{library}-{item}",
			Defaults: []vmv1alpha1.ContentLibraryDefault{{GuestID: "ubuntu*", Preference: "ubuntu"}},
		},
	}
	change(&obj.Spec)
	return obj
}

func TestValidateContentLibrary(t *testing.T) {
	type spec = vmv1alpha1.ContentLibrarySpec
	for name, tc := range map[string]struct {
		change func(*spec)
		want   []string
	}{
		"as it should be":                 {func(*spec) {}, nil},
		"of the name alone":               {func(s *spec) { *s = spec{Library: "a"} }, nil},
		"of no library":                   {func(s *spec) { s.Library = "" }, []string{"Required spec.library"}},
		"for a bad namespace":             {func(s *spec) { s.Namespace = "a.b" }, []string{"Invalid spec.namespace"}},
		"with empty patterns":             {func(s *spec) { s.Include, s.Exclude = []string{""}, []string{"a", ""} }, []string{"Required spec.include[0]", "Required spec.exclude[1]"}},
		"of one name for all":             {func(s *spec) { s.NameTemplate = "image" }, []string{"Invalid spec.nameTemplate"}},
		"of a template that fits no name": {func(s *spec) { s.NameTemplate = "{item}_" }, []string{"Invalid spec.nameTemplate"}},
		"of an unknown placeholder":       {func(s *spec) { s.NameTemplate = "{item}-{version}" }, []string{"Invalid spec.nameTemplate"}},
		"of defaults without anything":    {func(s *spec) { s.Defaults = []vmv1alpha1.ContentLibraryDefault{{}} }, []string{"Required spec.defaults[0].guestID", "Required spec.defaults[0]"}},
		"of defaults of bad names": {func(s *spec) {
			s.Defaults = []vmv1alpha1.ContentLibraryDefault{{GuestID: "a", Instancetype: "A", InstancetypeKind: "VirtualMachine", Preference: "B", PreferenceKind: "x"}}
		}, []string{
			"Invalid spec.defaults[0].instancetype", "Invalid spec.defaults[0].preference",
			"NotSupported spec.defaults[0].instancetypeKind", "NotSupported spec.defaults[0].preferenceKind",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, tc.want, ValidateContentLibrary(newContentLibrary(tc.change)))
		})
	}
	long := newContentLibrary(func(*spec) {})
	long.Name = strings.Repeat("a", 64)
	check(t, []string{"Invalid metadata.name"}, ValidateContentLibrary(long))
}

func TestValidateContentLibraryUpdate(t *testing.T) {
	type spec = vmv1alpha1.ContentLibrarySpec
	for name, tc := range map[string]struct {
		change func(*spec)
		want   []string
	}{
		"more items":        {func(s *spec) { s.Exclude = nil }, nil},
		"another library":   {func(s *spec) { s.Library = "other" }, []string{"Invalid spec.library"}},
		"another namespace": {func(s *spec) { s.Namespace = "a" }, []string{"Invalid spec.namespace"}},
		"other names":       {func(s *spec) { s.NameTemplate = "" }, []string{"Invalid spec.nameTemplate"}},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, tc.want, ValidateContentLibraryUpdate(newContentLibrary(tc.change), newContentLibrary(func(*spec) {})))
		})
	}
	old := newContentLibrary(func(s *spec) { s.Library = "" })
	check(t, nil, ValidateContentLibraryUpdate(old.DeepCopy(), old))
}
