// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-dev/slipway/pkg/apis/limits"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// validateVolumes checks the disks.
func validateVolumes(volumes []vmv1alpha1.VirtualMachineVolume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names, claims := sets.New[string](), sets.New[string]()
	for i := range volumes {
		volume, volumePath := &volumes[i], path.Index(i)
		errs = append(errs, validateItemName(volume.Name, names, volumePath.Child("name"))...)
		errs = append(errs, validateEnum(volume.Bus, volumePath.Child("bus"),
			"pvscsi", "lsilogic", "lsilogicsas", "sata", "nvme", "ide", "scsi", "virtio")...)
		errs = append(errs, validateVolumeSource(volume, claims, volumePath)...)
	}
	return errs
}

// validateVolumeSource checks that a volume has one source and adds its claim to
// those already seen.
func validateVolumeSource(volume *vmv1alpha1.VirtualMachineVolume, claims sets.Set[string], path *field.Path) field.ErrorList {
	var errs field.ErrorList
	var set []string
	if claim := volume.PersistentVolumeClaim; claim != nil {
		set = append(set, "persistentVolumeClaim")
		claimPath := path.Child("persistentVolumeClaim", "claimName")
		if claim.ClaimName != "" && claims.Has(claim.ClaimName) {
			errs = append(errs, field.Duplicate(claimPath, claim.ClaimName))
		}
		claims.Insert(claim.ClaimName)
		errs = append(errs, validateRequiredName(claim.ClaimName, claimPath)...)
	}
	if disk := volume.Disk; disk != nil {
		set = append(set, "disk")
		const allowed = "must be a whole number of mebibytes, from 1Mi to 62Ti"
		if disk.Capacity == nil {
			errs = append(errs, field.Required(path.Child("disk", "size"), allowed))
		}
		errs = append(errs, validateQuantity(disk.Capacity, limits.Mebibyte, limits.Mebibyte, limits.MaxDisk, allowed, path.Child("disk", "size"))...)
		errs = append(errs, validateName(disk.StorageClass, path.Child("disk", "storageClass"))...)
	}
	return append(errs, validateExactlyOne(set, "persistentVolumeClaim, disk", path)...)
}

// validateExactlyOne checks that one, and only one, of the fields of path is set.
func validateExactlyOne(set []string, allowed string, path *field.Path) field.ErrorList {
	switch len(set) {
	case 0:
		return field.ErrorList{field.Required(path, "exactly one must be set of "+allowed)}
	case 1:
		return nil
	default:
		return field.ErrorList{field.Invalid(path, strings.Join(set, ", "), "exactly one must be set of "+allowed)}
	}
}
