// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

// fieldOwners are the field sets by manager and subresource.
func fieldOwners(vm *vmv1alpha1.VirtualMachine) map[string]string {
	owners := map[string]string{}
	for _, entry := range vm.ManagedFields {
		owners[entry.Manager+"/"+entry.Subresource] = entry.FieldsV1.GetRawString()
	}
	return owners
}

// The controllers write objects whose managed fields their caches have dropped.
func TestUpdate_WithoutManagedFieldsKeepsThoseOfOthers(t *testing.T) {
	c := framework.StartStandalone(t).Client(t).VmV1alpha1().VirtualMachines(namespace)
	created, err := c.Create(t.Context(), inlineVM("kept"), metav1.CreateOptions{FieldManager: "author"})
	if err != nil {
		t.Fatal(err)
	}
	want := fieldOwners(created)
	if want["author/"] == "" {
		t.Fatalf("managed fields %v, want some of the author", want)
	}

	cached, err := controller.StripManagedFields(created.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	next := cached.(*vmv1alpha1.VirtualMachine)
	next.Labels = map[string]string{"by": "controller"}
	updated, err := c.Update(t.Context(), next, metav1.UpdateOptions{FieldManager: "controller"})
	if err != nil {
		t.Fatal(err)
	}
	want["controller/"] = `{"f:metadata":{"f:labels":{".":{},"f:by":{}}}}`
	if diff := cmp.Diff(want, fieldOwners(updated)); diff != "" {
		t.Errorf("managed fields after an update without them (-want +got):\n%s", diff)
	}

	updated.ManagedFields = nil
	updated.Status.Phase = vmv1alpha1.PhasePending
	updated, err = c.UpdateStatus(t.Context(), updated, metav1.UpdateOptions{FieldManager: "controller"})
	if err != nil {
		t.Fatal(err)
	}
	want["controller/status"] = `{"f:status":{"f:phase":{}}}`
	if diff := cmp.Diff(want, fieldOwners(updated)); diff != "" {
		t.Errorf("managed fields after an update of the status without them (-want +got):\n%s", diff)
	}
}
