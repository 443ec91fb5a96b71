// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reserve

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

func TestS15NewObjectsOfUsersAreRefusedInTheReserve(t *testing.T) {
	resource := schema.GroupVersionResource{Group: "vm.slipway.dev", Version: "v1alpha1", Resource: "virtualmachines"}
	for name, tc := range map[string]struct {
		user, subresource string
		dryRun            bool
		room              error
		refused           bool
	}{
		"there is room":     {user: "dev"},
		"none is left":      {user: "dev", room: errors.New("nearly full"), refused: true},
		"an administrator":  {user: "admin", room: errors.New("nearly full"), refused: true},
		"the server itself": {user: user.APIServerUser, room: errors.New("nearly full")},
		"a power operation": {user: "dev", subresource: "start", room: errors.New("nearly full")},
		"a dry run":         {user: "dev", dryRun: true, room: errors.New("nearly full")},
	} {
		t.Run(name, func(t *testing.T) {
			a := New(func() error { return tc.room })
			err := a.Validate(t.Context(), admission.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, "ns", "web", resource,
				tc.subresource, admission.Create, nil, tc.dryRun, &user.DefaultInfo{Name: tc.user}), nil)
			if (err != nil) != tc.refused {
				t.Fatalf("error %v, want refused %v", err, tc.refused)
			}
			if status := apierrors.APIStatus(nil); tc.refused && (!errors.As(err, &status) || status.Status().Code != 507 || status.Status().Reason != Reason ||
				!strings.Contains(err.Error(), "virtualmachines.vm.slipway.dev cannot be created: nearly full")) {
				t.Errorf("error %v, want a status 507 that says why", err)
			}
		})
	}
	if a := New(nil); a.Handles(admission.Update) || a.Handles(admission.Delete) || a.Handles(admission.Connect) || !a.Handles(admission.Create) {
		t.Error("something else than creation is judged")
	}
}
