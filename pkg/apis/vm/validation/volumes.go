// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-dev/slipway/pkg/apis/limits"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// diskCapacity is the error message for an invalid disk capacity.
const diskCapacity = "must be a whole number of mebibytes, from 1Mi to 62Ti"

// validateVolumes checks disks and CD-ROM drives.
func validateVolumes(volumes []vmv1alpha1.VirtualMachineVolume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names, claims, taken := sets.New[string](), sets.New[string](), sets.New[string]()
	for i := range volumes {
		volume, volumePath := &volumes[i], path.Index(i)
		errs = append(errs, validateItemName(volume.Name, names, volumePath.Child("name"))...)
		errs = append(errs, validateEnum(volume.Bus, volumePath.Child("bus"),
			"pvscsi", "lsilogic", "lsilogicsas", "sata", "nvme", "ide", "scsi", "virtio")...)
		errs = append(errs, validateVolumeSource(volume, claims, volumePath)...)
		errs = append(errs, validateSlot(volume, taken, volumePath)...)
	}
	return errs
}

// validateVolumeSource checks that a volume has exactly one source and adds its claim to claims.
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
		diskPath := path.Child("disk")
		if disk.Capacity == nil {
			errs = append(errs, field.Required(diskPath.Child("size"), diskCapacity))
		}
		errs = append(errs, validateDisk(disk.Capacity, disk.StorageClass, disk.Provisioning, diskPath)...)
	}
	if cdrom := volume.CDROM; cdrom != nil {
		set = append(set, "cdrom")
		errs = append(errs, validateImageRef(cdrom.Image, path.Child("cdrom", "image"))...)
		errs = append(errs, validateEnum(volume.Bus, path.Child("bus"), "sata", "ide")...)
	}
	errs = append(errs, validateEnum(volume.ReclaimPolicy, path.Child("reclaimPolicy"),
		vmv1alpha1.VolumeReclaimDetach, vmv1alpha1.VolumeReclaimDelete)...)
	if volume.ReclaimPolicy != "" && volume.Disk == nil {
		errs = append(errs, field.Forbidden(path.Child("reclaimPolicy"),
			"can be set only for a disk: the disk of a PersistentVolumeClaim is always detached, and a CD-ROM drive is always removed"))
	}
	return append(errs, validateExactlyOne(set, "persistentVolumeClaim, disk, cdrom", path)...)
}

// validateDisk checks the fields that all types of disks have.
func validateDisk(capacity *resource.Quantity, class string, provisioning vmv1alpha1.DiskProvisioning, path *field.Path) field.ErrorList {
	errs := validateQuantity(capacity, limits.Mebibyte, limits.Mebibyte, limits.MaxDisk, diskCapacity, path.Child("size"))
	errs = append(errs, validateName(class, path.Child("storageClass"))...)
	return append(errs, validateEnum(provisioning, path.Child("provisioning"),
		vmv1alpha1.DiskProvisioningThin, vmv1alpha1.DiskProvisioningThick, vmv1alpha1.DiskProvisioningThickEagerZero)...)
}

// validateSlot checks the controller and unit number of a volume and adds the slot to taken. If bus is empty, a
// preference can set it, so the slots of all controller classes are allowed. The maximum unit can depend on the virtual
// hardware version, which is not known here, so the newest version is assumed.
func validateSlot(volume *vmv1alpha1.VirtualMachineVolume, taken sets.Set[string], path *field.Path) field.ErrorList {
	var errs field.ErrorList
	slots := limits.SlotsOf(volume.Bus, limits.MaxHardwareVersion)
	number, unit := volume.ControllerBusNumber, volume.UnitNumber
	if volume.Bus == "" && volume.CDROM != nil {
		slots = limits.SlotsOf("sata", limits.MaxHardwareVersion)
	} else if volume.Bus == "" {
		slots = limits.Slots{Class: "any bus", Controllers: 4, Units: slots.Units}
	}
	if number != nil && (*number < 0 || *number >= slots.Controllers) {
		errs = append(errs, field.Invalid(path.Child("controllerBusNumber"), *number,
			fmt.Sprintf("must be from 0 to %d on %s", slots.Controllers-1, slots.Class)))
	}
	if unit != nil && !slots.Usable(*unit) {
		allowed := fmt.Sprintf("must be from 0 to %d on %s", slots.Units-1, cmp.Or(volume.Bus, slots.Class))
		if slots.Class == "scsi" {
			allowed += fmt.Sprintf(", except %d, which is reserved for the controller", limits.SCSIControllerUnit)
		}
		errs = append(errs, field.Invalid(path.Child("unitNumber"), *unit, allowed))
	}
	if number == nil || unit == nil {
		return errs
	}
	slot := fmt.Sprintf("%s%d:%d", slots.Class, *number, *unit)
	if taken.Has(slot) {
		errs = append(errs, field.Invalid(path.Child("unitNumber"), *unit, "another volume already uses "+slot))
	}
	taken.Insert(slot)
	return errs
}

// validateBootDisk checks the boot disk.
func validateBootDisk(disk *vmv1alpha1.VirtualMachineBootDisk, path *field.Path) field.ErrorList {
	if disk == nil {
		return nil
	}
	return validateDisk(disk.Capacity, disk.StorageClass, disk.Provisioning, path)
}

// validateExactlyOne checks that exactly one of the fields of path is set.
func validateExactlyOne(set []string, allowed string, path *field.Path) field.ErrorList {
	switch len(set) {
	case 0:
		return field.ErrorList{field.Required(path, "exactly one of these fields must be set: "+allowed)}
	case 1:
		return nil
	default:
		return field.ErrorList{field.Invalid(path, strings.Join(set, ", "), "exactly one of these fields must be set: "+allowed)}
	}
}
