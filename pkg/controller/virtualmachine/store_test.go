// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
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

// A pass reads the instance more than once, and the informer may be behind all the time.
func TestCreatedObjectIsFoundUntilTheInformerHasIt(t *testing.T) {
	informers := externalversions.NewSharedInformerFactory(newAPI(t), 0)
	s := newStore[*vmv1alpha1.VirtualMachineInstance](informers.Vm().V1alpha1().VirtualMachineInstances().Informer(), true)
	vmi := &vmv1alpha1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "vm", ResourceVersion: "7"}}
	s.wrote(vmi)
	for i := range 3 {
		if got, err := s.get(testKey); err != nil || got != vmi {
			t.Fatalf("read %d found %v (%v), want what was created", i+1, got, err)
		}
	}
	s.deleted(vmi)
	if got, err := s.get(testKey); err != nil || got != nil {
		t.Errorf("found %v (%v), want nothing after the deletion", got, err)
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
