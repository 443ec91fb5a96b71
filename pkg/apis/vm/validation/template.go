// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// ValidateVirtualMachineTemplate checks a new template. Virtual machines that are created from it must be valid.
func ValidateVirtualMachineTemplate(obj *vmv1alpha1.VirtualMachineTemplate) field.ErrorList {
	template, path := &obj.Spec.Template, field.NewPath("spec", "template")
	errs := validateMeta(&obj.ObjectMeta)
	meta := path.Child("metadata")
	errs = append(errs, metav1validation.ValidateLabels(template.Metadata.Labels, meta.Child("labels"))...)
	errs = append(errs, apivalidation.ValidateAnnotations(template.Metadata.Annotations, meta.Child("annotations"))...)
	errs = append(errs, ValidateVirtualMachineSpec(&template.Spec, path.Child("spec"))...)
	return append(errs, validateNoUniqueValues(&template.Spec, path.Child("spec"))...)
}

// validateNoUniqueValues rejects values that only one virtual machine can have.
func validateNoUniqueValues(spec *vmv1alpha1.VirtualMachineSpec, path *field.Path) field.ErrorList {
	const detail = "must not be set in a template, because its value is specific to one virtual machine"
	var errs field.ErrorList
	reject := func(isSet bool, at *field.Path) {
		if isSet {
			errs = append(errs, field.Forbidden(at, detail))
		}
	}
	reject(spec.InstanceUUID != "", path.Child("instanceUUID"))
	reject(spec.ProviderID != "", path.Child("providerID"))
	reject(spec.Firmware != nil && spec.Firmware.UUID != "", path.Child("firmware", "uuid"))
	reject(spec.CurrentSnapshotName != "", path.Child("currentSnapshotName"))
	if spec.Network == nil {
		return errs
	}
	reject(spec.Network.HostName != "", path.Child("network", "hostName"))
	for i := range spec.Network.Interfaces {
		each, at := &spec.Network.Interfaces[i], path.Child("network", "interfaces").Index(i)
		reject(each.MACAddress != "", at.Child("macAddress"))
		reject(len(each.Addresses) > 0, at.Child("addresses"))
	}
	return errs
}

// ValidateVirtualMachineTemplateUpdate checks the change from old to obj. The spec is immutable, so that all machines
// of a template are identical.
func ValidateVirtualMachineTemplateUpdate(obj, old *vmv1alpha1.VirtualMachineTemplate) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if !apiequality.Semantic.DeepEqual(obj.Spec, old.Spec) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"), "is immutable: create a new template and refer to it instead"))
	}
	return errs
}
