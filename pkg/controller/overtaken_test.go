// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestAPassThatWasOvertakenIsMadeAgain(t *testing.T) {
	images, other := schema.GroupResource{Resource: "images"}, errors.New("connection refused")
	for name, tc := range map[string]struct {
		err, fails error
		again      bool
	}{
		"it was written":       {},
		"somebody else wrote":  {err: fmt.Errorf("writing: %w", apierrors.NewConflict(images, "a", nil)), again: true},
		"the object is gone":   {err: fmt.Errorf("writing: %w", apierrors.NewNotFound(images, "a"))},
		"it could not be told": {err: other, fails: other},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := Overtaken(tc.err)
			if !errors.Is(err, tc.fails) || (result.RequeueAfter > 0) != tc.again {
				t.Errorf("%+v, %v; want another pass %t and error %v", result, err, tc.again, tc.fails)
			}
		})
	}
}
