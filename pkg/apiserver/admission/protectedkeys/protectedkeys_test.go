// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package protectedkeys

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestProtectedKey_ChecksThePrefix(t *testing.T) {
	for key, want := range map[string]bool{
		"vm.slipway.dev.protected/x":  true,
		"VM.slipway.dev.Protected/x":  true,
		"protected/x":                 true,
		"a.protected/":                true,
		"vm.slipway.dev/x.protected":  false,
		"vm.slipway.dev/protected":    false,
		"unprotected/x":               false,
		"protected.slipway.dev/x":     false,
		"no-prefix.protected":         false,
		"a.protected.slipway.dev/key": false,
	} {
		if got := vmv1alpha1.IsProtectedKey(key); got != want {
			t.Errorf("ProtectedKey(%q) = %v, want %v", key, got, want)
		}
	}
}

func TestChangedKeys_ReturnsProtectedKeys(t *testing.T) {
	const a, b, open = "x.protected/a", "x.protected/b", "x/open"
	for name, tc := range map[string]struct {
		stored, updated map[string]string
		want            []string
	}{
		"nothing":           {},
		"added and removed": {map[string]string{b: "1"}, map[string]string{a: "1"}, []string{a, b}},
		"changed":           {map[string]string{a: "1"}, map[string]string{a: "2"}, []string{a}},
		"added empty":       {nil, map[string]string{a: ""}, []string{a}},
		"unchanged":         {map[string]string{a: "1", open: "1"}, map[string]string{a: "1", open: "2"}, nil},
	} {
		if diff := cmp.Diff(tc.want, changedKeys(tc.stored, tc.updated, vmv1alpha1.IsProtectedKey)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestProtectedKeys_AllowOnlyPrivilegedUsers(t *testing.T) {
	marked := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"x.protected/a": "1"}}}
	for name, tc := range map[string]struct {
		who     user.Info
		object  runtime.Object
		allowed bool
	}{
		"ordinary user":         {&user.DefaultInfo{Name: "alice"}, marked, false},
		"no user":               {nil, marked, false},
		"named user":            {&user.DefaultInfo{Name: "operator"}, marked, true},
		"member of masters":     {&user.DefaultInfo{Name: "alice", Groups: []string{user.SystemPrivilegedGroup}}, marked, true},
		"no protected key":      {&user.DefaultInfo{Name: "alice"}, &vmv1alpha1.VirtualMachine{}, true},
		"object without keys":   {&user.DefaultInfo{Name: "alice"}, &vmv1alpha1.ExpandOptions{}, true},
		"request has no object": {&user.DefaultInfo{Name: "alice"}, nil, true},
	} {
		request := admission.NewAttributesRecord(tc.object, nil, schema.GroupVersionKind{}, "n", "v",
			schema.GroupVersionResource{Resource: "virtualmachines"}, "", admission.Create, nil, false, tc.who)
		err := New("operator").Validate(t.Context(), request, nil)
		if (err == nil) != tc.allowed || err != nil && !apierrors.IsForbidden(err) {
			t.Errorf("%s: error %v, want allowed %v", name, err, tc.allowed)
		}
	}
}

// Controllers create objects from templates that the author of a template could not create.
func TestProtectedKeys_AreCheckedInTemplates(t *testing.T) {
	const powerOn, remove, steers = vmv1alpha1.CheckPowerOnPrefix + "cmdb", vmv1alpha1.CheckDeletePrefix + "backup", "vm.slipway.dev.protected/recovered"
	of := map[string]func(annotations, labels map[string]string) runtime.Object{
		"VirtualMachineTemplate": func(annotations, labels map[string]string) runtime.Object {
			o := &vmv1alpha1.VirtualMachineTemplate{}
			o.Spec.Template.Metadata = vmv1alpha1.TemplateMetadata{Annotations: annotations, Labels: labels}
			return o
		},
		"MachineSet": func(annotations, labels map[string]string) runtime.Object {
			o := &clusterv1alpha1.MachineSet{}
			o.Spec.Template.Metadata = clusterv1alpha1.ObjectMeta{Annotations: annotations, Labels: labels}
			return o
		},
		"MachineDeployment": func(annotations, labels map[string]string) runtime.Object {
			o := &clusterv1alpha1.MachineDeployment{}
			o.Spec.Template.Metadata = clusterv1alpha1.ObjectMeta{Annotations: annotations, Labels: labels}
			return o
		},
	}
	for kind, make := range of {
		for name, tc := range map[string]struct {
			object, old runtime.Object
			refused     string
		}{
			"a protected annotation":               {make(map[string]string{steers: ""}, nil), nil, "spec.template.metadata.annotations[" + steers + "]"},
			"a protected label":                    {make(nil, map[string]string{steers: ""}), nil, "spec.template.metadata.labels[" + steers + "]"},
			"an annotation that prevents deletion": {make(map[string]string{remove: ""}, nil), make(nil, nil), "spec.template.metadata.annotations[" + remove + "]"},
			"unchanged":                            {make(map[string]string{steers: ""}, nil), make(map[string]string{steers: ""}, nil), ""},
			"an annotation that prevents power on": {make(map[string]string{powerOn: ""}, nil), make(nil, nil), ""},
			"other keys":                           {make(map[string]string{"a": ""}, map[string]string{"a": ""}), nil, ""},
		} {
			operation := admission.Create
			if tc.old != nil {
				operation = admission.Update
			}
			request := admission.NewAttributesRecord(tc.object, tc.old, schema.GroupVersionKind{}, "n", "v", schema.GroupVersionResource{}, "", operation, nil, false, &user.DefaultInfo{Name: "alice"})
			err := New("operator").Validate(t.Context(), request, nil)
			if tc.refused == "" && err != nil || tc.refused != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.refused)) {
				t.Errorf("%s, %s: error %v, want one that contains %q", kind, name, err, tc.refused)
			}
		}
	}
}

func TestProtectedKeys_IncludeAnnotationsThatPreventOperations(t *testing.T) {
	const powerOn, remove = vmv1alpha1.CheckPowerOnPrefix + "cmdb", vmv1alpha1.CheckDeletePrefix + "backup"
	with := func(key, value string) *vmv1alpha1.VirtualMachine {
		vm := &vmv1alpha1.VirtualMachine{}
		if key != "" {
			vm.Annotations = map[string]string{key: value}
		}
		return vm
	}
	for name, tc := range map[string]struct {
		object, old *vmv1alpha1.VirtualMachine
		allowed     bool
	}{
		"power on, with the object": {object: with(powerOn, "a"), allowed: true},
		"power on, later":           {object: with(powerOn, "a"), old: with("", "")},
		"power on, changed":         {object: with(powerOn, "b"), old: with(powerOn, "a")},
		"power on, removed":         {object: with("", ""), old: with(powerOn, "a")},
		"power on, unchanged":       {object: with(powerOn, "a"), old: with(powerOn, "a"), allowed: true},
		"deletion, with the object": {object: with(remove, "a")},
		"deletion, later":           {object: with(remove, "a"), old: with("", "")},
		"deletion, changed":         {object: with(remove, "b"), old: with(remove, "a")},
		"deletion, removed":         {object: with("", ""), old: with(remove, "a")},
		"deletion, unchanged":       {object: with(remove, "a"), old: with(remove, "a"), allowed: true},
		"a similar key":             {object: with("my"+remove, "a"), old: with("", ""), allowed: true},
	} {
		t.Run(name, func(t *testing.T) {
			operation, old := admission.Create, runtime.Object(nil)
			if tc.old != nil {
				operation, old = admission.Update, tc.old
			}
			for _, who := range []*user.DefaultInfo{{Name: "alice"}, {Name: "operator"}} {
				request := admission.NewAttributesRecord(tc.object, old, schema.GroupVersionKind{}, "n", "v",
					schema.GroupVersionResource{Resource: "virtualmachines"}, "", operation, nil, false, who)
				err := New("operator").Validate(t.Context(), request, nil)
				if want := tc.allowed || who.Name == "operator"; (err == nil) != want || err != nil && !apierrors.IsForbidden(err) {
					t.Errorf("%s: error %v, want allowed %t", who.Name, err, want)
				}
			}
		})
	}
}
