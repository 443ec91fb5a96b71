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

func TestRequeueOnConflict_RequeuesAfterConflicts(t *testing.T) {
	images, other := schema.GroupResource{Resource: "images"}, errors.New("connection refused")
	for name, tc := range map[string]struct {
		err, wantErr error
		requeue      bool
	}{
		"written":     {},
		"conflict":    {err: fmt.Errorf("writing: %w", apierrors.NewConflict(images, "a", nil)), requeue: true},
		"not found":   {err: fmt.Errorf("writing: %w", apierrors.NewNotFound(images, "a"))},
		"other error": {err: other, wantErr: other},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := RequeueOnConflict(tc.err)
			if !errors.Is(err, tc.wantErr) || (result.RequeueAfter > 0) != tc.requeue {
				t.Errorf("got %+v, %v; want requeue %t and error %v", result, err, tc.requeue, tc.wantErr)
			}
		})
	}
}
