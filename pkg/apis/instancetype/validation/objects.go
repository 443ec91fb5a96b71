// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
)

// ValidateInstancetype checks a new instance type.
func ValidateInstancetype(obj *itv1alpha1.VirtualMachineInstancetype) field.ErrorList {
	return append(validateMeta(&obj.ObjectMeta, true), ValidateInstancetypeSpec(&obj.Spec, field.NewPath("spec"))...)
}

// ValidateInstancetypeUpdate checks the change from old to obj. The whole spec can change, because virtual machines use
// pinned revisions.
func ValidateInstancetypeUpdate(obj, old *itv1alpha1.VirtualMachineInstancetype) field.ErrorList {
	return append(validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta), ValidateInstancetype(obj)...)
}

// ValidateClusterInstancetype checks a new VirtualMachineClusterInstancetype.
func ValidateClusterInstancetype(obj *itv1alpha1.VirtualMachineClusterInstancetype) field.ErrorList {
	return append(validateMeta(&obj.ObjectMeta, false), ValidateInstancetypeSpec(&obj.Spec, field.NewPath("spec"))...)
}

// ValidateClusterInstancetypeUpdate checks the change from old to obj.
func ValidateClusterInstancetypeUpdate(obj, old *itv1alpha1.VirtualMachineClusterInstancetype) field.ErrorList {
	return append(validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta), ValidateClusterInstancetype(obj)...)
}

// ValidatePreference checks a new preference.
func ValidatePreference(obj *itv1alpha1.VirtualMachinePreference) field.ErrorList {
	return append(validateMeta(&obj.ObjectMeta, true), ValidatePreferenceSpec(&obj.Spec, field.NewPath("spec"))...)
}

// ValidatePreferenceUpdate checks the change from old to obj.
func ValidatePreferenceUpdate(obj, old *itv1alpha1.VirtualMachinePreference) field.ErrorList {
	return append(validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta), ValidatePreference(obj)...)
}

// ValidateClusterPreference checks a new VirtualMachineClusterPreference.
func ValidateClusterPreference(obj *itv1alpha1.VirtualMachineClusterPreference) field.ErrorList {
	return append(validateMeta(&obj.ObjectMeta, false), ValidatePreferenceSpec(&obj.Spec, field.NewPath("spec"))...)
}

// ValidateClusterPreferenceUpdate checks the change from old to obj.
func ValidateClusterPreferenceUpdate(obj, old *itv1alpha1.VirtualMachineClusterPreference) field.ErrorList {
	return append(validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta), ValidateClusterPreference(obj)...)
}

// validateMeta checks the metadata of a new object.
func validateMeta(meta *metav1.ObjectMeta, namespaced bool) field.ErrorList {
	return apivalidation.ValidateObjectMeta(meta, namespaced, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
}

// validateMetaUpdate checks a change of metadata.
func validateMetaUpdate(meta, old *metav1.ObjectMeta) field.ErrorList {
	return apivalidation.ValidateObjectMetaUpdate(meta, old, field.NewPath("metadata"))
}
