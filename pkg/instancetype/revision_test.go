// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

func equalSpecs(a, b *vmv1alpha1.VirtualMachineSpec) bool { return cmp.Equal(a, b, quantities) }

func TestNewRevision_ContainsTheStrippedObject(t *testing.T) {
	for _, kind := range []instancetype.Kind{
		instancetype.KindInstancetype, instancetype.KindClusterInstancetype, instancetype.KindPreference, instancetype.KindClusterPreference,
	} {
		t.Run("F26 F36 F136 "+string(kind), func(t *testing.T) {
			_, _, spec := kinds(kind.Role())
			vm := vmOf(t, "{}")
			o := newFakeReader().add(t, kind, "u1.medium", "0444161e-0000-0000-0000-000000000001", 3, spec)
			o.Meta.Labels = map[string]string{"a": "b"}
			o.Meta.Annotations = map[string]string{"a": "b"}
			o.Meta.Finalizers = []string{"f/f"}
			o.Meta.OwnerReferences = []metav1.OwnerReference{{Name: "o"}}
			o.Meta.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
			o.Meta.ResourceVersion = "17"
			revision, err := instancetype.NewRevision(vm.Namespace, o)
			if err != nil {
				t.Fatal(err)
			}
			if want := "u1.medium-v1alpha1-0444161e-0000-0000-0000-000000000001-3"; revision.Name != want || revision.Namespace != "default" {
				t.Errorf("name %s/%s, want default/%s", revision.Namespace, revision.Name, want)
			}
			wantLabels := map[string]string{
				instancetype.LabelObjectName: "u1.medium", instancetype.LabelObjectKind: kind.TypeName(),
				instancetype.LabelObjectUID: "0444161e-0000-0000-0000-000000000001", instancetype.LabelObjectGeneration: "3",
				instancetype.LabelObjectVersion: "v1alpha1",
			}
			if diff := cmp.Diff(wantLabels, revision.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if revision.OwnerReferences != nil || revision.Revision != 3 {
				t.Errorf("owners %v, revision %d; want none and the generation", revision.OwnerReferences, revision.Revision)
			}
			got, err := instancetype.Decode(revision).Object(kind.Role())
			if err != nil {
				t.Fatal(err)
			}
			want := *o
			want.Meta = metav1.ObjectMeta{Name: o.Meta.Name, Namespace: o.Meta.Namespace, UID: o.Meta.UID, Generation: 3, ResourceVersion: "17"}
			if diff := cmp.Diff(&want, got, quantities); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRevisionName_ShortensLongNamesUniquely(t *testing.T) {
	w := newFakeReader()
	long := strings.Repeat("a", 240)
	names := map[string]bool{}
	for _, name := range []string{long + "x", long + "y", strings.Repeat("b-", 100) + "b", "short"} {
		for generation := int64(1); generation <= 2; generation++ {
			revision, err := instancetype.NewRevision("default", w.add(t, instancetype.KindInstancetype, name, "0444161e-0000-0000-0000-000000000001", generation, size(1)))
			if err != nil {
				t.Fatal(err)
			}
			if errs := validation.IsDNS1123Subdomain(revision.Name); errs != nil {
				t.Errorf("F50 name %s: %v", revision.Name, errs)
			}
			for key, value := range revision.Labels {
				if errs := validation.IsValidLabelValue(value); errs != nil {
					t.Errorf("F50 label %s=%s: %v", key, value, errs)
				}
			}
			names[revision.Name] = true
		}
	}
	if len(names) != 8 {
		t.Errorf("F50 8 objects got %d names", len(names))
	}
}

func TestEqualRevisions_ComparesOnlySpecs(t *testing.T) {
	w, vm := newFakeReader(), vmOf(t, "{}")
	revision := func(uid, spec string) *itv1alpha1.ControllerRevision {
		return w.store(t, vm, w.add(t, instancetype.KindInstancetype, "small", uid, 1, spec))
	}
	base := revision("a", "{cpu: {guest: 1}, memory: {guest: 1Gi}}")
	for _, tc := range []struct {
		name  string
		other *itv1alpha1.ControllerRevision
		want  bool
	}{
		{"F30 same spec of another UID", revision("b", "{cpu: {guest: 1}, memory: {guest: 1Gi}}"), true},
		{"F30 same quantity in another unit", revision("b", "{cpu: {guest: 1}, memory: {guest: 1024Mi}}"), true},
		{"F31 another spec", revision("b", "{cpu: {guest: 2}, memory: {guest: 1Gi}}"), false},
	} {
		if got, err := instancetype.EqualRevisions(base, tc.other); err != nil || got != tc.want {
			t.Errorf("%s: %t, %v; want %t", tc.name, got, err, tc.want)
		}
	}
}

func TestDecode_SupportsOlderFormats(t *testing.T) {
	spec := `{"cpu":{"guest":2},"memory":{"guest":"4Gi"}}`
	labels := map[string]string{
		"instancetype.kubevirt.io/object-kind": "VirtualMachineInstancetype", "instancetype.kubevirt.io/object-name": "small",
		"instancetype.kubevirt.io/object-uid": "uid", "instancetype.kubevirt.io/object-generation": "4",
	}
	for _, tc := range []struct {
		name, raw string
		labels    map[string]string
	}{
		{"F135 whole object of KubeVirt", `{"apiVersion":"instancetype.kubevirt.io/v1beta1","kind":"VirtualMachineInstancetype","metadata":{"name":"small","uid":"uid","generation":4},"spec":` + spec + `}`, nil},
		{"F135 spec only, in base64", `{"apiVersion":"instancetype.kubevirt.io/v1alpha1","spec":"` + base64.StdEncoding.EncodeToString([]byte(spec)) + `"}`, labels},
	} {
		t.Run(tc.name, func(t *testing.T) {
			revision := &itv1alpha1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "r", Labels: tc.labels}, Data: runtime.RawExtension{Raw: []byte(tc.raw)}}
			got, err := instancetype.Decode(revision).Object(it)
			if err != nil {
				t.Fatal(err)
			}
			if got.Kind != instancetype.KindInstancetype || got.Meta.Name != "small" || got.Meta.UID != "uid" || got.Meta.Generation != 4 || got.Instancetype.CPU.Guest != 2 {
				t.Errorf("got %+v of %+v", got.Meta, got.Instancetype)
			}
		})
	}
}

func TestDecode_RejectsUnknownContent(t *testing.T) {
	for _, tc := range []struct{ name, raw, want string }{
		{"F136 empty", ``, "empty"},
		{"F136 invalid JSON", `{`, "not an object"},
		{"F136 another group", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"},"spec":{}}`, `apiVersion "apps/v1"`},
		{"F136 another kind", `{"apiVersion":"instancetype.slipway.dev/v1alpha1","kind":"Foo","metadata":{"name":"x"},"spec":{}}`, `kind "Foo"`},
		{"F136 another role", `{"apiVersion":"instancetype.slipway.dev/v1alpha1","kind":"VirtualMachinePreference","metadata":{"name":"x"},"spec":{}}`, "cannot be used for spec.instancetype"},
		{"F136 no name", `{"apiVersion":"instancetype.slipway.dev/v1alpha1","kind":"VirtualMachineInstancetype","spec":{}}`, "metadata.name"},
		{"F136 a spec of another shape", `{"apiVersion":"instancetype.slipway.dev/v1alpha1","kind":"VirtualMachineInstancetype","metadata":{"name":"x"},"spec":[]}`, "spec cannot be read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := instancetype.Decode(&itv1alpha1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Data: runtime.RawExtension{Raw: json.RawMessage(tc.raw)}}).Object(it)
			if err == nil || !strings.Contains(err.Error(), tc.want) || instancetype.Reason(err) != vmv1alpha1.ReasonInvalid {
				t.Errorf("error %v with reason %s, want Invalid with %q", err, instancetype.Reason(err), tc.want)
			}
		})
	}
}
