// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// The provider must not keep state of an object that it did not delete. Otherwise its memory grows with every virtual
// machine.
func TestReconcile_ForgetsVMsThatTheProviderDidNotDelete(t *testing.T) {
	t.Run("kept in vSphere", func(t *testing.T) {
		h := newHarness(t, running(annotated(vmv1alpha1.AnnotationSkipDelete)))
		h.api.markDeleted("vm")
		h.mustReconcile()
		if diff := cmp.Diff([]types.NamespacedName{testKey}, h.provider.forgot); diff != "" || h.provider.deletes != 0 {
			t.Errorf("%d deletes, want none; forgotten (-want +got):\n%s", h.provider.deletes, diff)
		}
	})
	t.Run("does not exist", func(t *testing.T) {
		h := newHarness(t)
		h.mustReconcile()
		if diff := cmp.Diff([]types.NamespacedName{testKey}, h.provider.forgot); diff != "" {
			t.Errorf("forgotten (-want +got):\n%s", diff)
		}
	})
}
