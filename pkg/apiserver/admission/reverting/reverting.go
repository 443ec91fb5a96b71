// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reverting is the admission check for the spec of a VirtualMachine with a pending revert to a snapshot.
//
// Guarantee: while a revert is pending, ordinary users cannot change the spec, because the revert would overwrite the
// change. They can delete the object, or withdraw the revert by clearing spec.currentSnapshotName without any other
// change.
package reverting

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Admission rejects changes that a pending revert would overwrite.
type Admission struct {
	*admission.Handler
	privileged func(user.Info) bool
}

var _ admission.ValidationInterface = &Admission{}

// New returns the check. privileged reports whether a user may restore the spec.
func New(privileged func(user.Info) bool) *Admission {
	return &Admission{Handler: admission.NewHandler(admission.Update), privileged: privileged}
}

// Validate rejects the request with a Forbidden error that names the snapshot.
func (a *Admission) Validate(_ context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	updated, ok := request.GetObject().(*vmv1alpha1.VirtualMachine)
	stored, was := request.GetOldObject().(*vmv1alpha1.VirtualMachine)
	if !ok || !was || stored.Spec.CurrentSnapshotName == "" || a.privileged(request.GetUserInfo()) {
		return nil
	}
	withdraws := updated.Spec.CurrentSnapshotName == ""
	if !withdraws && !pending(stored) {
		return nil
	}
	rest := stored.Spec
	if withdraws {
		rest.CurrentSnapshotName = ""
	}
	if equality.Semantic.DeepEqual(rest, updated.Spec) {
		return nil
	}
	return admission.NewForbidden(request, fmt.Errorf("a revert to VirtualMachineSnapshot %q is pending and will restore the spec: "+
		"wait until spec.currentSnapshotName is empty, or clear it in a separate request", stored.Spec.CurrentSnapshotName))
}

// pending reports whether the revert may still happen. It is false if the condition shows that the snapshot does not
// exist, or that the spec must change before the VM can be reverted.
func pending(vm *vmv1alpha1.VirtualMachine) bool {
	c := conditions.Find(vm.Status.Conditions, vmv1alpha1.ConditionSnapshotSynced)
	return c == nil || c.Status != metav1.ConditionFalse || c.ObservedGeneration != vm.Generation ||
		c.Reason != vmv1alpha1.ReasonNotFound && c.Reason != vmv1alpha1.ReasonInvalid
}
