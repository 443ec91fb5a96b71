// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package revisions is the admission check for ControllerRevisions, which contain the instance type or preference
// that a virtual machine has pinned.
//
// Guarantee: only privileged users, including the server's own controllers, can create or change revisions. Otherwise
// a user could pin any size. Deletion needs only the usual permissions, because deleting a namespace deletes its
// revisions.
package revisions

import (
	"context"
	"errors"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
)

// Admission rejects revisions that ordinary users write.
type Admission struct {
	*admission.Handler
	privileged func(user.Info) bool
}

var _ admission.ValidationInterface = &Admission{}

// New returns the check. privileged reports whether a user may write revisions.
func New(privileged func(user.Info) bool) *Admission {
	return &Admission{Handler: admission.NewHandler(admission.Create, admission.Update), privileged: privileged}
}

// Validate rejects the request with a Forbidden error.
func (a *Admission) Validate(_ context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	if _, ok := request.GetObject().(*itv1alpha1.ControllerRevision); !ok || a.privileged(request.GetUserInfo()) {
		return nil
	}
	return admission.NewForbidden(request, errors.New("only the server, which pins instance types and preferences, and privileged users may write revisions"))
}
