// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// maxTTLSeconds is the maximum of ttlSecondsAfterFinished: one year.
const maxTTLSeconds = 365 * 24 * 60 * 60

// ValidateVirtualMachinePublishRequest checks a new request.
func ValidateVirtualMachinePublishRequest(obj *vmv1alpha1.VirtualMachinePublishRequest) field.ErrorList {
	errs := validateMeta(&obj.ObjectMeta)
	path := field.NewPath("spec")
	errs = append(errs, validateName(obj.Spec.Source.Name, path.Child("source", "name"))...)
	target := path.Child("target", "contentLibrary")
	if name := obj.Spec.Target.ContentLibrary; name == "" {
		errs = append(errs, field.Required(target, "must be the name of a ContentLibrary that allows the namespace to publish"))
	} else {
		errs = append(errs, invalid(name, target, validateLabelName(name, false))...)
	}
	if ttl := obj.Spec.TTLSecondsAfterFinished; ttl != nil && (*ttl < 0 || *ttl > maxTTLSeconds) {
		errs = append(errs, field.Invalid(path.Child("ttlSecondsAfterFinished"), *ttl, "must be from 0 to 31536000, which is a year"))
	}
	return errs
}

// ValidateVirtualMachinePublishRequestUpdate checks the change from old to obj. Only ttlSecondsAfterFinished can
// change.
func ValidateVirtualMachinePublishRequestUpdate(obj, old *vmv1alpha1.VirtualMachinePublishRequest) field.ErrorList {
	errs := append(validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta), ValidateVirtualMachinePublishRequest(obj)...)
	path := field.NewPath("spec")
	if obj.Spec.Source != old.Spec.Source {
		errs = append(errs, field.Forbidden(path.Child("source"), "is immutable"))
	}
	if !apiequality.Semantic.DeepEqual(obj.Spec.Target, old.Spec.Target) {
		errs = append(errs, field.Forbidden(path.Child("target"), "is immutable"))
	}
	return errs
}

// ValidateVirtualMachinePublishRequestStatusUpdate checks a change of status.
func ValidateVirtualMachinePublishRequestStatusUpdate(obj, old *vmv1alpha1.VirtualMachinePublishRequest) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	return append(errs, validateConditions(obj.Status.Conditions, field.NewPath("status", "conditions"))...)
}
