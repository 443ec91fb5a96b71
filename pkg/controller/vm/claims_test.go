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
	"github.com/slipway-dev/slipway/pkg/controller/vm/claims"
)

// boundClaim returns a claim of the vSphere CSI driver and its volume.
func boundClaim() (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data", UID: "claim-1", ResourceVersion: "1"}}
	c.Spec.VolumeName, c.Status.Phase = "pv-1", corev1.ClaimBound
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-1"}}
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "csi.vsphere.vmware.com", VolumeHandle: "8f163c98-2bef-4ea3-a7f9-acefb21e7398"}
	pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "ns", Name: "data", UID: "claim-1"}
	return c, pv
}

// The watch of claims may be outdated while the management cluster recovers. If the claim of a deleted virtual machine
// were not released, it could never be deleted.
func TestClaims_AreReleasedWithAnOutdatedCache(t *testing.T) {
	h := newHarness(t, fresh(func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.Volumes = []vmv1alpha1.VirtualMachineVolume{{
			Name: "data", PersistentVolumeClaim: &vmv1alpha1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}
	}), photon())
	bound, volume := boundClaim()
	if err := h.host.Tracker().Add(bound.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if err := h.volumes.ClaimsByHolder.Add(bound); err != nil {
		t.Fatal(err)
	}
	if err := h.volumes.PersistentVolumes.Add(volume); err != nil {
		t.Fatal(err)
	}
	// The fake clientset sets no versions, which the store needs to determine the newer object.
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

	h.mustReconcile()
	if claim := stored(); !claims.HeldBy(claim, "uid-vm") || len(claim.Finalizers) != 1 {
		t.Fatalf("the claim has annotations %v and finalizers %v, want it held", claim.Annotations, claim.Finalizers)
	}
	h.api.markDeleted("vm")
	h.mustReconcile()
	if h.api.vm("vm") != nil {
		t.Error("the virtual machine still exists")
	}
	if claim := stored(); len(claims.Holders(claim)) != 0 || len(claim.Finalizers) != 0 {
		t.Errorf("the claim has annotations %v and finalizers %v, want it released", claim.Annotations, claim.Finalizers)
	}
}

func TestDeletion_ReportsThatItWaitsForClaims(t *testing.T) {
	h := newHarness(t, running(func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.Volumes = []vmv1alpha1.VirtualMachineVolume{{
			Name: "data", PersistentVolumeClaim: &vmv1alpha1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}
	}))
	h.api.markDeleted("vm")
	h.volumes.Synced = []cache.InformerSynced{func() bool { return false }}
	if result := h.mustReconcile(); result.RequeueAfter != controller.Soon {
		t.Errorf("result %+v, want a requeue after a short delay", result)
	}
	if got := h.condition(vmv1alpha1.ConditionVolumesReady); got != "Unknown/UnknownState" {
		t.Errorf("VolumesReady is %q, want that the claims are not read yet", got)
	}
	h.volumes.Synced = nil
	h.mustReconcile()
	if h.api.vm("vm") != nil {
		t.Error("the virtual machine still exists")
	}
}
