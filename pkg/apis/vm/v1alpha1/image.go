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

// AsImage returns the image as one without namespace, for code that does not care which
// kind names it. It shares memory with i.
func (i *ClusterVirtualMachineImage) AsImage() *VirtualMachineImage {
	return &VirtualMachineImage{ObjectMeta: i.ObjectMeta, Spec: i.Spec, Status: i.Status}
}

// AsImage returns the virtual machine as an image from which another is cloned: with its
// labels, and beside them those that say which instance type and preference it was made
// with, unless it has labels that say so. The image has no spec, and its status tells the
// disks that a clone has, if those of vm are known: its boot disk and those of its volumes
// that are not the disks of claims.
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

// Location returns the kind of an image's source, and where that is: the name of the
// library with that of the item, or the inventory path. Both are empty without a source.
func (s *VirtualMachineImageSpec) Location() (kind, where string) {
	switch {
	case s.ContentLibrary != nil:
		return "ContentLibrary", s.ContentLibrary.Library + "/" + s.ContentLibrary.Item
	case s.Template != nil:
		return "Template", s.Template.InventoryPath
	default:
		return "", ""
	}
}

// Readiness is True for an image that virtual machines can be made from, and the reason
// for one that is not so; empty for one that nobody has looked at.
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

// BootDisk is the capacity of the disk that the image boots from, in bytes; nil where it
// is not known.
func (s *VirtualMachineImageStatus) BootDisk() *resource.Quantity {
	if len(s.Disks) == 0 {
		return nil
	}
	return s.Disks[0].Capacity
}

// Hardware is the virtual hardware version as vSphere writes it, for example vmx-19;
// empty where it is not known.
func (s *VirtualMachineImageStatus) Hardware() string {
	if s.HardwareVersion == 0 {
		return ""
	}
	return fmt.Sprintf("vmx-%d", s.HardwareVersion)
}

// TotalSize is what all copies take on their datastores, in bytes; nil while nothing is known.
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

// SourceName is the name of the virtual machine that is published.
func (r *VirtualMachinePublishRequest) SourceName() string {
	return cmp.Or(r.Spec.Source.Name, r.Name)
}

// ItemName is the name of the item that is made.
func (r *VirtualMachinePublishRequest) ItemName() string {
	return cmp.Or(r.Spec.Target.Item, r.SourceName())
}
