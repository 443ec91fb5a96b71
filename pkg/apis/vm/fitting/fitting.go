// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fitting compares what a virtual machine asks for with what its image says of
// itself.
//
// Guarantees: it is pure. An image that is not known to be there as status says, or whose
// properties are not all listed, is not judged by them: what is unknown is no mistake. An
// error names the field, and no value of a property.
package fitting

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// mostNamed bounds the keys that an error lists.
const mostNamed = 20

var spec = field.NewPath("spec")

// known is true for an image whose status says what it is.
func known(image *vmv1alpha1.VirtualMachineImage) bool {
	return image != nil && image.Status.Type != "" && meta.IsStatusConditionTrue(image.Status.Conditions, vmv1alpha1.ConditionReady)
}

// Disk tells of an image that no virtual machine can be made from, and of a boot disk that
// is smaller than the image's, as vSphere shrinks none.
func Disk(image *vmv1alpha1.VirtualMachineImage, asked *vmv1alpha1.VirtualMachineBootDisk) field.ErrorList {
	if !known(image) {
		return nil
	}
	if image.Status.Type == vmv1alpha1.ImageTypeISO {
		return field.ErrorList{field.Invalid(spec.Child("image", "name"), image.Name,
			"is an ISO image, from which no virtual machine is made: put it into a CD-ROM drive (spec.volumes[].cdrom.image)")}
	}
	has := image.Status.BootDisk()
	if asked == nil || asked.Capacity == nil || has == nil || asked.Capacity.Cmp(*has) >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(spec.Child("bootDisk", "size"), asked.Capacity.String(),
		fmt.Sprintf("must be at least %s, which the disk of image %s has: vSphere cannot shrink one", has, image.Name))}
}

// EULA returns an error for a virtual machine that does not accept the license agreements of its
// image.
func EULA(image *vmv1alpha1.VirtualMachineImage, accepted bool) field.ErrorList {
	if !known(image) || !image.Status.EULA || accepted {
		return nil
	}
	return field.ErrorList{field.Required(spec.Child("acceptEULA"), fmt.Sprintf(
		"image %s has a license agreement: read it in the vSphere Client, and set spec.acceptEULA to true if you accept it", image.Name))}
}

// Firmware tells of secure boot on BIOS. asked is all that has a say in it besides the
// image, preference and class among it.
func Firmware(image *vmv1alpha1.VirtualMachineImage, asked *vmv1alpha1.VirtualMachineFirmware) field.ErrorList {
	if !known(image) || image.Status.Firmware != vmv1alpha1.BootloaderBIOS ||
		asked == nil || asked.Bootloader != "" || asked.SecureBoot == nil || !*asked.SecureBoot {
		return nil
	}
	return field.ErrorList{field.Invalid(spec.Child("firmware", "secureBoot"), true,
		fmt.Sprintf("needs EFI, and image %s has BIOS: set spec.firmware.bootloader to EFI if it can boot with that", image.Name))}
}

// Properties tells of OVF properties that the image does not have or whose values are its
// own, and of those that need a value and get none. secret are the keys of the Secret that
// bootstrap names; nil means that they are not known. An image without any property says
// nothing of what its guest understands.
func Properties(image *vmv1alpha1.VirtualMachineImage, bootstrap *vmv1alpha1.VirtualMachineBootstrap, secret []string) field.ErrorList {
	if !known(image) || len(image.Status.Properties) == 0 || !complete(image) {
		return nil
	}
	path := spec.Child("bootstrap", "vAppConfig", "properties")
	var given []string
	all := true // that are given are known
	if bootstrap != nil && bootstrap.VAppConfig != nil {
		for key := range bootstrap.VAppConfig.Properties {
			given = append(given, key)
		}
		all = bootstrap.VAppConfig.RawProperties == "" || secret != nil
	} else if bootstrap != nil && bootstrap.CloudInit != nil {
		return nil // which does without
	}
	given = append(given, secret...)
	slices.Sort(given)
	given = slices.Compact(given)
	var errs field.ErrorList
	for _, key := range given {
		i := slices.IndexFunc(image.Status.Properties, func(p vmv1alpha1.VirtualMachineImageProperty) bool { return p.Key == key })
		switch {
		case i < 0:
			errs = append(errs, field.Invalid(path, key, fmt.Sprintf("image %s has no such property; it has %s", image.Name, names(image.Status.Properties))))
		case !image.Status.Properties[i].UserConfigurable:
			errs = append(errs, field.Invalid(path, key, fmt.Sprintf("the value of this property of image %s is the image's own", image.Name)))
		}
	}
	for _, p := range image.Status.Properties {
		if _, has := slices.BinarySearch(given, p.Key); all && p.Required && !has {
			errs = append(errs, field.Required(path.Key(p.Key), fmt.Sprintf("image %s needs it, and has no default", image.Name)))
		}
	}
	return errs
}

// complete is true when status lists all properties.
func complete(image *vmv1alpha1.VirtualMachineImage) bool {
	return image.Status.Type != vmv1alpha1.ImageTypeOVF || meta.IsStatusConditionTrue(image.Status.Conditions, vmv1alpha1.ConditionOVFReady)
}

// names lists the properties that can be set.
func names(properties []vmv1alpha1.VirtualMachineImageProperty) string {
	var keys []string
	for _, p := range properties {
		if p.UserConfigurable {
			keys = append(keys, p.Key)
		}
	}
	slices.Sort(keys)
	if len(keys) > mostNamed {
		return fmt.Sprintf("%s and %d others", strings.Join(keys[:mostNamed], ", "), len(keys)-mostNamed)
	}
	if len(keys) == 0 {
		return "none that can be set"
	}
	return strings.Join(keys, ", ")
}
