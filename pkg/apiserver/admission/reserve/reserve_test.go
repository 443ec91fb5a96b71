// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reserve

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

func TestS15WritesOfUsersAreRefusedInTheReserve(t *testing.T) {
	resource := schema.GroupVersionResource{Group: "vm.slipway.dev", Version: "v1alpha1", Resource: "virtualmachines"}
	scarce, full := errors.New("nearly full"), errors.New("full")
	leaving := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}, Finalizers: []string{"a/b"}}}
	for name, tc := range map[string]struct {
		user, subresource string
		operation         admission.Operation
		old               runtime.Object
		dryRun            bool
		create, update    error
		want              string
	}{
		"there is room":                        {user: "dev", operation: admission.Create},
		"a new object, little room is left":    {user: "dev", operation: admission.Create, create: scarce, want: "virtualmachines.vm.slipway.dev cannot be created: nearly full"},
		"an administrator":                     {user: "admin", operation: admission.Create, create: scarce, want: "created"},
		"the server itself":                    {user: user.APIServerUser, operation: admission.Create, create: full, update: full},
		"a power operation, little room left":  {user: "dev", operation: admission.Create, subresource: "start", create: scarce},
		"a power operation, none left":         {user: "dev", operation: admission.Create, subresource: "start", create: full, update: full, want: "changed: full"},
		"a dry run":                            {user: "dev", operation: admission.Create, dryRun: true, create: full, update: full},
		"a change, little room left":           {user: "dev", operation: admission.Update, old: &metav1.PartialObjectMetadata{}, create: scarce},
		"a change, none left":                  {user: "dev", operation: admission.Update, old: &metav1.PartialObjectMetadata{}, create: full, update: full, want: "virtualmachines.vm.slipway.dev cannot be changed: full"},
		"a finalizer of what is being deleted": {user: "dev", operation: admission.Update, old: leaving, create: full, update: full},
		"a status of the server itself":        {user: user.APIServerUser, operation: admission.Update, subresource: "status", old: &metav1.PartialObjectMetadata{}, update: full},
	} {
		t.Run(name, func(t *testing.T) {
			a := New(func() error { return tc.create }, func() error { return tc.update })
			err := a.Validate(t.Context(), admission.NewAttributesRecord(nil, tc.old, schema.GroupVersionKind{}, "ns", "web", resource,
				tc.subresource, tc.operation, nil, tc.dryRun, &user.DefaultInfo{Name: tc.user}), nil)
			if (err != nil) != (tc.want != "") {
				t.Fatalf("error %v, want %q", err, tc.want)
			}
			if status := apierrors.APIStatus(nil); err != nil && (!errors.As(err, &status) || status.Status().Code != 507 || status.Status().Reason != Reason ||
				!strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want a status 507 that says why", err)
			}
		})
	}
	if a := New(nil, nil); a.Handles(admission.Delete) || a.Handles(admission.Connect) || !a.Handles(admission.Create) || !a.Handles(admission.Update) {
		t.Error("deletions or connections are judged, or creations or updates are not")
	}
}
