// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package standard

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestLimit_AllowsObjectsThatWereTooLargeBefore(t *testing.T) {
	of := func(size int) *vmv1alpha1.VirtualMachineClass {
		return &vmv1alpha1.VirtualMachineClass{Spec: vmv1alpha1.VirtualMachineClassSpec{Description: strings.Repeat("x", size)}}
	}
	for name, tc := range map[string]struct {
		old, now int
		refused  bool
	}{
		"small":             {0, bounds.MaxObject - 1000, false},
		"grows too large":   {1000, bounds.MaxObject, true},
		"stays too large":   {bounds.MaxObject + 5000, bounds.MaxObject + 5000, false},
		"becomes smaller":   {bounds.MaxObject + 5000, bounds.MaxObject + 1000, false},
		"grows even larger": {bounds.MaxObject + 5000, bounds.MaxObject + 5001, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := limitUpdate(t.Context(), of(tc.now), of(tc.old), nil)
			if apierrors.IsRequestEntityTooLargeError(err) != tc.refused {
				t.Errorf("error %v, want refused %t", err, tc.refused)
			}
		})
	}
}
