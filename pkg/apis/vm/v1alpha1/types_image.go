// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VirtualMachineImage names something in vSphere that virtual machines are
// created from. Its labels may name a default instance type and preference.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineImage struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// Spec says where the image is. Immutable.
	// +optional
	Spec VirtualMachineImageSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Status is the observed state.
	// +optional
	Status VirtualMachineImageStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// VirtualMachineImageList is a list of VirtualMachineImages.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineImageList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// Items are the images.
	Items []VirtualMachineImage `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// VirtualMachineImageSpec says where the image is. Exactly one source is set.
type VirtualMachineImageSpec struct {
	// ContentLibrary is an OVF item of a content library.
	// +optional
	ContentLibrary *ContentLibraryImageSource `json:"contentLibrary,omitempty" protobuf:"bytes,1,opt,name=contentLibrary"`
	// Template is a virtual machine template of the inventory.
	// +optional
	Template *TemplateImageSource `json:"template,omitempty" protobuf:"bytes,2,opt,name=template"`
}

// ContentLibraryImageSource is an OVF item of a content library.
type ContentLibraryImageSource struct {
	// Library is the name of the content library.
	Library string `json:"library" protobuf:"bytes,1,opt,name=library"`
	// Item is the name of the item.
	Item string `json:"item" protobuf:"bytes,2,opt,name=item"`
}

// TemplateImageSource is a template of the inventory.
type TemplateImageSource struct {
	// InventoryPath of the template, absolute or relative to the datacenter's
	// VM folder, for example templates/ubuntu-24.04.
	InventoryPath string `json:"inventoryPath" protobuf:"bytes,1,opt,name=inventoryPath"`
}

// VirtualMachineImageStatus is the observed state of an image.
type VirtualMachineImageStatus struct {
	// Conditions are the observations in detail.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" protobuf:"bytes,1,rep,name=conditions"`
}
