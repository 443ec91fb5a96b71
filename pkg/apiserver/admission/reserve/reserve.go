// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reserve is the admission check that keeps the last space of the store for deletions,
// without which no space could be freed.
//
// Guarantees:
//   - While space is scarce no object is created, and while there is none no user changes one. The
//     answer has the status 507. This includes what controllers create for users, such as Machines,
//     virtual machines and images.
//   - The server itself creates the instances and revisions of virtual machines that were admitted
//     before, and writes statuses, for longer than users can write. The last part of the space is
//     for deletions alone.
//   - Deletions are admitted, and changes of objects that are being deleted: most objects are
//     removed only after a finalizer was. Dry runs write nothing and are admitted.
package reserve

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Reason is the reason of the refusal. Kubernetes has none for the status 507.
const Reason metav1.StatusReason = "InsufficientStorage"

// Room are the limits of the space. Each returns an error, which clients read, while the rest of
// the space is kept from such writes.
type Room struct {
	// Create is for new objects, Update for changes by users, and Server for what the server itself
	// writes of objects that exist.
	Create, Update, Server func() error
}

// Admission refuses writes.
type Admission struct {
	*admission.Handler
	room Room
}

var _ admission.ValidationInterface = &Admission{}

// New returns the check.
func New(room Room) *Admission {
	return &Admission{Handler: admission.NewHandler(admission.Create, admission.Update), room: room}
}

// derived are the kinds that belong to a virtual machine which was admitted before.
var derived = []schema.GroupResource{vmv1alpha1.Resource("virtualmachineinstances"), itv1alpha1.Resource("controllerrevisions")}

// Validate refuses the request with a status 507.
func (a *Admission) Validate(_ context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	if request.IsDryRun() || leaving(request.GetOldObject()) {
		return nil
	}
	creates := request.GetOperation() == admission.Create && request.GetSubresource() == ""
	resource := request.GetResource().GroupResource()
	verb, room := "changed", a.room.Update
	if creates {
		verb, room = "created", a.room.Create
	}
	if own(request.GetUserInfo()) && (!creates || slices.Contains(derived, resource)) {
		room = a.room.Server
	}
	if err := room(); err != nil {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInsufficientStorage, Reason: Reason,
			Message: fmt.Sprintf("%s cannot be %s: %v; delete objects, or ask an administrator", resource, verb, err),
			Details: &metav1.StatusDetails{Group: resource.Group, Kind: resource.Resource, Name: request.GetName()},
		}}
	}
	return nil
}

// leaving reports whether an object is being deleted.
func leaving(old runtime.Object) bool {
	if old == nil {
		return false
	}
	m, err := meta.Accessor(old)
	return err == nil && m.GetDeletionTimestamp() != nil
}

// controllerUsers is the prefix of the users of controllers. Kubernetes keeps names that begin with
// system: from ordinary users.
const controllerUsers = "system:slipway:"

// ControllerUser returns the name of the user as which a controller writes that creates objects for users.
func ControllerUser(controller string) string { return controllerUsers + controller + "-controller" }

// own reports whether the server itself writes, also as one of its controllers.
func own(who user.Info) bool {
	return who != nil && (who.GetName() == user.APIServerUser ||
		strings.HasPrefix(who.GetName(), controllerUsers) && slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup))
}
