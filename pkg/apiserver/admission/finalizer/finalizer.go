// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package finalizer is the admission check for the finalizer of a VirtualMachine.
//
// Guarantee: only privileged users, of whom the controllers are one, remove it. The
// object of a VM that is left running by anybody else's doing would be gone, and with
// it all that counts the VM, limits it and pays for it.
package finalizer

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Admission refuses the removal by ordinary users.
type Admission struct {
	*admission.Handler
	privileged func(user.Info) bool
}

var _ admission.ValidationInterface = &Admission{}

// New makes the check; privileged tells who may remove the finalizer.
func New(privileged func(user.Info) bool) *Admission {
	return &Admission{Handler: admission.NewHandler(admission.Update), privileged: privileged}
}

// Validate refuses the request with a Forbidden that names the finalizer.
func (a *Admission) Validate(_ context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	updated, ok := request.GetObject().(*vmv1alpha1.VirtualMachine)
	stored, was := request.GetOldObject().(*vmv1alpha1.VirtualMachine)
	if !ok || !was || a.privileged(request.GetUserInfo()) || !has(stored) || has(updated) {
		return nil
	}
	return admission.NewForbidden(request, fmt.Errorf("only privileged users may remove metadata.finalizers[%s]: "+
		"the server removes it when vSphere has the VM no more", vmv1alpha1.VirtualMachineFinalizer))
}

func has(v *vmv1alpha1.VirtualMachine) bool {
	return slices.Contains(v.Finalizers, vmv1alpha1.VirtualMachineFinalizer)
}
