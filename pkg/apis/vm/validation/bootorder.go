// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// validateBootOrder checks that every device exists and is listed once.
func validateBootOrder(spec *vmv1alpha1.VirtualMachineSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[vmv1alpha1.VirtualMachineBootDevice]()
	for i, device := range spec.BootOrder {
		at := path.Index(i)
		if device.Type == "" {
			errs = append(errs, field.Required(at.Child("type"), "must be Disk, CDROM or Network"))
		}
		errs = append(errs, validateEnum(device.Type, at.Child("type"),
			vmv1alpha1.BootDeviceDisk, vmv1alpha1.BootDeviceCDROM, vmv1alpha1.BootDeviceNetwork)...)
		errs = append(errs, validateBootDeviceName(spec, device, at.Child("name"))...)
		if seen.Has(device) {
			errs = append(errs, field.Duplicate(at, string(device.Type)+" "+device.Name))
		}
		seen.Insert(device)
	}
	return errs
}

// validateBootDeviceName checks that the name refers to a device of the type.
func validateBootDeviceName(spec *vmv1alpha1.VirtualMachineSpec, device vmv1alpha1.VirtualMachineBootDevice, path *field.Path) field.ErrorList {
	switch device.Type {
	case vmv1alpha1.BootDeviceCDROM:
		if device.Name != "" {
			return field.ErrorList{field.Forbidden(path, "must be empty: vSphere boots from the first CD-ROM drive that has a bootable medium")}
		}
	case vmv1alpha1.BootDeviceDisk:
		for i := range spec.Volumes {
			if v := &spec.Volumes[i]; v.Name == device.Name && v.CDROM == nil {
				return nil
			}
		}
		if device.Name != "" {
			return field.ErrorList{field.Invalid(path, device.Name, "must be the name of a disk of spec.volumes, or empty for the boot disk of the image")}
		}
	case vmv1alpha1.BootDeviceNetwork:
		if spec.Network != nil {
			for i := range spec.Network.Interfaces {
				if spec.Network.Interfaces[i].Name == device.Name {
					return nil
				}
			}
		}
		return field.ErrorList{field.Invalid(path, device.Name, "must be the name of an entry of spec.network.interfaces")}
	}
	return nil
}
