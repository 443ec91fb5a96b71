// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reserve is the admission check that reserves the last space of the store for deletions, because space
// cannot be freed without them.
//
// Guarantees:
//   - When space is scarce, no object can be created. When it is almost used up, users cannot change objects. The
//     response has status 507. This includes objects that controllers create for users, such as Machines, virtual
//     machines and images.
//   - The server can still create the instances and revisions of existing virtual machines and write statuses
//     after users can no longer write. The last part of the space is reserved for deletions.
//   - Deletions and changes of objects that are being deleted are admitted, because most objects have a finalizer
//     that must be removed first. Dry runs write nothing and are admitted.
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

// Reason is the reason of the rejection. Kubernetes defines none for status 507.
const Reason metav1.StatusReason = "InsufficientStorage"

// Room contains the space checks for kinds of writes. Each returns an error for clients if the remaining space is
// reserved.
type Room struct {
	// Create is for new objects, Update for changes by users, and Server for the server's own writes of existing
	// objects.
	Create, Update, Server func() error
}

// Admission rejects writes.
type Admission struct {
	*admission.Handler
	room Room
}

var _ admission.ValidationInterface = &Admission{}

// New returns the check.
func New(room Room) *Admission {
	return &Admission{Handler: admission.NewHandler(admission.Create, admission.Update), room: room}
}

// derived are the kinds that belong to an existing virtual machine.
var derived = []schema.GroupResource{vmv1alpha1.Resource("virtualmachineinstances"), itv1alpha1.Resource("controllerrevisions")}

// Validate rejects the request with status 507.
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
			Message: fmt.Sprintf("%s cannot be %s: %v; delete objects or contact an administrator", resource, verb, err),
			Details: &metav1.StatusDetails{Group: resource.Group, Kind: resource.Resource, Name: request.GetName()},
		}}
	}
	return nil
}

// leaving reports whether old is being deleted.
func leaving(old runtime.Object) bool {
	if old == nil {
		return false
	}
	m, err := meta.Accessor(old)
	return err == nil && m.GetDeletionTimestamp() != nil
}

// controllerUsers is the prefix of the user names of controllers. Kubernetes does not allow ordinary users names with
// the prefix "system:".
const controllerUsers = "system:slipway:"

// ControllerUser returns the name of the user as which a controller creates objects for users.
func ControllerUser(controller string) string { return controllerUsers + controller + "-controller" }

// own reports whether the user is the server itself or one of its controllers.
func own(who user.Info) bool {
	return who != nil && (who.GetName() == user.APIServerUser ||
		strings.HasPrefix(who.GetName(), controllerUsers) && slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup))
}
