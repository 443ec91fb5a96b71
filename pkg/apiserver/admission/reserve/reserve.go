// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reserve is the admission check that keeps the last room of the store for
// deletions, without which nobody could make room again.
//
// Guarantees:
//   - While room is scarce no user creates an object, and while there is none no user changes
//     one, and is told so with the status 507.
//   - Deletions are let in, and changes of what is being deleted: most objects go only when
//     somebody has taken a finalizer off. So is what the server itself writes, for it carries
//     out what was accepted before. Dry runs write nothing.
package reserve

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Reason is the reason of the refusal. Kubernetes has none for the status 507.
const Reason metav1.StatusReason = "InsufficientStorage"

// Admission refuses writes.
type Admission struct {
	*admission.Handler
	create, update func() error
}

var _ admission.ValidationInterface = &Admission{}

// New makes the check; create and update return an error, which users read, while what is
// left is kept from new objects and from changes.
func New(create, update func() error) *Admission {
	return &Admission{Handler: admission.NewHandler(admission.Create, admission.Update), create: create, update: update}
}

// Validate refuses the request with a status 507.
func (a *Admission) Validate(_ context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	if request.IsDryRun() || own(request.GetUserInfo()) || leaving(request.GetOldObject()) {
		return nil
	}
	verb, room := "changed", a.update
	if request.GetOperation() == admission.Create && request.GetSubresource() == "" {
		verb, room = "created", a.create
	}
	if err := room(); err != nil {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInsufficientStorage, Reason: Reason,
			Message: fmt.Sprintf("%s cannot be %s: %v; delete objects, or ask an administrator", request.GetResource().GroupResource(), verb, err),
			Details: &metav1.StatusDetails{Group: request.GetResource().Group, Kind: request.GetResource().Resource, Name: request.GetName()},
		}}
	}
	return nil
}

// leaving tells whether an object is being deleted.
func leaving(old runtime.Object) bool {
	if old == nil {
		return false
	}
	m, err := meta.Accessor(old)
	return err == nil && m.GetDeletionTimestamp() != nil
}

// own tells whether the server itself asks, which it does over its loopback connection.
func own(who user.Info) bool { return who != nil && who.GetName() == user.APIServerUser }
