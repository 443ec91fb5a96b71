// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestValidateVirtualMachineSnapshot(t *testing.T) {
	quiesce := func(seconds int32) *vmv1alpha1.VirtualMachineSnapshotQuiesce {
		return &vmv1alpha1.VirtualMachineSnapshotQuiesce{TimeoutSeconds: seconds}
	}
	for name, tc := range map[string]struct {
		spec vmv1alpha1.VirtualMachineSnapshotSpec
		want string
	}{
		"minimal":                          {vmv1alpha1.VirtualMachineSnapshotSpec{VMName: "web"}, ""},
		"memory":                           {vmv1alpha1.VirtualMachineSnapshotSpec{VMName: "web", Memory: true}, ""},
		"quiesce with the default timeout": {vmv1alpha1.VirtualMachineSnapshotSpec{VMName: "web", Quiesce: quiesce(0)}, ""},
		"quiesce with the minimum timeout": {vmv1alpha1.VirtualMachineSnapshotSpec{VMName: "web", Quiesce: quiesce(300)}, ""},
		"quiesce with the maximum timeout": {vmv1alpha1.VirtualMachineSnapshotSpec{VMName: "web", Quiesce: quiesce(14400)}, ""},
		"no VM name":                       {vmv1alpha1.VirtualMachineSnapshotSpec{}, "spec.vmName: Required"},
		"an invalid VM name":               {vmv1alpha1.VirtualMachineSnapshotSpec{VMName: "A b"}, "spec.vmName: Invalid"},
		"a short timeout":                  {vmv1alpha1.VirtualMachineSnapshotSpec{VMName: "web", Quiesce: quiesce(299)}, "spec.quiesce.timeoutSeconds: Invalid"},
		"a long timeout":                   {vmv1alpha1.VirtualMachineSnapshotSpec{VMName: "web", Quiesce: quiesce(14401)}, "spec.quiesce.timeoutSeconds: Invalid"},
		"quiesce and memory":               {vmv1alpha1.VirtualMachineSnapshotSpec{VMName: "web", Memory: true, Quiesce: quiesce(0)}, "spec.quiesce: Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &vmv1alpha1.VirtualMachineSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "now", ResourceVersion: "1"}, Spec: tc.spec}
			errs := ValidateVirtualMachineSnapshot(s).ToAggregate()
			if (errs == nil) != (tc.want == "") || errs != nil && !strings.Contains(errs.Error(), tc.want) {
				t.Errorf("got errors %v, want %q", errs, tc.want)
			}
			changed := s.DeepCopy()
			changed.Spec.Description = "another"
			if errs := ValidateVirtualMachineSnapshotUpdate(changed, s).ToAggregate(); errs == nil || !strings.Contains(errs.Error(), "spec: Forbidden") {
				t.Errorf("errors of a change are %v, want spec: Forbidden", errs)
			}
		})
	}
}

// A revert restores disks that can be smaller than those in the current spec.
func TestValidateVirtualMachineUpdate_AllowsSmallerDisksInRevert(t *testing.T) {
	vm := func(size string, asks string) *vmv1alpha1.VirtualMachine {
		spec := inlineSpec(func(s *vmv1alpha1.VirtualMachineSpec) {
			s.CurrentSnapshotName, s.BootDisk = asks, &vmv1alpha1.VirtualMachineBootDisk{Capacity: quantity(size)}
		})
		return &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", ResourceVersion: "1"}, Spec: *spec}
	}
	if errs := ValidateVirtualMachineUpdate(vm("10Gi", ""), vm("20Gi", "")); len(errs) == 0 {
		t.Error("a smaller boot disk is accepted")
	}
	reverted := vm("20Gi", "before")
	if errs := ValidateVirtualMachineUpdate(vm("10Gi", ""), reverted); len(errs) > 0 {
		t.Errorf("the spec that a revert restores is rejected: %v", errs)
	}
	restored := vm("10Gi", "")
	restored.Spec.InstanceUUID = "11111111-2222-3333-4444-555555555555"
	if errs := ValidateVirtualMachineUpdate(restored, reverted); len(errs) == 0 {
		t.Error("a revert to the spec of another virtual machine is accepted")
	}
}
