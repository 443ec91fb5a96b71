// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// A Go map with at most eight entries uses one group of slots; a larger one uses a table.
func TestGetAttrs_HasAtMostEightFields(t *testing.T) {
	vm := &vmv1alpha1.VirtualMachine{Status: vmv1alpha1.VirtualMachineStatus{
		InstancetypeRef: &vmv1alpha1.InstancetypeRef{Name: "small"}, PreferenceRef: &vmv1alpha1.PreferenceRef{Name: "linux"},
	}}
	_, set, err := getAttrs(vm)
	if err != nil || len(set) > 8 {
		t.Errorf("%d fields (error %v): %v, want at most 8", len(set), err, set)
	}
	vm.Status.InstancetypeRef.Outdated, vm.Status.PreferenceRef.Outdated = true, true
	if _, set, err = getAttrs(vm); err != nil || set[fieldInstancetypeOutdated] != "true" || set[fieldPreferenceOutdated] != "true" {
		t.Errorf("outdated VM (error %v): %v", err, set)
	}
}
