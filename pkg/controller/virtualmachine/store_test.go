// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestTransformDropsManagedFieldsAndNothingElse(t *testing.T) {
	vm := fresh(func(vm *vmv1alpha1.VirtualMachine) {
		vm.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1("{}")}}
	})
	got, err := WithoutManagedFields(vm)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fresh(), got); diff != "" {
		t.Errorf("transformed virtual machine (-want +got):\n%s", diff)
	}
}

func TestTransformLeavesATombstoneAlone(t *testing.T) {
	want := cache.DeletedFinalStateUnknown{Key: "ns/vm", Obj: fresh()}
	got, err := WithoutManagedFields(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("transformed tombstone (-want +got):\n%s", diff)
	}
}
