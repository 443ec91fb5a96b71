// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// unknownOwner is the field manager of a client without a field manager and user agent.
const unknownOwner = "unknown"

// updater changes one virtual machine in a transaction of the store.
type updater struct {
	store       *registry.Store
	owners      FieldOwners
	admission   admission.Interface
	subresource string
}

// mutate applies change to the stored virtual machine, and again after a conflict. Dry run may be requested in the
// body or in the query.
func (u updater) mutate(ctx context.Context, name string, change func(*vmv1alpha1.VirtualMachine) error, options *metav1.CreateOptions, bodyDryRun []string) (*vmv1alpha1.VirtualMachine, error) {
	transform := func(ctx context.Context, _, stored runtime.Object) (runtime.Object, error) {
		updated, ok := stored.DeepCopyObject().(*vmv1alpha1.VirtualMachine)
		if !ok {
			return nil, fmt.Errorf("changing a VirtualMachine: the store has a %T", stored)
		}
		if updated.ResourceVersion == "" {
			// The store passes an empty object if none exists.
			return nil, apierrors.NewNotFound(vmv1alpha1.Resource("virtualmachines"), name)
		}
		if err := change(updated); err != nil {
			return nil, err
		}
		if u.owners == nil {
			return updated, nil
		}
		return u.owners.Record(stored, updated, owner(ctx, options), u.subresource), nil
	}
	update := &metav1.UpdateOptions{
		DryRun:          dryRun(options, bodyDryRun),
		FieldManager:    options.FieldManager,
		FieldValidation: options.FieldValidation,
	}
	obj, _, err := u.store.Update(ctx, name, rest.DefaultUpdatedObjectInfo(nil, transform), rest.ValidateAllObjectFunc, u.admit(ctx, name, update), false, update)
	if err != nil {
		return nil, err
	}
	changed, ok := obj.(*vmv1alpha1.VirtualMachine)
	if !ok {
		return nil, fmt.Errorf("changing VirtualMachine %s: the store returned a %T", name, obj)
	}
	return changed, nil
}

// admit returns a function that admits the changed virtual machine as an update by the user. The caller has admitted
// only the request body.
func (u updater) admit(ctx context.Context, name string, options *metav1.UpdateOptions) rest.ValidateObjectUpdateFunc {
	if u.admission == nil {
		return rest.ValidateAllObjectUpdateFunc
	}
	who, _ := genericapirequest.UserFrom(ctx)
	attributes := admission.NewAttributesRecord(nil, nil, vmv1alpha1.SchemeGroupVersion.WithKind("VirtualMachine"),
		genericapirequest.NamespaceValue(ctx), name, vmv1alpha1.SchemeGroupVersion.WithResource("virtualmachines"), "",
		admission.Update, options, dryrun.IsDryRun(options.DryRun), who)
	return rest.AdmissionToValidateObjectUpdateFunc(admission.WithAudit(u.admission), attributes, admission.NewObjectInterfacesFromScheme(scheme.Scheme))
}

// dryRun returns the dry run options of the query or, if it has none, of the body.
func dryRun(options *metav1.CreateOptions, body []string) []string {
	if len(options.DryRun) > 0 {
		return options.DryRun
	}
	return body
}

// owner returns the field manager as the main endpoint does: the given field manager, or the first part of the user
// agent.
func owner(ctx context.Context, options *metav1.CreateOptions) string {
	if options.FieldManager != "" {
		return options.FieldManager
	}
	agent, _ := ctx.Value(userAgentKey{}).(string)
	if first, _, _ := strings.Cut(agent, "/"); first != "" {
		return first
	}
	return unknownOwner
}

type userAgentKey struct{}

// WithUserAgent returns a context with the user agent of a request for subresources.
func WithUserAgent(ctx context.Context, agent string) context.Context {
	return context.WithValue(ctx, userAgentKey{}, agent)
}
