// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package finalizer

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestOnlyPrivilegedUsersRemoveTheFinalizer(t *testing.T) {
	a := New(func(who user.Info) bool { return who.GetName() == "operator" })
	machine := func(finalizers ...string) runtime.Object {
		return &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Finalizers: finalizers}}
	}
	const ours, other = vmv1alpha1.VirtualMachineFinalizer, "example.com/other"
	for name, tc := range map[string]struct {
		updated, stored runtime.Object
		refused         bool
	}{
		"removed":                {machine(), machine(ours), true},
		"replaced by another":    {machine(other), machine(ours), true},
		"kept":                   {machine(ours), machine(ours), false},
		"another one removed":    {machine(ours), machine(other, ours), false},
		"was not there":          {machine(), machine(other), false},
		"body of a subresource":  {&vmv1alpha1.PowerOptions{}, machine(ours), false},
		"object of another kind": {&vmv1alpha1.VirtualMachineClass{}, &vmv1alpha1.VirtualMachineClass{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			validate := func(who string) error {
				return a.Validate(t.Context(), admission.NewAttributesRecord(tc.updated, tc.stored, schema.GroupVersionKind{}, "ns", "vm",
					vmv1alpha1.SchemeGroupVersion.WithResource("virtualmachines"), "", admission.Update, nil, false, &user.DefaultInfo{Name: who}), nil)
			}
			if err := validate("operator"); err != nil {
				t.Errorf("as a privileged user: %v", err)
			}
			err := validate("alice")
			if tc.refused != apierrors.IsForbidden(err) || tc.refused && !strings.Contains(err.Error(), ours) {
				t.Errorf("as an ordinary user: %v, want Forbidden that names the finalizer: %t", err, tc.refused)
			}
		})
	}
}
