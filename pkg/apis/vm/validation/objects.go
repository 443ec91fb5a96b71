// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// ValidateVirtualMachineClass checks a new class.
func ValidateVirtualMachineClass(obj *vmv1alpha1.VirtualMachineClass) field.ErrorList {
	return append(validateClass(obj), validateFastDeploy(obj.Annotations, nil)...)
}

func validateClass(obj *vmv1alpha1.VirtualMachineClass) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateMeta(&obj.ObjectMeta)
	errs = append(errs, validateCPUGiven(&obj.Spec.CPU, path.Child("cpu"))...)
	errs = append(errs, validateCPU(&obj.Spec.CPU, path.Child("cpu"))...)
	errs = append(errs, validateMemoryGiven(&obj.Spec.Memory, path.Child("memory"))...)
	errs = append(errs, ValidateMemory(&obj.Spec.Memory, path.Child("memory"))...)
	errs = append(errs, validateDevices(obj.Spec.Devices, path.Child("devices"))...)
	return append(errs, validateHardwareVersion(obj.Spec.MinHardwareVersion, path.Child("minHardwareVersion"))...)
}

// ValidateVirtualMachineClassUpdate checks the change from old to obj.
func ValidateVirtualMachineClassUpdate(obj, old *vmv1alpha1.VirtualMachineClass) field.ErrorList {
	errs := append(validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta), validateClass(obj)...)
	return append(errs, validateFastDeploy(obj.Annotations, old.Annotations)...)
}

// ValidateVirtualMachineImage checks a new VirtualMachineImage.
func ValidateVirtualMachineImage(obj *vmv1alpha1.VirtualMachineImage) field.ErrorList {
	return append(validateMeta(&obj.ObjectMeta), validateImageSpec(&obj.Spec)...)
}

// ValidateClusterVirtualMachineImage checks a new ClusterVirtualMachineImage.
func ValidateClusterVirtualMachineImage(obj *vmv1alpha1.ClusterVirtualMachineImage) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&obj.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, validateImageSpec(&obj.Spec)...)
}

func validateImageSpec(spec *vmv1alpha1.VirtualMachineImageSpec) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	var set []string
	if source := spec.ContentLibrary; source != nil {
		set = append(set, "contentLibrary")
		errs = append(errs, validateContentLibraryImageSource(source, path.Child("contentLibrary"))...)
	}
	if source := spec.Template; source != nil {
		set = append(set, "template")
		if source.InventoryPath == "" {
			errs = append(errs, field.Required(path.Child("template", "inventoryPath"), "must be the path of a template, for example templates/ubuntu-24.04"))
		}
	}
	return append(errs, validateExactlyOne(set, "contentLibrary, template", path)...)
}

func validateContentLibraryImageSource(source *vmv1alpha1.ContentLibraryImageSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if source.Library == "" {
		errs = append(errs, field.Required(path.Child("library"), "must be the name of a content library"))
	}
	if source.Item == "" {
		errs = append(errs, field.Required(path.Child("item"), "must be the name of an OVF item of the library"))
	}
	return errs
}

// ValidateVirtualMachineImageUpdate checks the change from old to obj. The spec is immutable.
func ValidateVirtualMachineImageUpdate(obj, old *vmv1alpha1.VirtualMachineImage) field.ErrorList {
	return append(validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta), validateImageSpecUpdate(&obj.Spec, &old.Spec)...)
}

// ValidateClusterVirtualMachineImageUpdate checks the change from old to obj. The spec is immutable.
func ValidateClusterVirtualMachineImageUpdate(obj, old *vmv1alpha1.ClusterVirtualMachineImage) field.ErrorList {
	return ValidateVirtualMachineImageUpdate(obj.AsImage(), old.AsImage())
}

func validateImageSpecUpdate(spec, old *vmv1alpha1.VirtualMachineImageSpec) field.ErrorList {
	if apiequality.Semantic.DeepEqual(spec, old) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec"), imageSource(spec), fmt.Sprintf("is immutable; must stay %s", imageSource(old)))}
}

// imageSource describes the source of an image for an error.
func imageSource(spec *vmv1alpha1.VirtualMachineImageSpec) string {
	switch {
	case spec.ContentLibrary != nil:
		return fmt.Sprintf("contentLibrary %s/%s", spec.ContentLibrary.Library, spec.ContentLibrary.Item)
	case spec.Template != nil:
		return "template " + spec.Template.InventoryPath
	default:
		return "empty"
	}
}

// ValidateVirtualMachineImageStatusUpdate checks a change of status.
func ValidateVirtualMachineImageStatusUpdate(obj, old *vmv1alpha1.VirtualMachineImage) field.ErrorList {
	return append(validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta),
		validateConditions(obj.Status.Conditions, field.NewPath("status", "conditions"))...)
}

// ValidateClusterVirtualMachineImageStatusUpdate checks a change of status.
func ValidateClusterVirtualMachineImageStatusUpdate(obj, old *vmv1alpha1.ClusterVirtualMachineImage) field.ErrorList {
	return ValidateVirtualMachineImageStatusUpdate(obj.AsImage(), old.AsImage())
}

// ValidateVirtualMachineInstance checks a new VirtualMachineInstance. Because the controller creates it, only values
// that the provider cannot handle are rejected.
func ValidateVirtualMachineInstance(obj *vmv1alpha1.VirtualMachineInstance) field.ErrorList {
	path := field.NewPath("spec")
	errs := apivalidation.ValidateObjectMeta(&obj.ObjectMeta, true, validateVMName, field.NewPath("metadata"))
	errs = append(errs, validateCPU(obj.Spec.CPU, path.Child("cpu"))...)
	errs = append(errs, ValidateMemory(obj.Spec.Memory, path.Child("memory"))...)
	errs = append(errs, validateNetwork(withoutPoolAddresses(obj.Spec.Network), path.Child("network"))...)
	errs = append(errs, validateVolumes(obj.Spec.Volumes, path.Child("volumes"))...)
	return append(errs, validateFirmware(obj.Spec.Firmware, path.Child("firmware"))...)
}

// withoutPoolAddresses returns network without the addresses of interfaces that use address pools. Users do not control these
// addresses, so they can be duplicates or conflict with DHCP.
func withoutPoolAddresses(network *vmv1alpha1.VirtualMachineNetworkSpec) *vmv1alpha1.VirtualMachineNetworkSpec {
	out := network.DeepCopy()
	if out == nil {
		return nil
	}
	for i := range out.Interfaces {
		if len(out.Interfaces[i].AddressesFromPools) > 0 {
			out.Interfaces[i].Addresses = nil
		}
	}
	return out
}

// ValidateVirtualMachineInstanceUpdate checks the change from old to obj.
func ValidateVirtualMachineInstanceUpdate(obj, old *vmv1alpha1.VirtualMachineInstance) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if apiequality.Semantic.DeepEqual(obj.Spec, old.Spec) {
		return errs
	}
	return append(errs, ValidateVirtualMachineInstance(obj)...)
}

// ValidateVirtualMachineInstanceStatusUpdate checks a change of status.
func ValidateVirtualMachineInstanceStatusUpdate(obj, old *vmv1alpha1.VirtualMachineInstance) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateGuest(obj.Status.Guest, old.Status.Guest, field.NewPath("status", "guest"))...)
	return append(errs, validateConditions(obj.Status.Conditions, field.NewPath("status", "conditions"))...)
}

// validateMeta checks the metadata of a new namespaced object.
func validateMeta(meta *metav1.ObjectMeta) field.ErrorList {
	return apivalidation.ValidateObjectMeta(meta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
}

// validateMetaUpdate checks a change of metadata.
func validateMetaUpdate(meta, old *metav1.ObjectMeta) field.ErrorList {
	return apivalidation.ValidateObjectMetaUpdate(meta, old, field.NewPath("metadata"))
}
