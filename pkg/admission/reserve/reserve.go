// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reserve is the admission check that keeps the last room of the store for
// updates and deletions, without which nobody could make room again.
//
// Guarantee: while room is scarce no user creates an object, and is told so with the
// status 507. What the server itself makes is let in: it carries out what was accepted
// before. Subresources and dry runs are no new objects.
package reserve

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Reason is the reason of the refusal. Kubernetes has none for the status 507.
const Reason metav1.StatusReason = "InsufficientStorage"

// Admission refuses new objects.
type Admission struct {
	*admission.Handler
	room func() error
}

var _ admission.ValidationInterface = &Admission{}

// New makes the check; room returns an error, which users read, while what is left is
// kept in reserve.
func New(room func() error) *Admission {
	return &Admission{Handler: admission.NewHandler(admission.Create), room: room}
}

// Validate refuses the request with a status 507.
func (a *Admission) Validate(_ context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	if request.GetSubresource() != "" || request.IsDryRun() || own(request.GetUserInfo()) {
		return nil
	}
	if err := a.room(); err != nil {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInsufficientStorage, Reason: Reason,
			Message: fmt.Sprintf("%s cannot be created: %v; delete objects, or ask an administrator", request.GetResource().GroupResource(), err),
			Details: &metav1.StatusDetails{Group: request.GetResource().Group, Kind: request.GetResource().Resource, Name: request.GetName()},
		}}
	}
	return nil
}

// own tells whether the server itself asks, which it does over its loopback connection.
func own(who user.Info) bool { return who != nil && who.GetName() == user.APIServerUser }
