// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VirtualMachineImage names something in vSphere that virtual machines are
// created from. Its labels may name a default instance type and preference.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineImage struct {
	metav1.TypeMeta
	// Standard object metadata.
	metav1.ObjectMeta

	// Spec says where the image is. Immutable.
	Spec VirtualMachineImageSpec
	// Status is the observed state.
	Status VirtualMachineImageStatus
}

// VirtualMachineImageList is a list of VirtualMachineImages.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineImageList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []VirtualMachineImage
}

// VirtualMachineImageSpec says where the image is. Exactly one source is set.
type VirtualMachineImageSpec struct {
	// ContentLibrary is an OVF item of a content library.
	ContentLibrary *ContentLibraryImageSource
	// Template is a virtual machine template of the inventory.
	Template *TemplateImageSource
}

// ContentLibraryImageSource is an OVF item of a content library.
type ContentLibraryImageSource struct {
	// Library is the name of the content library.
	Library string
	// Item is the name of the item.
	Item string
}

// TemplateImageSource is a template of the inventory.
type TemplateImageSource struct {
	// InventoryPath of the template, absolute or relative to the datacenter's
	// VM folder, for example templates/ubuntu-24.04.
	InventoryPath string
}

// VirtualMachineImageStatus is the observed state of an image.
type VirtualMachineImageStatus struct {
	// Conditions are the observations in detail.
	Conditions []metav1.Condition
}
