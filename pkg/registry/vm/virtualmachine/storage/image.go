// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-dev/slipway/pkg/apis/vm/fitting"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// admitImage returns the errors of fields that do not fit the image. It does not check fields that depend on other
// objects, or an image that does not exist yet; those are checked when the VM is created in vSphere. It does not
// check a VM that already exists there. For an update it returns only new errors.
func (r *REST) admitImage(ctx context.Context, vm, old *vmv1alpha1.VirtualMachine) (field.ErrorList, error) {
	ref := vm.Spec.Image
	if ref == nil || ref.Kind == vmv1alpha1.MachineImageKind || vm.DeletionTimestamp != nil ||
		meta.IsStatusConditionTrue(vm.Status.Conditions, vmv1alpha1.ConditionCreated) || old != nil && old.Generation == vm.Generation {
		return nil, nil
	}
	image, err := r.readers.Image(ctx, vm.Namespace, *ref)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading image %q: %w", ref.Name, err)
	}
	found := imageErrors(image, vm)
	if len(found) == 0 || old == nil || old.Spec.Image == nil {
		return found, nil
	}
	before := imageErrors(image, old)
	return slices.DeleteFunc(found, func(e *field.Error) bool {
		return slices.ContainsFunc(before, func(o *field.Error) bool { return o.Error() == e.Error() })
	}), nil
}

func imageErrors(image *vmv1alpha1.VirtualMachineImage, vm *vmv1alpha1.VirtualMachine) field.ErrorList {
	errs := append(fitting.ValidateDisk(image, vm.Spec.BootDisk), fitting.ValidateProperties(image, vm.Spec.Bootstrap, nil)...)
	errs = append(errs, fitting.ValidateEULA(image, vm.Spec.AcceptEULA)...)
	if vm.Spec.Preference == nil && vm.Spec.ClassName == "" { // these may also set the firmware
		errs = append(errs, fitting.ValidateFirmware(image, vm.Spec.Firmware)...)
	}
	return errs
}
