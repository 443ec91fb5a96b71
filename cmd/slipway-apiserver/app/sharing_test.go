// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-dev/slipway/pkg/apis/vm"
)

// managed is a virtual machine with managed fields.
func managed(name, fields string) *vm.VirtualMachine {
	return &vm.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Name: name, ManagedFields: []metav1.ManagedFieldsEntry{
		{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "vm.slipway.dev/v1alpha1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)},
		{Manager: "nobody"},
	}}}
}

// stored returns obj as it is after a way through the store.
func stored(t *testing.T, codec runtime.Codec, obj *vm.VirtualMachine) *vm.VirtualMachine {
	t.Helper()
	data, err := runtime.Encode(codec, obj)
	if err != nil {
		t.Fatal(err)
	}
	got, err := runtime.Decode(codec, data)
	if err != nil {
		t.Fatal(err)
	}
	return got.(*vm.VirtualMachine)
}

func TestStoredObjectsShareEqualFieldSetsOnly(t *testing.T) {
	const same, other = `{"f:spec":{"f:powerState":{}}}`, `{"f:spec":{"f:image":{}}}`
	codec := newStorageCodec()
	a, b, c := stored(t, codec, managed("a", same)), stored(t, codec, managed("b", same)), stored(t, codec, managed("c", other))
	if a.ManagedFields[0].FieldsV1 != b.ManagedFields[0].FieldsV1 {
		t.Error("two objects hold a copy each of one field set")
	}
	for v, want := range map[*vm.VirtualMachine]*vm.VirtualMachine{a: managed("a", same), b: managed("b", same), c: managed("c", other)} {
		if diff := cmp.Diff(want.ObjectMeta, v.ObjectMeta); diff != "" {
			t.Errorf("%s is stored otherwise (-want +got):\n%s", want.Name, diff)
		}
	}
}

func TestKnownFieldSetsAreBounded(t *testing.T) {
	var s fieldSets
	for i := range 3 * maxSharedFieldSets {
		raw := fmt.Sprintf(`{"k:{\"uid\":\"%d\"}":{}}`, i)
		if got := s.shared(metav1.NewFieldsV1(raw)).GetRawString(); got != raw {
			t.Fatalf("shared(%s) = %s", raw, got)
		}
		if len(s.known) > maxSharedFieldSets {
			t.Fatalf("%d field sets are known, at most %d are allowed", len(s.known), maxSharedFieldSets)
		}
	}
}
