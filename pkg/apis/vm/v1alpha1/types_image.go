// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VirtualMachineImage represents an image in vSphere from which virtual machines are created. Its labels can specify a
// default instance type and preference.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineImage struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the location of the image. Immutable.
	// +optional
	Spec VirtualMachineImageSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state.
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

	// items are the images.
	Items []VirtualMachineImage `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// ClusterVirtualMachineImage is an image for virtual machines of all namespaces. A reference to it must specify the
// kind.
//
// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterVirtualMachineImage struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the location of the image. Immutable.
	// +optional
	Spec VirtualMachineImageSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state.
	// +optional
	Status VirtualMachineImageStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ClusterVirtualMachineImageList is a list of ClusterVirtualMachineImages.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterVirtualMachineImageList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the images.
	Items []ClusterVirtualMachineImage `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// VirtualMachineImageSpec is the location of an image. Exactly one source must be set.
type VirtualMachineImageSpec struct {
	// contentLibrary is an OVF item of a content library.
	// +optional
	ContentLibrary *ContentLibraryImageSource `json:"contentLibrary,omitempty" protobuf:"bytes,1,opt,name=contentLibrary"`
	// template is a virtual machine template in the inventory.
	// +optional
	Template *TemplateImageSource `json:"template,omitempty" protobuf:"bytes,2,opt,name=template"`
}

// ContentLibraryImageSource is an OVF item of a content library.
type ContentLibraryImageSource struct {
	// library is the name of the content library.
	// +required
	Library string `json:"library" protobuf:"bytes,1,opt,name=library"`
	// item is the name of the item.
	// +required
	Item string `json:"item" protobuf:"bytes,2,opt,name=item"`
}

// TemplateImageSource is a virtual machine template in the inventory.
type TemplateImageSource struct {
	// inventoryPath of the template, absolute or relative to the VM folder of the datacenter, for example
	// templates/ubuntu-24.04.
	// +required
	InventoryPath string `json:"inventoryPath" protobuf:"bytes,1,opt,name=inventoryPath"`
}

// ImageType is the vSphere type of an image.
// +enum
type ImageType string

const (
	// ImageTypeOVF is an OVF item of a content library.
	ImageTypeOVF ImageType = "OVF"
	// ImageTypeISO is an ISO item of a content library, for CD-ROM drives.
	ImageTypeISO ImageType = "ISO"
	// ImageTypeTemplate is a virtual machine template in the inventory.
	ImageTypeTemplate ImageType = "Template"
	// ImageTypeVMTX is a virtual machine template in a content library.
	ImageTypeVMTX ImageType = "VMTX"
)

// VirtualMachineImageStatus is the observed state of an image. All fields except conditions describe the content of
// contentVersion. They keep their values if vSphere cannot be read or no longer reports the image. The conditions show
// whether they are current.
type VirtualMachineImageStatus struct {
	// conditions are the conditions of the image: Ready, OVFReady and SettingsApplied.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,14,opt,name=observedGeneration"`
	// type is OVF, VMTX, ISO or Template.
	// +optional
	Type ImageType `json:"type,omitempty" protobuf:"bytes,2,opt,name=type,casttype=ImageType"`
	// contentVersion is the vSphere version of the content that this status describes: the content version of a library
	// item or the change version of a template.
	// +optional
	ContentVersion string `json:"contentVersion,omitempty" protobuf:"bytes,3,opt,name=contentVersion"`
	// contentSize is the space that the image uses on its datastore, in bytes. It is 0 for an item of a subscribed
	// library that is not downloaded yet.
	// +optional
	ContentSize *resource.Quantity `json:"contentSize,omitempty" protobuf:"bytes,4,opt,name=contentSize"`
	// guestID is the vSphere identifier of the guest operating system, for example ubuntu64Guest.
	// +optional
	GuestID string `json:"guestID,omitempty" protobuf:"bytes,5,opt,name=guestID"`
	// firmware is BIOS or EFI. Empty if the image does not specify it.
	// +optional
	Firmware Bootloader `json:"firmware,omitempty" protobuf:"bytes,6,opt,name=firmware,casttype=Bootloader"`
	// secureBoot is true if the image requires UEFI secure boot. Unset if the image does not specify it.
	// +optional
	SecureBoot *bool `json:"secureBoot,omitempty" protobuf:"varint,7,opt,name=secureBoot"`
	// hardwareVersion is the virtual hardware version, for example 19 for vmx-19. Unset if the image does not specify a
	// vSphere version.
	// +optional
	HardwareVersion int32 `json:"hardwareVersion,omitempty" protobuf:"varint,8,opt,name=hardwareVersion"`
	// disks are the disks, in the order of the image. The first is the boot disk.
	// +optional
	// +listType=atomic
	Disks []VirtualMachineImageDisk `json:"disks,omitempty" protobuf:"bytes,9,rep,name=disks"` //nolint:arrayofstruct // observed state: every field is optional
	// networks are the names of the networks in the image.
	// +optional
	// +listType=atomic
	Networks []string `json:"networks,omitempty" protobuf:"bytes,10,rep,name=networks"`
	// properties are the OVF properties that can be set in spec.bootstrap.vAppConfig of a virtual machine.
	// +optional
	// +listType=map
	// +listMapKey=key
	Properties []VirtualMachineImageProperty `json:"properties,omitempty" protobuf:"bytes,11,rep,name=properties"`
	// providerItemID is the vSphere ID of the library item or template. It changes if the item is replaced by another
	// one with the same name.
	// +optional
	ProviderItemID string `json:"providerItemID,omitempty" protobuf:"bytes,12,opt,name=providerItemID"`
	// vCenters are the names of the VCenters that contain the image. Virtual machines can be created from it in the
	// zones of these VCenters.
	// +optional
	// +listType=atomic
	VCenters []string `json:"vCenters,omitempty" protobuf:"bytes,13,rep,name=vCenters"`
	// eula is true if the image has license agreements, which spec.acceptEULA of a virtual machine must accept.
	// +optional
	EULA bool `json:"eula,omitempty" protobuf:"varint,15,opt,name=eula"`
}

// VirtualMachineImageDisk is a disk of an image.
type VirtualMachineImageDisk struct {
	// name of the disk in the image, for example Hard disk 1.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// capacity of the disk that the guest sees, in bytes. Unset if it is chosen at deployment.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty" protobuf:"bytes,2,opt,name=capacity"`
}

// VirtualMachineImageProperty is an OVF property of an image.
type VirtualMachineImageProperty struct {
	// key of the property, with class and instance, as used in spec.bootstrap.vAppConfig.
	// +required
	Key string `json:"key" protobuf:"bytes,1,opt,name=key"`
	// type of the value in vSphere syntax, for example string(1..), boolean or ip.
	// +optional
	Type string `json:"type,omitempty" protobuf:"bytes,2,opt,name=type"`
	// label is a human-readable name.
	// +optional
	Label string `json:"label,omitempty" protobuf:"bytes,3,opt,name=label"`
	// description is a human-readable text, truncated to 256 bytes.
	// +optional
	Description string `json:"description,omitempty" protobuf:"bytes,4,opt,name=description"`
	// default is the default value, truncated to 256 bytes. It is not shown for a password.
	// +optional
	Default string `json:"default,omitempty" protobuf:"bytes,5,opt,name=default"`
	// required is true if a value must be set: the property is user-configurable, has no default and must not be empty.
	// +optional
	Required bool `json:"required,omitempty" protobuf:"varint,6,opt,name=required"`
	// userConfigurable is true if a virtual machine can set the value.
	// +optional
	UserConfigurable bool `json:"userConfigurable,omitempty" protobuf:"varint,7,opt,name=userConfigurable"`
}
