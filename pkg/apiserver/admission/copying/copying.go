// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package copying is the admission check for objects that copy a virtual machine: a VirtualMachine or template that
// clones it, a publish request, and a snapshot.
//
// Guarantee: only a user who may update a virtual machine may create a copy of it. A copy discloses everything on the
// VM's disks, including Secrets that the guest received. A user who may update the VM can read that anyway. The
// permission to create other virtual machines must not grant it. In addition, a snapshot pauses the guest briefly and
// slows its disks down.
package copying

import (
	"context"
	"fmt"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Admission rejects copies that the user is not allowed to create.
type Admission struct {
	*admission.Handler
	authorizer authorizer.Authorizer
}

var _ admission.ValidationInterface = &Admission{}

// New returns the check. a decides whether a user may update a virtual machine.
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
		return admission.NewForbidden(request, fmt.Errorf("%s: cannot determine whether %q may update VirtualMachine %q: %w", field, request.GetUserInfo().GetName(), source, err))
	}
	if decision == authorizer.DecisionAllow {
		return nil
	}
	if why != "" {
		why = ": " + why
	}
	return admission.NewForbidden(request, fmt.Errorf("%s: copying VirtualMachine %q requires permission to update it%s", field, source, why))
}

// copied returns the name of the virtual machine that obj copies and the field that names it.
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
