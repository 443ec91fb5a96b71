// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestText_RejectsCharactersThatVSphereOrTerminalsChange(t *testing.T) {
	for name, tc := range map[string]struct {
		text        string
		line, lines bool
	}{
		"ASCII":                {"grid_a100-10c", true, true},
		"letters of the world": {"Müller 東京 עברית 🚢", true, true},
		"direction mark":       {"a\u200eb", true, true},
		"line feed":            {"a\nb", false, true},
		"tabulator":            {"a\tb", false, true},
		"carriage return":      {"a\rb", false, false},
		"NUL":                  {"a\x00b", false, false},
		"escape":               {"grid\u001bx", false, false},
		"delete":               {"a\u007fb", false, false},
		"C1":                   {"a\u009bb", false, false},
		"replacement":          {"a\ufffdb", false, false},
		"no character":         {"a\ufffeb", false, false},
		"line separator":       {"a\u2028b", false, false},
		"override":             {"a\u202eb", false, false},
		"isolate":              {"a\u2067b", false, false},
		"surrogate":            {"a\xed\xa0\x80b", false, false},
		"no UTF-8":             {"a\xffb", false, false},
	} {
		if got := bounds.Text(tc.text, false); (got == "") != tc.line {
			t.Errorf("%s in a line: got %q, want allowed = %t", name, got, tc.line)
		}
		if got := bounds.Text(tc.text, true); (got == "") != tc.lines {
			t.Errorf("%s in several lines: got %q, want allowed = %t", name, got, tc.lines)
		}
	}
	if got := bounds.Text("a\xffb", false); !strings.Contains(got, "byte 1") {
		t.Errorf("got %q, want the position of the invalid byte", got)
	}
}

func TestSpec_ErrorsDoNotContainPropertyValues(t *testing.T) {
	spec := &vmv1alpha1.VirtualMachineSpec{Bootstrap: &vmv1alpha1.VirtualMachineBootstrap{VAppConfig: &vmv1alpha1.VAppConfigBootstrap{
		Properties: map[string]string{"password": "hunter2\u001b", "key\u001b": "x", "long": strings.Repeat("hunter2", bounds.MaxProperty)},
	}}}
	errs := bounds.ValidateSpec(spec, field.NewPath("spec"))
	text := errs.ToAggregate().Error()
	if strings.Contains(text, "hunter2") || strings.ContainsRune(text, '\u001b') {
		t.Errorf("errors contain a value or a control character: %q", text)
	}
	if len(errs) != 3 || !strings.Contains(text, "spec.bootstrap.vAppConfig.properties[password]") {
		t.Errorf("got errors %q, want three, one of them for the key password", text)
	}
}

func TestCut_CountsRemovedErrors(t *testing.T) {
	var errs field.ErrorList
	for n := range 1000 {
		errs = append(errs, field.Required(field.NewPath("spec").Index(n), "must be given"))
	}
	got := bounds.TruncateErrors(errs)
	if len(got) != bounds.MaxErrors || got[bounds.MaxErrors-1].Detail != fmt.Sprintf("must be given (and %d more errors)", 1000-bounds.MaxErrors) {
		t.Errorf("got %d errors, the last one is %v", len(got), got[len(got)-1])
	}
	if errs[bounds.MaxErrors-1].Detail != "must be given" {
		t.Error("the caller's error was changed")
	}
	if diff := cmp.Diff(errs[:3], bounds.TruncateErrors(errs[:3])); diff != "" {
		t.Errorf("few errors (-want +got):\n%s", diff)
	}
}

func TestSpec_StopsAtMaxErrors(t *testing.T) {
	spec := &vmv1alpha1.VirtualMachineSpec{}
	for range 256 {
		spec.Volumes = append(spec.Volumes, vmv1alpha1.VirtualMachineVolume{Name: "\x00", Bus: "\x00"})
	}
	if got := bounds.ValidateSpec(spec, field.NewPath("spec")); len(got) != bounds.MaxErrors {
		t.Errorf("%d errors, want %d", len(got), bounds.MaxErrors)
	}
}

func TestMeta_AllowsAsManyEntriesAsBefore(t *testing.T) {
	many := &metav1.ObjectMeta{Labels: map[string]string{}, Annotations: map[string]string{}}
	for n := range 513 {
		name := fmt.Sprint(n)
		many.Labels[name], many.Annotations[name] = "", ""
		many.Finalizers = append(many.Finalizers, name)
		many.OwnerReferences = append(many.OwnerReferences, metav1.OwnerReference{})
	}
	var got []string
	for _, err := range bounds.ValidateMeta(many, nil, field.NewPath("metadata")) {
		got = append(got, err.Field+" "+string(err.Type))
	}
	want := []string{
		"metadata.labels FieldValueTooMany", "metadata.annotations FieldValueTooMany",
		"metadata.finalizers FieldValueTooMany", "metadata.ownerReferences FieldValueTooMany",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if errs := bounds.ValidateMeta(many, many, field.NewPath("metadata")); len(errs) > 0 {
		t.Errorf("an object that had as many entries before is rejected: %v", errs)
	}
}

func TestSpec_RejectsQuantitiesWithManyDigits(t *testing.T) {
	for text, refused := range map[string]bool{"1e999999999": true, "-1e999999999": true, strings.Repeat("9", 100_000): true, "1e30": false, "24Ti": false, "0.5": false} {
		amount := resource.MustParse(text)
		errs := bounds.ValidateSpec(&vmv1alpha1.VirtualMachineMemory{Guest: &amount}, field.NewPath("memory"))
		if (len(errs) == 1) != refused {
			t.Errorf("%.20s: got errors %v, want rejected = %t", text, errs, refused)
		}
	}
}

func TestClean_ReturnsValidText(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "Photon OS 5 – é": "Photon OS 5 – é", "a\x1b[2Jb\n\u202ec": "a[2Jbc", "a\xffb\ufffd": "ab",
		strings.Repeat("é", bounds.MaxText): strings.Repeat("é", bounds.MaxText/2), "1" + strings.Repeat("é", bounds.MaxText): "1" + strings.Repeat("é", bounds.MaxText/2-1),
	} {
		got := bounds.Clean(text)
		if got != want {
			t.Errorf("Clean(%.40q) = %.40q (%d bytes), want %.40q (%d bytes)", text, got, len(got), want, len(want))
		}
		if errs := bounds.ValidateSpec(got, field.NewPath("text")); len(errs) > 0 {
			t.Errorf("%.40q is rejected: %v", got, errs)
		}
	}
}
