// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// generationLatest is the value in ExpandOptions that selects the live objects and not the pinned revisions.
const generationLatest = "latest"

// ExpandREST returns the virtual machine with the values of its instance type and preference in the spec. It stores
// nothing.
type ExpandREST struct {
	store   *genericregistry.Store
	readers Readers
}

var (
	_ rest.Storage           = &ExpandREST{}
	_ rest.GetterWithOptions = &ExpandREST{}
)

// New returns an empty VirtualMachine.
func (*ExpandREST) New() runtime.Object { return &vmv1alpha1.VirtualMachine{} }

// Destroy does nothing, because the main endpoint owns the store.
func (*ExpandREST) Destroy() {}

// NewGetOptions returns the query parameters.
func (*ExpandREST) NewGetOptions() (runtime.Object, bool, string) {
	return &vmv1alpha1.ExpandOptions{}, false, ""
}

// Get returns the expanded virtual machine.
func (r *ExpandREST) Get(ctx context.Context, name string, options runtime.Object) (runtime.Object, error) {
	expand, ok := options.(*vmv1alpha1.ExpandOptions)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("expand-spec requires ExpandOptions, not a %T", options))
	}
	if errs := validation.ValidateExpandOptions(expand); len(errs) > 0 {
		return nil, apierrors.NewInvalid(vmv1alpha1.Kind("ExpandOptions"), name, errs)
	}
	obj, err := r.store.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	current, ok := obj.(*vmv1alpha1.VirtualMachine)
	if !ok {
		return nil, fmt.Errorf("expanding VirtualMachine %s: the store returned a %T", name, obj)
	}
	resolved, err := instancetype.Gather(ctx, current, r.readers).Resolve()
	if expand.Generation == generationLatest {
		resolved, err = instancetype.GatherForRefresh(ctx, current, r.readers).ResolveLatest()
	}
	if err != nil {
		return nil, statusError(name, err)
	}
	expanded, err := instancetype.Expand(current, resolved)
	if err != nil {
		return nil, statusError(name, err)
	}
	return expanded, nil
}
