// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// Create stores a new virtual machine unless it contradicts its instance type, preference, class or image.
func (r *REST) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	return r.REST.Create(ctx, obj, r.admitCreate(validate), options)
}

// Update stores a changed virtual machine unless the change contradicts the objects that it refers to.
func (r *REST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return r.REST.Update(ctx, name, info, r.admitCreate(create), r.admitUpdate(update), forceAllowCreate, options)
}

// admitCreate returns a function that checks the object to be stored and then calls the admission plugins. The last
// plugin charges quotas, so a request that is rejected afterwards would still be charged.
func (r *REST) admitCreate(plugins rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		if err := r.admit(ctx, obj, nil); err != nil || plugins == nil {
			return err
		}
		return plugins(ctx, obj)
	}
}

func (r *REST) admitUpdate(plugins rest.ValidateObjectUpdateFunc) rest.ValidateObjectUpdateFunc {
	return func(ctx context.Context, obj, old runtime.Object) error {
		if err := r.admit(ctx, obj, old); err != nil || plugins == nil {
			return err
		}
		return plugins(ctx, obj, old)
	}
}

func (r *REST) admit(ctx context.Context, obj, old runtime.Object) error {
	updated, err := machine(obj)
	if err != nil {
		return err
	}
	var stored *vmv1alpha1.VirtualMachine
	if old != nil {
		if stored, err = machine(old); err != nil {
			return err
		}
	}
	problems, err := instancetype.Admit(ctx, updated, stored, r.readers)
	if err == nil {
		var misfits field.ErrorList
		misfits, err = r.admitImage(ctx, updated, stored)
		problems = append(problems, misfits...)
	}
	if err == nil {
		var unknown field.ErrorList
		unknown, err = r.admitRevert(ctx, updated, stored)
		problems = append(problems, unknown...)
	}
	if err != nil {
		return statusError(updated.Name, fmt.Errorf("checking VirtualMachine %s/%s against what it refers to: %w", updated.Namespace, updated.Name, err))
	}
	if len(problems) > 0 {
		return apierrors.NewInvalid(vmv1alpha1.Kind("VirtualMachine"), updated.Name, problems)
	}
	return nil
}

// machine returns obj as a VirtualMachine.
func machine(obj runtime.Object) (*vmv1alpha1.VirtualMachine, error) {
	v, ok := obj.(*vmv1alpha1.VirtualMachine)
	if !ok {
		return nil, fmt.Errorf("admitting a VirtualMachine: got a %T", obj)
	}
	return v, nil
}
