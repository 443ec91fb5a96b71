// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestOnlyWhatNobodyCanHaveTriedIsUntried(t *testing.T) {
	alone := time.Date(2026, 5, 1, 12, 0, 10, 400_000_000, time.UTC)
	created := func(status metav1.ConditionStatus) func(*vmv1alpha1.VirtualMachine) {
		return func(vm *vmv1alpha1.VirtualMachine) {
			meta.SetStatusCondition(&vm.Status.Conditions, metav1.Condition{Type: vmv1alpha1.ConditionCreated, Status: status, Reason: "Creating"})
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*vmv1alpha1.VirtualMachine)
		alone  time.Time
		want   bool
	}{
		{name: "made later", alone: alone, want: true},
		{name: "made at the very moment", alone: alone.Truncate(time.Second).Add(time.Second), want: true},
		{name: "made in the same second: perhaps before", alone: alone,
			change: func(vm *vmv1alpha1.VirtualMachine) {
				vm.CreationTimestamp = metav1.NewTime(alone.Truncate(time.Second))
			}},
		{name: "made before", alone: alone,
			change: func(vm *vmv1alpha1.VirtualMachine) {
				vm.CreationTimestamp = metav1.NewTime(alone.Add(-time.Hour))
			}},
		{name: "without a time of creation", alone: alone,
			change: func(vm *vmv1alpha1.VirtualMachine) { vm.CreationTimestamp = metav1.Time{} }},
		{name: "others may be at work", alone: time.Time{}},
		{name: "being deleted", alone: alone,
			change: func(vm *vmv1alpha1.VirtualMachine) { now := metav1.NewTime(alone); vm.DeletionTimestamp = &now }},
		{name: "takes over a VM by its instance UUID", alone: alone,
			change: func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.InstanceUUID = "0e0b3f2e-0000-4000-8000-000000000001" }},
		{name: "takes over a VM by its provider ID", alone: alone,
			change: func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.ProviderID = "vsphere://x" }},
		{name: "was seen in vSphere", alone: alone,
			change: func(vm *vmv1alpha1.VirtualMachine) { vm.Status.UniqueID = "vm-1" }},
		{name: "was seen in vSphere by its instance UUID", alone: alone,
			change: func(vm *vmv1alpha1.VirtualMachine) { vm.Status.InstanceUUID = "0e0b3f2e-0000-4000-8000-000000000001" }},
		{name: "was created", alone: alone, change: created(metav1.ConditionTrue)},
		{name: "a create of this process failed", alone: alone, change: created(metav1.ConditionFalse), want: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vm := &vmv1alpha1.VirtualMachine{}
			vm.CreationTimestamp = metav1.NewTime(alone.Truncate(time.Second).Add(time.Second))
			if tc.change != nil {
				tc.change(vm)
			}
			if got := untried(vm, tc.alone); got != tc.want {
				t.Errorf("untried = %v, want %v", got, tc.want)
			}
		})
	}
}
