// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// The start request is kept until the VM runs. A later shutdown must not be undone by it.
func TestStartRequest_IsRemovedWhenItIsDone(t *testing.T) {
	const on, off = vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOff
	for name, tc := range map[string]struct {
		desired, observed vmv1alpha1.PowerState
		kept              bool
	}{
		"powered off":                {on, off, true},
		"suspended":                  {on, vmv1alpha1.Suspended, true},
		"powered on":                 {on, on, false},
		"power off requested":        {off, off, false},
		"powered off, off requested": {off, on, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, running(power(tc.desired, tc.observed), func(vm *vmv1alpha1.VirtualMachine) {
				vm.Annotations = map[string]string{vmv1alpha1.AnnotationStartRequested: "2026-01-01T00:00:00Z", "other": "stays"}
			}))
			h.mustReconcile()
			if _, kept := h.vm().Annotations[vmv1alpha1.AnnotationStartRequested]; kept != tc.kept || h.vm().Annotations["other"] != "stays" {
				t.Errorf("annotations %v, want the request kept: %t", h.vm().Annotations, tc.kept)
			}
		})
	}
}
