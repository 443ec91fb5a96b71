// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// RefreshREST removes the references to the pinned revision of an instance type or preference, so that the controller
// pins the live object. All checks and both changes, in spec and status, are one transaction.
type RefreshREST struct {
	role    instancetype.Role
	readers Readers
	update  updater
}

var (
	_ rest.NamedCreater    = &RefreshREST{}
	_ rest.StorageMetadata = &RefreshREST{}
)

// New returns an empty request body.
func (*RefreshREST) New() runtime.Object { return &vmv1alpha1.RefreshOptions{} }

// Destroy does nothing, because the main endpoint owns the store.
func (*RefreshREST) Destroy() {}

// ProducesMIMETypes returns nil, which means the encodings of the server.
func (*RefreshREST) ProducesMIMETypes(string) []string { return nil }

// Create refreshes a virtual machine and returns the changes. In a dry run it returns the changes without storing
// them.
func (r *RefreshREST) Create(ctx context.Context, name string, body runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	refresh, err := checkBody(ctx, r.update.subresource, name, body, validate, func(o *vmv1alpha1.RefreshOptions) field.ErrorList {
		return validation.ValidateRefreshOptions(o, name)
	})
	if err != nil {
		return nil, err
	}
	var result *vmv1alpha1.RefreshResult
	_, err = r.update.mutate(ctx, name, func(v *vmv1alpha1.VirtualMachine) error {
		var err error
		result, err = r.refresh(ctx, v)
		return err
	}, options, refresh.DryRun)
	if err != nil {
		return nil, err
	}
	result.DryRun = dryrun.IsDryRun(dryRun(options, refresh.DryRun))
	return result, nil
}

// ProducesObject returns the type of the response for the API documentation.
func (*RefreshREST) ProducesObject(string) any { return &vmv1alpha1.RefreshResult{} }

// refresh applies the refresh to v and returns the result.
func (r *RefreshREST) refresh(ctx context.Context, v *vmv1alpha1.VirtualMachine) (*vmv1alpha1.RefreshResult, error) {
	if v.DeletionTimestamp != nil {
		return nil, apierrors.NewConflict(vmv1alpha1.Resource("virtualmachines"), v.Name, errors.New("cannot refresh a virtual machine that is being deleted"))
	}
	instance, err := r.readers.Instance(ctx, v.Namespace, v.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, statusError(v.Name, fmt.Errorf("reading the VirtualMachineInstance of VirtualMachine %s/%s: %w", v.Namespace, v.Name, err))
	}
	plan, err := instancetype.PlanRefresh(v, r.role, specOf(instance, v), instancetype.GatherForRefresh(ctx, v, r.readers))
	if err != nil {
		return nil, statusError(v.Name, err)
	}
	if plan.VM != nil {
		v.Spec, v.Status = plan.VM.Spec, plan.VM.Status
	}
	return plan.Result, nil
}

// specOf returns the spec that v runs with, or nil if it does not run. The instance may belong to a previous virtual
// machine with the same name and be about to be deleted.
func specOf(instance *vmv1alpha1.VirtualMachineInstance, v *vmv1alpha1.VirtualMachine) *vmv1alpha1.VirtualMachineInstanceSpec {
	if instance == nil || !metav1.IsControlledBy(instance, v) {
		return nil
	}
	return &instance.Spec
}
