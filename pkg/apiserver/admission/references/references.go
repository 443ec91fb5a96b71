// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package references is the admission check for references of machines and clusters to objects of any kind. The
// server adopts, reads, deletes or copies these objects with its own permissions.
//
// Guarantee: a user cannot make the server do something with an object that the user may not do directly.
//   - An object that a machine or cluster references is deleted with it. The user must be allowed to update and delete it.
//   - An object that a machine template references is read, and copies of it disclose its content. The user must be
//     allowed to get it.
//   - A template that a health check references creates remediation requests of an arbitrary kind. The user must be
//     allowed to get the template and to create such requests.
//
// The resource name of a kind is derived by the rule that custom resources of providers must follow; no API is
// queried. RBAC only grants permissions. If a kind breaks the rule, its references therefore need permission for all
// resources of its group. The check could only be too permissive if another kind of the group had the derived name.
//
// Unchanged fields are not checked. The Secret with bootstrap data is not checked either: as with virtual machines, a
// user who may create machines can access the Secrets of the namespace.
package references

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// Admission rejects references to objects for which the user lacks permissions.
type Admission struct {
	*admission.Handler
	authorizer authorizer.Authorizer
}

var _ admission.ValidationInterface = &Admission{}

// New returns the check. a decides what users may do.
func New(a authorizer.Authorizer) *Admission {
	return &Admission{Handler: admission.NewHandler(admission.Create, admission.Update), authorizer: a}
}

// Validate refuses the request with a Forbidden that names the field.
func (a *Admission) Validate(ctx context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	before := map[string]reference{}
	for _, r := range named(request.GetOldObject()) {
		before[r.field] = r
	}
	for _, r := range named(request.GetObject()) {
		if r.kind.Kind == "" || before[r.field] == r {
			continue
		}
		for _, right := range r.rights() {
			if err := a.ask(ctx, request, r.field, right); err != nil {
				return err
			}
		}
	}
	return nil
}

// reference is a field that references an object in the same namespace.
type reference struct {
	field string
	kind  schema.GroupKind
	name  string
	use   use
}

// use is how the server uses a referenced object.
type use int

const (
	// owns: the server adopts the object and deletes it with its owner.
	owns use = iota
	// copies: the server creates copies of the object, of a kind that follows a Cluster API contract.
	copies
	// requests: the server creates objects of any kind from the object.
	requests
)

// right is a permission that the user needs.
type right struct {
	verb string
	kind schema.GroupKind
	name string
}

// rights returns the permissions that a user needs to set the reference.
func (r reference) rights() []right {
	made := schema.GroupKind{Group: r.kind.Group, Kind: clusterv1alpha1.KindFromTemplate(r.kind.Kind)}
	switch r.use {
	case owns:
		return []right{{"update", r.kind, r.name}, {"delete", r.kind, r.name}}
	case copies:
		return []right{{"get", r.kind, r.name}}
	default:
		return []right{{"get", r.kind, r.name}, {"create", made, ""}}
	}
}

// named returns the references of obj.
func named(obj runtime.Object) []reference {
	switch o := obj.(type) {
	case *clusterv1alpha1.Machine:
		return ofMachine(&o.Spec, "spec", owns)
	case *clusterv1alpha1.MachineSet:
		return ofMachine(&o.Spec.Template.Spec, "spec.template.spec", copies)
	case *clusterv1alpha1.MachineDeployment:
		return ofMachine(&o.Spec.Template.Spec, "spec.template.spec", copies)
	case *clusterv1alpha1.Cluster:
		return []reference{
			{"spec.infrastructureRef", o.Spec.InfrastructureRef.GroupKind(), o.Spec.InfrastructureRef.Name, owns},
			{"spec.controlPlaneRef", o.Spec.ControlPlaneRef.GroupKind(), o.Spec.ControlPlaneRef.Name, owns},
		}
	case *clusterv1alpha1.MachineHealthCheck:
		ref := o.Spec.Remediation.TemplateRef
		return []reference{{"spec.remediation.templateRef", schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind(), ref.Name, requests}}
	}
	return nil
}

func ofMachine(spec *clusterv1alpha1.MachineSpec, path string, use use) []reference {
	return []reference{
		{path + ".infrastructureRef", spec.InfrastructureRef.GroupKind(), spec.InfrastructureRef.Name, use},
		{path + ".bootstrap.configRef", spec.Bootstrap.ConfigRef.GroupKind(), spec.Bootstrap.ConfigRef.Name, use},
	}
}

// ask returns an error if the user does not have the permission. The resource name is derived from the kind as the
// contract of Cluster API providers requires; Slipway's kinds follow the same rule.
func (a *Admission) ask(ctx context.Context, request admission.Attributes, field string, r right) error {
	resource, _ := meta.UnsafeGuessKindToResource(r.kind.WithVersion(runtime.APIVersionInternal))
	decision, why, err := a.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: request.GetUserInfo(), Verb: r.verb, Namespace: request.GetNamespace(), Name: r.name,
		APIGroup: r.kind.Group, APIVersion: "*", Resource: resource.Resource, ResourceRequest: true,
	})
	what := strings.TrimSpace(fmt.Sprintf("%s %s", resource.GroupResource(), r.name))
	switch {
	case decision == authorizer.DecisionAllow:
		return nil
	case err != nil:
		return admission.NewForbidden(request, fmt.Errorf("%s: cannot determine whether %q may %s %s: %w", field, request.GetUserInfo().GetName(), r.verb, what, err))
	case why != "":
		why = ": " + why
	}
	return admission.NewForbidden(request, fmt.Errorf("%s: this reference requires permission to %s %s%s", field, r.verb, what, why))
}
