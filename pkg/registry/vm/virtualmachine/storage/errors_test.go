// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-dev/slipway/pkg/instancetype"
)

func TestStatusError_HasTheRightReason(t *testing.T) {
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, "x")
	const it = instancetype.RoleInstancetype
	for name, tc := range map[string]struct {
		err    error
		is     func(error) bool
		detail string
	}{
		"no matcher":                         {&instancetype.NoMatcherError{Role: it}, apierrors.IsInvalid, "spec.instancetype"},
		"source deleted":                     {&instancetype.SourceDeletedError{Role: it, Err: missing}, apierrors.IsInvalid, "spec.instancetype"},
		"spec must change first":             {&instancetype.RefreshRefusedError{Message: "clear it"}, apierrors.IsConflict, "clear it"},
		"kind of another role":               {&instancetype.KindError{Role: it, Kind: "Pod"}, apierrors.IsInvalid, "spec.instancetype.kind"},
		"revision cannot be used":            {&instancetype.RevisionError{Name: "r", Message: "broken"}, apierrors.IsConflict, "broken"},
		"nothing can be inferred":            {&instancetype.InferError{Role: it, Volume: "v", Err: errors.New("no label")}, apierrors.IsInvalid, "spec.instancetype.inferFromVolume"},
		"referenced object not found":        {&instancetype.RoleError{Role: it, Err: missing}, apierrors.IsInvalid, "spec.instancetype"},
		"class not found":                    {&instancetype.ClassError{Name: "x", Err: missing}, apierrors.IsConflict, `class: things "x"`},
		"management cluster unreachable":     {fmt.Errorf("reading: %w", apierrors.NewServiceUnavailable("away")), apierrors.IsServiceUnavailable, "reading: away"},
		"management cluster denies the read": {&instancetype.RoleError{Role: it, Err: apierrors.NewForbidden(schema.GroupResource{}, "r", nil)}, apierrors.IsForbidden, "finding the instance type"},
		"something else":                     {errors.New("bug"), apierrors.IsInternalError, "bug"},
	} {
		t.Run(name, func(t *testing.T) {
			got := statusError("v", tc.err)
			if _, ok := got.(apierrors.APIStatus); !ok { // the server does not unwrap errors
				t.Errorf("got a %T, which the server cannot send", got)
			}
			if !tc.is(got) || !strings.Contains(got.Error(), tc.detail) {
				t.Errorf("got error %v (%s), want one that contains %q", got, apierrors.ReasonForError(got), tc.detail)
			}
		})
	}
}
