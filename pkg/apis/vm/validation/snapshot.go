// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Limits of the quiesce timeout in vSphere (API, VirtualMachineGuestQuiesceSpec.timeout, 5 to 240 minutes), in seconds.
const (
	minQuiesceSeconds = 300
	maxQuiesceSeconds = 14400
)

// ValidateVirtualMachineSnapshot checks a new snapshot.
func ValidateVirtualMachineSnapshot(obj *vmv1alpha1.VirtualMachineSnapshot) field.ErrorList {
	errs := validateMeta(&obj.ObjectMeta)
	path := field.NewPath("spec")
	errs = append(errs, validateRequiredName(obj.Spec.VMName, path.Child("vmName"))...)
	q := obj.Spec.Quiesce
	if q == nil {
		return errs
	}
	if obj.Spec.Memory {
		errs = append(errs, field.Forbidden(path.Child("quiesce"), "mutually exclusive with memory: a snapshot that includes memory does not need quiescing"))
	}
	if t := q.TimeoutSeconds; t != 0 && (t < minQuiesceSeconds || t > maxQuiesceSeconds) {
		errs = append(errs, field.Invalid(path.Child("quiesce", "timeoutSeconds"), t, "must be from 300 to 14400, or unset for the default of vSphere"))
	}
	return errs
}

// ValidateVirtualMachineSnapshotUpdate checks the change from old to obj. The spec is immutable.
func ValidateVirtualMachineSnapshotUpdate(obj, old *vmv1alpha1.VirtualMachineSnapshot) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if !apiequality.Semantic.DeepEqual(obj.Spec, old.Spec) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"), "is immutable"))
	}
	return errs
}

// ValidateVirtualMachineSnapshotStatusUpdate checks a change of status.
func ValidateVirtualMachineSnapshotStatusUpdate(obj, old *vmv1alpha1.VirtualMachineSnapshot) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	return append(errs, validateConditions(obj.Status.Conditions, field.NewPath("status", "conditions"))...)
}
