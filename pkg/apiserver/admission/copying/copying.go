// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package copying is the admission check for what copies a virtual machine: another one
// that is cloned from it, a template of such ones, a request to publish it, and a snapshot of it.
//
// Guarantee: only who may update a virtual machine may have a copy of it made. A copy gives
// away all that is on its disks, which may be what a Secret held that the guest was told.
// Who may update it can have its guest told anything, and so learns what is there anyway;
// the right to create virtual machines beside it must not give more than that. A snapshot
// stops the guest for a moment and slows its disks down, besides.
package copying

import (
	"context"
	"fmt"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Admission refuses copies to who may not have them.
type Admission struct {
	*admission.Handler
	authorizer authorizer.Authorizer
}

var _ admission.ValidationInterface = &Admission{}

// New makes the check; a decides who may update a virtual machine.
func New(a authorizer.Authorizer) *Admission {
	return &Admission{Handler: admission.NewHandler(admission.Create, admission.Update), authorizer: a}
}

// Validate refuses the request with a Forbidden that names the field.
func (a *Admission) Validate(ctx context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	source, field := copied(request.GetObject())
	if source == "" {
		return nil
	}
	if before, _ := copied(request.GetOldObject()); before == source {
		return nil
	}
	decision, why, err := a.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: request.GetUserInfo(), Verb: "update", Namespace: request.GetNamespace(), Name: source,
		APIGroup: vmv1alpha1.GroupName, APIVersion: vmv1alpha1.SchemeGroupVersion.Version, Resource: "virtualmachines", ResourceRequest: true,
	})
	if err != nil && decision != authorizer.DecisionAllow {
		return admission.NewForbidden(request, fmt.Errorf("%s: it cannot be told whether %q may update VirtualMachine %q: %w", field, request.GetUserInfo().GetName(), source, err))
	}
	if decision == authorizer.DecisionAllow {
		return nil
	}
	if why != "" {
		why = ": " + why
	}
	return admission.NewForbidden(request, fmt.Errorf("%s: only who may update VirtualMachine %q may have a copy of it made%s", field, source, why))
}

// copied is the name of the virtual machine that obj asks for a copy of, and the field that
// does.
func copied(obj any) (source, field string) {
	switch o := obj.(type) {
	case *vmv1alpha1.VirtualMachine:
		if o != nil && o.Spec.Image != nil && o.Spec.Image.Kind == vmv1alpha1.MachineImageKind {
			return o.Spec.Image.Name, "spec.image"
		}
	case *vmv1alpha1.VirtualMachineTemplate:
		if o != nil {
			source, field = copied(&vmv1alpha1.VirtualMachine{Spec: o.Spec.Template.Spec})
			return source, "spec.template." + field
		}
	case *vmv1alpha1.VirtualMachinePublishRequest:
		if o != nil {
			return o.SourceName(), "spec.source"
		}
	case *vmv1alpha1.VirtualMachineSnapshot:
		if o != nil {
			return o.Spec.VMName, "spec.vmName"
		}
	}
	return "", ""
}
