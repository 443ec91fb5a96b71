// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestRefresh_RejectsAVMThatIsBeingDeleted(t *testing.T) {
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Name: "web", DeletionTimestamp: &metav1.Time{}}}
	if _, err := (&RefreshREST{}).refresh(t.Context(), vm); !apierrors.IsConflict(err) {
		t.Errorf("error %v, want a conflict", err)
	}
}

func TestRefresh_ComparesWithTheInstanceOfTheVM(t *testing.T) {
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "now"}}
	instance := func(owner *vmv1alpha1.VirtualMachine) *vmv1alpha1.VirtualMachineInstance {
		i := &vmv1alpha1.VirtualMachineInstance{}
		i.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, vmv1alpha1.Kind("VirtualMachine").WithVersion("v1alpha1"))}
		return i
	}
	earlier := vm.DeepCopy()
	earlier.UID = "before"
	own := instance(vm)
	if got := specOf(own, vm); got != &own.Spec {
		t.Errorf("own instance: %p, want its spec", got)
	}
	if got := specOf(instance(earlier), vm); got != nil {
		t.Errorf("instance of a previous VM with the name: %+v, want nil", got)
	}
	if got := specOf(nil, vm); got != nil {
		t.Errorf("without an instance: %+v, want nil", got)
	}
}
