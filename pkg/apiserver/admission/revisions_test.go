// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/revisions"
)

func TestRevisions_AreWrittenByPrivilegedUsersOnly(t *testing.T) {
	check := revisions.New(func(who user.Info) bool { return who.GetName() == "controllers" })
	revision, size := &itv1alpha1.ControllerRevision{}, &itv1alpha1.VirtualMachineInstancetype{}
	for name, tc := range map[string]struct {
		who     string
		object  runtime.Object
		allowed bool
	}{
		"the controllers":             {"controllers", revision, true},
		"an editor":                   {"alice", revision, false},
		"an editor and another kind":  {"alice", size, true},
		"a request without an object": {"alice", nil, true},
	} {
		request := admission.NewAttributesRecord(tc.object, nil, schema.GroupVersionKind{}, "n", "r",
			schema.GroupVersionResource{Resource: "controllerrevisions"}, "", admission.Create, nil, false, &user.DefaultInfo{Name: tc.who})
		err := check.Validate(t.Context(), request, nil)
		if (err == nil) != tc.allowed || err != nil && !apierrors.IsForbidden(err) {
			t.Errorf("%s: error %v, want allowed %v", name, err, tc.allowed)
		}
	}
	if !check.Handles(admission.Create) || !check.Handles(admission.Update) || check.Handles(admission.Delete) {
		t.Error("the check must handle create and update only, because deleting a namespace deletes its revisions")
	}
}
