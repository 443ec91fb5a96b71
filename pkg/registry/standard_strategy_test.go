// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineclass"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineinstance"
)

func instance(phase vmv1alpha1.VirtualMachinePhase, guestID string) *vmv1alpha1.VirtualMachineInstance {
	return &vmv1alpha1.VirtualMachineInstance{
		ObjectMeta: metav1.ObjectMeta{Name: "i", Generation: 4, Labels: map[string]string{"g": guestID}},
		Spec:       vmv1alpha1.VirtualMachineInstanceSpec{GuestID: guestID},
		Status:     vmv1alpha1.VirtualMachineInstanceStatus{Phase: phase},
	}
}

func TestStrategy_KeepsStatusAndIncrementsGeneration(t *testing.T) {
	s := standard.NewStrategy(scheme.Scheme, virtualmachineinstance.Kind())
	got := instance(vmv1alpha1.PhaseFailed, "new")
	s.PrepareForUpdate(t.Context(), got, instance(vmv1alpha1.PhaseRunning, "old"))
	want := instance(vmv1alpha1.PhaseRunning, "new")
	want.Generation = 5
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("to be stored (-want +got):\n%s", diff)
	}
	got = instance(vmv1alpha1.PhaseFailed, "same")
	s.PrepareForUpdate(t.Context(), got, instance(vmv1alpha1.PhaseRunning, "same"))
	if got.Generation != 4 {
		t.Errorf("generation = %d for an unchanged spec, want 4", got.Generation)
	}
}

func TestStatusStrategy_KeepsSpecAndMetadata(t *testing.T) {
	s := standard.StatusStrategy[*vmv1alpha1.VirtualMachineInstance]{Strategy: standard.NewStrategy(scheme.Scheme, virtualmachineinstance.Kind())}
	got := instance(vmv1alpha1.PhaseFailed, "new")
	s.PrepareForUpdate(t.Context(), got, instance(vmv1alpha1.PhaseRunning, "old"))
	if diff := cmp.Diff(instance(vmv1alpha1.PhaseFailed, "old"), got); diff != "" {
		t.Errorf("to be stored (-want +got):\n%s", diff)
	}
}

func TestStrategy_ClearsStatusOnCreate(t *testing.T) {
	got := instance(vmv1alpha1.PhaseRunning, "x")
	standard.NewStrategy(scheme.Scheme, virtualmachineinstance.Kind()).PrepareForCreate(t.Context(), got)
	want := instance("", "x")
	want.Generation = 1
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("to be stored (-want +got):\n%s", diff)
	}
}

func TestStrategy_ResetsNothingForAKindWithoutStatus(t *testing.T) {
	if got := standard.NewStrategy(scheme.Scheme, virtualmachineclass.Kind()).GetResetFields(); len(got) != 0 {
		t.Errorf("a kind without status resets %v", got)
	}
	got := standard.NewStrategy(scheme.Scheme, virtualmachineinstance.Kind()).GetResetFields()
	if set := got["vm.slipway.dev/v1alpha1"]; set == nil || !set.Has(fieldpath.MakePathOrDie("status")) {
		t.Errorf("a kind with status resets %v, want status", got)
	}
}
