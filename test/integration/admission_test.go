// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

// F121
func TestAdmission_RejectsContradictionsToReferencedObjects(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	source := createClusterInstancetype(t, c, "reserved", 2, "2Gi")
	source.Spec.CPU.DedicatedCPUPlacement = new(bool)
	*source.Spec.CPU.DedicatedCPUPlacement = true
	if _, err := c.InstancetypeV1alpha1().VirtualMachineClusterInstancetypes().Update(t.Context(), source, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	contradicting := typedVM("contradicting", "reserved")
	contradicting.Spec.CPU = &vmv1alpha1.VirtualMachineCPU{DedicatedCPUPlacement: source.Spec.CPU.DedicatedCPUPlacement}

	_, err := vms.Create(t.Context(), contradicting, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !anyBelow(causes(err), "spec.cpu.dedicatedCPUPlacement") {
		t.Errorf("creation: %v (fields %q), want Invalid that names spec.cpu.dedicatedCPUPlacement", err, causes(err))
	}

	vm := createVM(t, c, typedVM("agreeing", "reserved"))
	vm.Spec.CPU = contradicting.Spec.CPU
	if _, err = vms.Update(t.Context(), vm, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) || !anyBelow(causes(err), "spec.cpu.dedicatedCPUPlacement") {
		t.Errorf("update: %v (fields %q), want Invalid that names spec.cpu.dedicatedCPUPlacement", err, causes(err))
	}
}

// F56
func TestAdmission_AcceptsReferencesToMissingObjects(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	vm := typedVM("early", "not-there-yet")
	vm.Spec.Preference = &vmv1alpha1.PreferenceMatcher{Name: "nor-this"}
	vm.Spec.Image = &vmv1alpha1.VirtualMachineImageRef{Name: "nor-that"}
	createVM(t, c, vm)
}
