// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fitting checks whether the spec of a virtual machine fits the properties of its image.
//
// Guarantees: the functions are pure. An image that is not Ready, or whose properties are not all listed, is not
// checked. An error contains the field, but never the value of a property.
package fitting

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// maxListedKeys is the maximum number of keys in an error.
const maxListedKeys = 20

var spec = field.NewPath("spec")

// isReliable reports whether the status of the image is reliable.
func isReliable(image *vmv1alpha1.VirtualMachineImage) bool {
	return image != nil && image.Status.Type != "" && meta.IsStatusConditionTrue(image.Status.Conditions, vmv1alpha1.ConditionReady)
}

// ValidateDisk returns an error for an image from which a virtual machine cannot be created, and for a boot disk that is
// smaller than that of the image.
func ValidateDisk(image *vmv1alpha1.VirtualMachineImage, requested *vmv1alpha1.VirtualMachineBootDisk) field.ErrorList {
	if !isReliable(image) {
		return nil
	}
	if image.Status.Type == vmv1alpha1.ImageTypeISO {
		return field.ErrorList{field.Invalid(spec.Child("image", "name"), image.Name,
			"is an ISO image, from which a virtual machine cannot be created: use it in a CD-ROM drive (spec.volumes[].cdrom.image)")}
	}
	size := image.Status.BootDiskCapacity()
	if requested == nil || requested.Capacity == nil || size == nil || requested.Capacity.Cmp(*size) >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(spec.Child("bootDisk", "size"), requested.Capacity.String(),
		fmt.Sprintf("must be at least %s, the size of the boot disk of image %s: vSphere cannot shrink a disk", size, image.Name))}
}

// ValidateEULA returns an error for a virtual machine that does not accept the license agreements of its image.
func ValidateEULA(image *vmv1alpha1.VirtualMachineImage, accepted bool) field.ErrorList {
	if !isReliable(image) || !image.Status.EULA || accepted {
		return nil
	}
	return field.ErrorList{field.Required(spec.Child("acceptEULA"), fmt.Sprintf(
		"image %s has a license agreement: read it in the vSphere Client, and set spec.acceptEULA to true if you accept it", image.Name))}
}

// ValidateFirmware returns an error for secure boot with BIOS. requested is the firmware that the spec, the preference and the
// class request.
func ValidateFirmware(image *vmv1alpha1.VirtualMachineImage, requested *vmv1alpha1.VirtualMachineFirmware) field.ErrorList {
	if !isReliable(image) || image.Status.Firmware != vmv1alpha1.BootloaderBIOS ||
		requested == nil || requested.Bootloader != "" || requested.SecureBoot == nil || !*requested.SecureBoot {
		return nil
	}
	return field.ErrorList{field.Invalid(spec.Child("firmware", "secureBoot"), true,
		fmt.Sprintf("requires EFI, but image %s has BIOS: set spec.firmware.bootloader to EFI if the image supports EFI", image.Name))}
}

// ValidateProperties returns errors for OVF properties that the image does not have, that are not user-configurable, or that
// are required but not set. secretKeys are the keys of the Secret in bootstrap, or nil if they are not known. An image
// without properties is not checked.
func ValidateProperties(image *vmv1alpha1.VirtualMachineImage, bootstrap *vmv1alpha1.VirtualMachineBootstrap, secretKeys []string) field.ErrorList {
	if !isReliable(image) || len(image.Status.Properties) == 0 || !listsAllProperties(image) {
		return nil
	}
	path := spec.Child("bootstrap", "vAppConfig", "properties")
	var keys []string
	allKeysKnown := true // whether keys contains all keys
	if bootstrap != nil && bootstrap.VAppConfig != nil {
		for key := range bootstrap.VAppConfig.Properties {
			keys = append(keys, key)
		}
		allKeysKnown = bootstrap.VAppConfig.RawProperties == "" || secretKeys != nil
	} else if bootstrap != nil && bootstrap.CloudInit != nil {
		return nil // cloud-init does not need the properties
	}
	keys = append(keys, secretKeys...)
	slices.Sort(keys)
	keys = slices.Compact(keys)
	var errs field.ErrorList
	for _, key := range keys {
		i := slices.IndexFunc(image.Status.Properties, func(p vmv1alpha1.VirtualMachineImageProperty) bool { return p.Key == key })
		switch {
		case i < 0:
			errs = append(errs, field.Invalid(path, key, fmt.Sprintf("image %s does not have this property; it has %s", image.Name, configurableKeys(image.Status.Properties))))
		case !image.Status.Properties[i].UserConfigurable:
			errs = append(errs, field.Invalid(path, key, fmt.Sprintf("this property of image %s is not user-configurable", image.Name)))
		}
	}
	for _, p := range image.Status.Properties {
		if _, has := slices.BinarySearch(keys, p.Key); allKeysKnown && p.Required && !has {
			errs = append(errs, field.Required(path.Key(p.Key), fmt.Sprintf("image %s requires this property and has no default value", image.Name)))
		}
	}
	return errs
}

// listsAllProperties reports whether status lists all properties.
func listsAllProperties(image *vmv1alpha1.VirtualMachineImage) bool {
	return image.Status.Type != vmv1alpha1.ImageTypeOVF || meta.IsStatusConditionTrue(image.Status.Conditions, vmv1alpha1.ConditionOVFReady)
}

// configurableKeys returns a list of the user-configurable properties.
func configurableKeys(properties []vmv1alpha1.VirtualMachineImageProperty) string {
	var keys []string
	for _, p := range properties {
		if p.UserConfigurable {
			keys = append(keys, p.Key)
		}
	}
	slices.Sort(keys)
	if len(keys) > maxListedKeys {
		return fmt.Sprintf("%s and %d more", strings.Join(keys[:maxListedKeys], ", "), len(keys)-maxListedKeys)
	}
	if len(keys) == 0 {
		return "none that can be set"
	}
	return strings.Join(keys, ", ")
}
