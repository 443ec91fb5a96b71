// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// managed returns a virtual machine with managed fields.
func managed(name, fields string) *vmv1alpha1.VirtualMachine {
	return &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Finalizers: []string{"example.com/f"}, ManagedFields: []metav1.ManagedFieldsEntry{
		{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "vm.slipway.dev/v1alpha1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)},
		{Manager: "manager-a"}, {Manager: "manager-b"},
	}}, Status: vmv1alpha1.VirtualMachineStatus{Conditions: []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Waiting", Message: name},
		{Type: "Created", Status: metav1.ConditionTrue, Reason: "Succeeded"},
		{Type: "Synchronized", Status: metav1.ConditionUnknown},
	}}}
}

// stored returns obj after encoding and decoding.
func stored(t *testing.T, codec runtime.Codec, obj *vmv1alpha1.VirtualMachine) *vmv1alpha1.VirtualMachine {
	t.Helper()
	data, err := runtime.Encode(codec, obj)
	if err != nil {
		t.Fatal(err)
	}
	got, err := runtime.Decode(codec, data)
	if err != nil {
		t.Fatal(err)
	}
	return got.(*vmv1alpha1.VirtualMachine)
}

func TestSharingCodec_SharesEqualValues(t *testing.T) {
	const same, other = `{"f:spec":{"f:powerState":{}}}`, `{"f:spec":{"f:image":{}}}`
	codec := newStorageCodec()
	a, b, c := stored(t, codec, managed("a", same)), stored(t, codec, managed("b", same)), stored(t, codec, managed("c", other))
	if a.ManagedFields[0].FieldsV1 != b.ManagedFields[0].FieldsV1 {
		t.Error("equal field sets are not shared")
	}
	for v, want := range map[*vmv1alpha1.VirtualMachine]*vmv1alpha1.VirtualMachine{a: managed("a", same), b: managed("b", same), c: managed("c", other)} {
		want.Spec = v.Spec // decoding sets defaults
		if diff := cmp.Diff(want, v); diff != "" {
			t.Errorf("%s has changed (-want +got):\n%s", want.Name, diff)
		}
	}
	for what, pair := range map[string][2]string{
		"managers":   {a.ManagedFields[0].Manager, b.ManagedFields[0].Manager},
		"namespaces": {a.Namespace, b.Namespace},
		"finalizers": {a.Finalizers[0], b.Finalizers[0]},
		"reasons":    {a.Status.Conditions[0].Reason, b.Status.Conditions[0].Reason},
	} {
		if unsafe.StringData(pair[0]) != unsafe.StringData(pair[1]) {
			t.Errorf("equal %s are not shared", what)
		}
	}
	if room := cap(a.ManagedFields) + cap(a.Status.Conditions) - 6; room > 0 {
		t.Errorf("the slice has spare capacity for %d entries", room)
	}
}

// A list repeats the kind in each item if the objects contain it.
func TestSharingCodec_RemovesTheKind(t *testing.T) {
	codec := newStorageCodec()
	data, err := runtime.Encode(codec, managed("a", "{}"))
	if err != nil {
		t.Fatal(err)
	}
	var got vmv1alpha1.VirtualMachine
	if err := runtime.DecodeInto(codec, data, &got); err != nil {
		t.Fatal(err)
	}
	if got.TypeMeta != (metav1.TypeMeta{}) {
		t.Errorf("the object contains the kind %+v", got.TypeMeta)
	}
}

func TestSharingCodec_LimitsTheNumberOfFieldSets(t *testing.T) {
	var s fieldSets
	for i := range 3 * maxSharedFieldSets {
		raw := fmt.Sprintf(`{"k:{\"uid\":\"%d\"}":{}}`, i)
		if got := s.shared(metav1.NewFieldsV1(raw)).GetRawString(); got != raw {
			t.Fatalf("shared(%s) = %s", raw, got)
		}
		if len(s.known) > maxSharedFieldSets {
			t.Fatalf("%d field sets are stored, want at most %d", len(s.known), maxSharedFieldSets)
		}
	}
}

// If a user writes many different names into one object, each update creates a large set.
func TestSharingCodec_DoesNotStoreLargeFieldSets(t *testing.T) {
	var s fieldSets
	for i := range 100 {
		raw := fmt.Sprintf(`{"f:metadata":{"f:labels":{"f:%d-%s":{}}}}`, i, strings.Repeat("x", maxSharedFieldSet))
		if got := s.shared(metav1.NewFieldsV1(raw)).GetRawString(); got != raw {
			t.Fatalf("shared(%s) = %s", raw, got)
		}
	}
	if len(s.known) > 0 {
		t.Errorf("%d field sets of more than %d bytes are stored", len(s.known), maxSharedFieldSet)
	}
}
