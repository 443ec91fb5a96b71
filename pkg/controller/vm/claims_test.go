// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
)

// The watch of claims may be behind by what a host cluster takes to come back. Nobody would end
// the hold of a virtual machine that is gone, and its claim could never be deleted.
func TestAClaimThatWasJustHeldIsFreeWhenItsVirtualMachineIsGone(t *testing.T) {
	h := newHarness(t, fresh(func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.Volumes = []vmv1alpha1.VirtualMachineVolume{{
			Name: "data", PersistentVolumeClaim: &vmv1alpha1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}
	}), photon())
	facts := boundClaim()
	facts.claim.ResourceVersion = "1"
	if err := h.host.Tracker().Add(facts.claim.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if err := h.claims.indexed.Add(facts.claim); err != nil {
		t.Fatal(err)
	}
	if err := h.claims.volumes.Add(facts.volume); err != nil {
		t.Fatal(err)
	}
	// The fake gives no versions, by which the store tells what is newer.
	h.host.PrependReactor("patch", "persistentvolumeclaims", func(a clienttesting.Action) (bool, runtime.Object, error) {
		handled, obj, err := clienttesting.ObjectReaction(h.host.Tracker())(a)
		if claim, ok := obj.(*corev1.PersistentVolumeClaim); ok {
			claim.ResourceVersion += "0"
			err = h.host.Tracker().Update(corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), claim.DeepCopy(), claim.Namespace)
		}
		return handled, obj, err
	})
	stored := func() *corev1.PersistentVolumeClaim {
		t.Helper()
		claim, err := h.host.CoreV1().PersistentVolumeClaims("ns").Get(t.Context(), "data", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return claim
	}

	h.pass()
	if claim := stored(); !heldBy(claim, "uid-vm") || len(claim.Finalizers) != 1 {
		t.Fatalf("the claim has annotations %v and finalizers %v, want it held", claim.Annotations, claim.Finalizers)
	}
	h.api.markDeleted("vm")
	h.pass()
	if h.api.vm("vm") != nil {
		t.Error("the virtual machine is still there")
	}
	if claim := stored(); len(holders(claim)) != 0 || len(claim.Finalizers) != 0 {
		t.Errorf("the claim has annotations %v and finalizers %v, want it free", claim.Annotations, claim.Finalizers)
	}
}

func TestADeletionThatWaitsForTheClaimsOfTheClusterSaysSo(t *testing.T) {
	h := newHarness(t, running(func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.Volumes = []vmv1alpha1.VirtualMachineVolume{{
			Name: "data", PersistentVolumeClaim: &vmv1alpha1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}
	}))
	h.api.markDeleted("vm")
	h.claims.synced = []cache.InformerSynced{func() bool { return false }}
	if result := h.pass(); result.RequeueAfter != controller.Soon {
		t.Errorf("result %+v, want another look soon", result)
	}
	if got := h.condition(vmv1alpha1.ConditionVolumesReady); got != "Unknown/UnknownState" {
		t.Errorf("VolumesReady is %q, want that the claims are not read", got)
	}
	h.claims.synced = nil
	h.pass()
	if h.api.vm("vm") != nil {
		t.Error("the virtual machine is still there")
	}
}
