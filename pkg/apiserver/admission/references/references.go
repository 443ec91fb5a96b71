// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package references is the admission check for what machines and clusters name: objects of any
// kind, which the server adopts, reads and deletes, or makes copies of, with its own rights.
//
// Guarantee: nobody has the server do to an object of the namespace what he may not do to it
// himself. What a machine or a cluster names is deleted with it, so that only who may update and
// delete an object may name it there. What a template of machines names is read, and what is made
// of it told, so that only who may read it may name it. What a health check names makes requests
// of a kind that nobody vouches for: only who may make such may name the template.
//
// The resource of a kind is named by a rule, the one by which custom resources of providers must be named, and
// nobody is asked for it. RBAC grants and never denies, so that a kind that breaks the rule is
// named by fewer than may, those alone with rights on all resources of its group, and never by more: for that
// another kind of the same group would have to have the name that the rule gives.
//
// Fields that stay as they are never refuse a request. The Secret with the bootstrap data is not
// asked for: as with virtual machines, who may make machines reaches the Secrets of the namespace.
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

// Admission refuses references to what the user has no right on.
type Admission struct {
	*admission.Handler
	authorizer authorizer.Authorizer
}

var _ admission.ValidationInterface = &Admission{}

// New makes the check; a decides what users may do.
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

// reference is a field that names an object of the namespace.
type reference struct {
	field string
	kind  schema.GroupKind
	name  string
	use   use
}

// use is what the server does with what is named.
type use int

const (
	// owns adopts it, and deletes it with who names it.
	owns use = iota
	// copies makes objects of it whose kind follows a contract.
	copies
	// requests makes objects of it of any kind.
	requests
)

// right is one that the user needs.
type right struct {
	verb string
	kind schema.GroupKind
	name string
}

// rights are those that the user needs to name it.
func (r reference) rights() []right {
	made := schema.GroupKind{Group: r.kind.Group, Kind: clusterv1alpha1.MadeKind(r.kind.Kind)}
	switch r.use {
	case owns:
		return []right{{"update", r.kind, r.name}, {"delete", r.kind, r.name}}
	case copies:
		return []right{{"get", r.kind, r.name}}
	default:
		return []right{{"get", r.kind, r.name}, {"create", made, ""}}
	}
}

// named are the references of obj.
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

// ask refuses unless the user has the right. The resource of a kind has the name that custom
// resources of providers must have (Cluster API, contracts of providers), and ours have.
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
		return admission.NewForbidden(request, fmt.Errorf("%s: it cannot be told whether %q may %s %s: %w", field, request.GetUserInfo().GetName(), r.verb, what, err))
	case why != "":
		why = ": " + why
	}
	return admission.NewForbidden(request, fmt.Errorf("%s: only who may %s %s may name it here%s", field, r.verb, what, why))
}
