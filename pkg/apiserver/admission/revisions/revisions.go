// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package revisions is the admission check for ControllerRevisions, which say what
// size a virtual machine captured.
//
// Guarantee: only privileged users, of whom the server's own controllers are one, may
// create or change them: who could write one could pin any size. Deletion is left to
// the rights of the caller, for whoever deletes a namespace deletes them with it.
package revisions

import (
	"context"
	"errors"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
)

// Admission refuses revisions that ordinary users write.
type Admission struct {
	*admission.Handler
	privileged func(user.Info) bool
}

var _ admission.ValidationInterface = &Admission{}

// New makes the check; privileged tells who may write revisions.
func New(privileged func(user.Info) bool) *Admission {
	return &Admission{Handler: admission.NewHandler(admission.Create, admission.Update), privileged: privileged}
}

// Validate refuses the request with a Forbidden.
func (a *Admission) Validate(_ context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	if _, ok := request.GetObject().(*itv1alpha1.ControllerRevision); !ok || a.privileged(request.GetUserInfo()) {
		return nil
	}
	return admission.NewForbidden(request, errors.New("revisions are written by the server when it captures an instance type or a preference, and by privileged users"))
}
