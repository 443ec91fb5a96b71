// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// validateStorageUpdate rejects changes of existing disks that vSphere does not support.
func validateStorageUpdate(obj, old *vmv1alpha1.VirtualMachine, path *field.Path) field.ErrorList {
	errs := validateBootOrderUpdate(obj.Spec.BootOrder, old.Spec.BootOrder, path.Child("bootOrder"))
	if after, before := obj.Spec.BootDisk, old.Spec.BootDisk; after != nil {
		var current *resource.Quantity
		if s := old.Status.Storage; s != nil && s.BootDisk != nil {
			current = s.BootDisk.Capacity
		}
		at := path.Child("bootDisk")
		if before == nil {
			before = &vmv1alpha1.VirtualMachineBootDisk{}
		}
		errs = append(errs, validateGrowth(after.Capacity, before.Capacity, current, at.Child("size"))...)
		errs = append(errs, validateImmutable(string(after.Provisioning), string(before.Provisioning), at.Child("provisioning"))...)
	}
	for i := range obj.Spec.Volumes {
		after := &obj.Spec.Volumes[i]
		if before := volumeNamed(old.Spec.Volumes, after.Name); before != nil {
			errs = append(errs, validateVolumeUpdate(after, before, capacityOf(&old.Status, after.Name), path.Child("volumes").Index(i))...)
		}
	}
	return errs
}

// validateBootOrderUpdate rejects the removal of all devices, because the VM would keep its boot order.
func validateBootOrderUpdate(after, before []vmv1alpha1.VirtualMachineBootDevice, path *field.Path) field.ErrorList {
	if len(after) > 0 || len(before) == 0 {
		return nil
	}
	return field.ErrorList{field.Required(path, "the boot order cannot be cleared; list the devices to boot from, for example [{type: Disk}]")}
}

func validateVolumeUpdate(after, before *vmv1alpha1.VirtualMachineVolume, current *resource.Quantity, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if (after.Disk == nil) != (before.Disk == nil) || (after.CDROM == nil) != (before.CDROM == nil) ||
		(after.PersistentVolumeClaim == nil) != (before.PersistentVolumeClaim == nil) {
		return field.ErrorList{field.Forbidden(path, "the source of a volume cannot be changed: add a volume with another name")}
	}
	errs = append(errs, validateSlotUnchanged(after.ControllerBusNumber, before.ControllerBusNumber, path.Child("controllerBusNumber"))...)
	errs = append(errs, validateSlotUnchanged(after.UnitNumber, before.UnitNumber, path.Child("unitNumber"))...)
	if after.Disk == nil {
		return errs
	}
	errs = append(errs, validateGrowth(after.Disk.Capacity, before.Disk.Capacity, current, path.Child("disk", "size"))...)
	return append(errs, validateImmutable(string(after.Disk.Provisioning), string(before.Disk.Provisioning), path.Child("disk", "provisioning"))...)
}

// validateGrowth rejects a capacity that is less than the current size of the disk, because vSphere cannot shrink a
// disk. If the current size is not known, the previous capacity in the spec is used. An increase that has not taken
// effect can be reverted.
func validateGrowth(after, before, current *resource.Quantity, path *field.Path) field.ErrorList {
	if after == nil || before != nil && after.Cmp(*before) >= 0 {
		return nil // Unchanged values are not validated again.
	}
	least := before
	if current != nil {
		least = current
	}
	if least == nil || after.Cmp(*least) >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, after.String(), fmt.Sprintf("must not be less than %s, the size of the disk: vSphere cannot shrink a disk", least))}
}

// validateSlotUnchanged checks that a controller or unit number does not change once it is set.
func validateSlotUnchanged(after, before *int32, path *field.Path) field.ErrorList {
	if before == nil || after != nil && *after == *before {
		return nil
	}
	var given any = "nothing"
	if after != nil {
		given = *after
	}
	return field.ErrorList{field.Invalid(path, given, fmt.Sprintf("is immutable once set; must stay %d", *before))}
}

func volumeNamed(volumes []vmv1alpha1.VirtualMachineVolume, name string) *vmv1alpha1.VirtualMachineVolume {
	for i := range volumes {
		if volumes[i].Name == name {
			return &volumes[i]
		}
	}
	return nil
}

// capacityOf returns the observed capacity of a volume's disk, or nil if it is not known.
func capacityOf(st *vmv1alpha1.VirtualMachineStatus, volume string) *resource.Quantity {
	for i := range st.Volumes {
		if st.Volumes[i].Name == volume {
			return st.Volumes[i].Capacity
		}
	}
	return nil
}
