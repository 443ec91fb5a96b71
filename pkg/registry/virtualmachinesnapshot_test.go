// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachinesnapshot"
)

// A manifest does not contain the finalizer. Without it, deleting the object would leave the snapshot in vSphere.
func TestSnapshot_KeepsItsFinalizerIfReplaced(t *testing.T) {
	s := standard.NewStrategy(scheme.Scheme, virtualmachinesnapshot.Kind())
	stored := func(finalizers ...string) *vmv1alpha1.VirtualMachineSnapshot {
		out := &vmv1alpha1.VirtualMachineSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "now", Finalizers: finalizers}}
		out.Spec.VMName = "web"
		return out
	}
	going := stored(vmv1alpha1.SnapshotFinalizer, "x/y")
	going.DeletionTimestamp = &metav1.Time{}
	for name, tc := range map[string]struct {
		stored *vmv1alpha1.VirtualMachineSnapshot
		want   []string
	}{
		"with the finalizer":    {stored(vmv1alpha1.SnapshotFinalizer, "x/y"), []string{vmv1alpha1.SnapshotFinalizer}},
		"without the finalizer": {stored("x/y"), nil},
		"during the deletion":   {going, nil},
	} {
		replaced := stored()
		s.PrepareForUpdate(t.Context(), replaced, tc.stored)
		if !slices.Equal(replaced.Finalizers, tc.want) {
			t.Errorf("%s: finalizers %v, want %v", name, replaced.Finalizers, tc.want)
		}
	}
}
