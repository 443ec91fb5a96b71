// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// ValidateVirtualMachineImageCache checks a new image cache. Its name is used as a label value.
func ValidateVirtualMachineImageCache(obj *vmv1alpha1.VirtualMachineImageCache) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&obj.ObjectMeta, false, validateLabelName, field.NewPath("metadata"))
	return append(errs, validateImageCacheSpec(&obj.Spec, field.NewPath("spec"))...)
}

// ValidateVirtualMachineImageCacheUpdate checks the change from old to obj.
func ValidateVirtualMachineImageCacheUpdate(obj, old *vmv1alpha1.VirtualMachineImageCache) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("spec")
	if source, oldSource := obj.Spec.ContentLibrary, old.Spec.ContentLibrary; source != oldSource {
		errs = append(errs, field.Invalid(path.Child("contentLibrary"), source.Library+"/"+source.Item, fmt.Sprintf("is immutable; must stay %s/%s", oldSource.Library, oldSource.Item)))
	}
	return append(errs, validateImageCacheSpec(&obj.Spec, path)...)
}

// ValidateVirtualMachineImageCacheStatusUpdate checks a change of status.
func ValidateVirtualMachineImageCacheStatusUpdate(obj, old *vmv1alpha1.VirtualMachineImageCache) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("status")
	errs = append(errs, validateConditions(obj.Status.Conditions, path.Child("conditions"))...)
	for i := range obj.Status.Locations {
		errs = append(errs, validateConditions(obj.Status.Locations[i].Conditions, path.Child("locations").Index(i).Child("conditions"))...)
	}
	return errs
}

func validateImageCacheSpec(spec *vmv1alpha1.VirtualMachineImageCacheSpec, path *field.Path) field.ErrorList {
	errs := validateContentLibraryImageSource(&spec.ContentLibrary, path.Child("contentLibrary"))
	seen := map[vmv1alpha1.VirtualMachineImageCacheLocation]bool{}
	for i, location := range spec.Locations {
		at := path.Child("locations").Index(i)
		if location.VCenter != "" {
			errs = append(errs, invalid(location.VCenter, at.Child("vCenter"), validateLabelName(location.VCenter, false))...)
		} else {
			location.VCenter = vmv1alpha1.DefaultVCenter
		}
		if location.Datastore == "" {
			errs = append(errs, field.Required(at.Child("datastore"), "must be the inventory path of a datastore, for example /DC0/datastore/ssd"))
		}
		if seen[location] {
			errs = append(errs, field.Duplicate(at, fmt.Sprintf("vCenter %s, datastore %s, storagePolicy %q", location.VCenter, location.Datastore, location.StoragePolicy)))
		}
		seen[location] = true
	}
	return errs
}
