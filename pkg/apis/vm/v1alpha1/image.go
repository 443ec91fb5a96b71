// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// AsImage returns the image as a VirtualMachineImage without a namespace, for code that handles both kinds. It shares
// memory with i.
func (i *ClusterVirtualMachineImage) AsImage() *VirtualMachineImage {
	return &VirtualMachineImage{ObjectMeta: i.ObjectMeta, Spec: i.Spec, Status: i.Status}
}

// AsImage returns the virtual machine as a source image for a clone. The image has the labels of vm and labels for its
// instance type and preference, unless vm already has such labels. The spec is empty. The status lists the disks that a
// clone gets, if they are known: the boot disk and the volumes without a PersistentVolumeClaim.
func (vm *VirtualMachine) AsImage() *VirtualMachineImage {
	image := &VirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Namespace: vm.Namespace, Name: vm.Name, Labels: maps.Clone(vm.Labels)}}
	infer := func(label, kindLabel, name, kind string) {
		if name == "" || image.Labels[label] != "" {
			return
		}
		if image.Labels == nil {
			image.Labels = map[string]string{}
		}
		image.Labels[label], image.Labels[kindLabel] = name, kind
	}
	if m := vm.Spec.Instancetype; m != nil {
		infer(LabelDefaultInstancetype, LabelDefaultInstancetypeKind, m.Name, m.Kind)
	}
	if m := vm.Spec.Preference; m != nil {
		infer(LabelDefaultPreference, LabelDefaultPreferenceKind, m.Name, m.Kind)
	}
	if s := vm.Status.Storage; s != nil && s.BootDisk != nil && s.BootDisk.Capacity != nil {
		image.Status.Disks = []VirtualMachineImageDisk{{Name: "boot", Capacity: s.BootDisk.Capacity}}
		for _, v := range vm.Status.Volumes {
			if v.ClaimName == "" && v.Capacity != nil {
				image.Status.Disks = append(image.Status.Disks, VirtualMachineImageDisk{Name: v.Name, Capacity: v.Capacity})
			}
		}
	}
	return image
}

// Location returns the type of the image's source and its location: the library and item names, or the inventory path.
// Both are empty if there is no source.
func (s *VirtualMachineImageSpec) Location() (kind, location string) {
	switch {
	case s.ContentLibrary != nil:
		return "ContentLibrary", s.ContentLibrary.Library + "/" + s.ContentLibrary.Item
	case s.Template != nil:
		return "Template", s.Template.InventoryPath
	default:
		return "", ""
	}
}

// Readiness returns "True" if the image is ready, the reason if it is not, and "" if there is no Ready condition yet.
func (s *VirtualMachineImageStatus) Readiness() string {
	c := meta.FindStatusCondition(s.Conditions, ConditionReady)
	switch {
	case c == nil:
		return ""
	case c.Status == metav1.ConditionTrue:
		return string(c.Status)
	}
	return c.Reason
}

// BootDiskCapacity returns the capacity of the boot disk in bytes, or nil if it is not known.
func (s *VirtualMachineImageStatus) BootDiskCapacity() *resource.Quantity {
	if len(s.Disks) == 0 {
		return nil
	}
	return s.Disks[0].Capacity
}

// HardwareVersionName returns the virtual hardware version in vSphere format, for example vmx-19, or "" if it is not known.
func (s *VirtualMachineImageStatus) HardwareVersionName() string {
	if s.HardwareVersion == 0 {
		return ""
	}
	return fmt.Sprintf("vmx-%d", s.HardwareVersion)
}

// TotalSize returns the space that all copies use on their datastores, in bytes, or nil if no size is known.
func (s *VirtualMachineImageCacheStatus) TotalSize() *resource.Quantity {
	var total *resource.Quantity
	for i := range s.Locations {
		size := s.Locations[i].ContentSize
		switch {
		case size == nil:
		case total == nil:
			total = ptr.To(size.DeepCopy())
		default:
			total.Add(*size)
		}
	}
	return total
}

// SourceName returns the name of the virtual machine that is published.
func (r *VirtualMachinePublishRequest) SourceName() string {
	return cmp.Or(r.Spec.Source.Name, r.Name)
}

// ItemName returns the name of the library item that is created.
func (r *VirtualMachinePublishRequest) ItemName() string {
	return cmp.Or(r.Spec.Target.Item, r.SourceName())
}
