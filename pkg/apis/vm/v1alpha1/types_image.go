// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VirtualMachineImage names something in vSphere that virtual machines are
// created from. Its labels may name a default instance type and preference.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineImage struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec says where the image is. Immutable.
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

// ClusterVirtualMachineImage is a VirtualMachineImage for virtual machines of every
// namespace, which name it with its kind.
//
// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterVirtualMachineImage struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec says where the image is. Immutable.
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

// VirtualMachineImageSpec says where the image is. Exactly one source is set.
type VirtualMachineImageSpec struct {
	// contentLibrary is an OVF item of a content library.
	// +optional
	ContentLibrary *ContentLibraryImageSource `json:"contentLibrary,omitempty" protobuf:"bytes,1,opt,name=contentLibrary"`
	// template is a virtual machine template of the inventory.
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

// TemplateImageSource is a template of the inventory.
type TemplateImageSource struct {
	// inventoryPath of the template, absolute or relative to the datacenter's
	// VM folder, for example templates/ubuntu-24.04.
	// +required
	InventoryPath string `json:"inventoryPath" protobuf:"bytes,1,opt,name=inventoryPath"`
}

// ImageType is what an image is in vSphere.
// +enum
type ImageType string

const (
	// ImageTypeOVF is an OVF item of a content library.
	ImageTypeOVF ImageType = "OVF"
	// ImageTypeISO is an ISO item of a content library, for CD-ROM drives.
	ImageTypeISO ImageType = "ISO"
	// ImageTypeTemplate is a virtual machine template of the inventory.
	ImageTypeTemplate ImageType = "Template"
	// ImageTypeVMTX is an item of a content library that is a virtual machine template.
	ImageTypeVMTX ImageType = "VMTX"
)

// VirtualMachineImageStatus is the observed state of an image. Everything but the
// conditions describes the content of contentVersion, and stays while vSphere cannot be
// read or does not show the image any more: the conditions tell whether it still holds.
type VirtualMachineImageStatus struct {
	// conditions are the observations in detail: Ready, OVFReady and SettingsApplied.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// observedGeneration is the generation of spec that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,14,opt,name=observedGeneration"`
	// type is OVF, VMTX, ISO or Template.
	// +optional
	Type ImageType `json:"type,omitempty" protobuf:"bytes,2,opt,name=type,casttype=ImageType"`
	// contentVersion is the version of what status describes, as vSphere counts it: the
	// content version of a library item, the change version of a template.
	// +optional
	ContentVersion string `json:"contentVersion,omitempty" protobuf:"bytes,3,opt,name=contentVersion"`
	// contentSize is what the image takes on its datastore, in bytes. An item of a subscribed
	// library that was not fetched yet takes none.
	// +optional
	ContentSize *resource.Quantity `json:"contentSize,omitempty" protobuf:"bytes,4,opt,name=contentSize"`
	// guestID is vSphere's identifier of the guest operating system, for example
	// ubuntu64Guest.
	// +optional
	GuestID string `json:"guestID,omitempty" protobuf:"bytes,5,opt,name=guestID"`
	// firmware is BIOS or EFI, empty where the image does not say.
	// +optional
	Firmware Bootloader `json:"firmware,omitempty" protobuf:"bytes,6,opt,name=firmware,casttype=Bootloader"`
	// secureBoot is true for an image that wants UEFI secure boot, and absent where it
	// does not say.
	// +optional
	SecureBoot *bool `json:"secureBoot,omitempty" protobuf:"varint,7,opt,name=secureBoot"`
	// hardwareVersion is the virtual hardware version, for example 19; absent where the
	// image names none of vSphere's.
	// +optional
	HardwareVersion int32 `json:"hardwareVersion,omitempty" protobuf:"varint,8,opt,name=hardwareVersion"`
	// disks are the disks, in the order of the image: it boots from the first.
	// +optional
	// +listType=atomic
	Disks []VirtualMachineImageDisk `json:"disks,omitempty" protobuf:"bytes,9,rep,name=disks"` //nolint:arrayofstruct // observed: of one, what is known of it
	// networks are the networks that the image was made with, by their names there.
	// +optional
	// +listType=atomic
	Networks []string `json:"networks,omitempty" protobuf:"bytes,10,rep,name=networks"`
	// properties are the OVF properties, which spec.bootstrap.vAppConfig gives values to.
	// +optional
	// +listType=map
	// +listMapKey=key
	Properties []VirtualMachineImageProperty `json:"properties,omitempty" protobuf:"bytes,11,rep,name=properties"`
	// providerItemID is vSphere's own ID of what status describes: of a library item, or
	// of a template. It changes when somebody makes another one of the same name.
	// +optional
	ProviderItemID string `json:"providerItemID,omitempty" protobuf:"bytes,12,opt,name=providerItemID"`
	// vCenters are the names of the VCenters that have the image: virtual machines can be
	// made of it in their zones.
	// +optional
	// +listType=atomic
	VCenters []string `json:"vCenters,omitempty" protobuf:"bytes,13,rep,name=vCenters"`
	// eula is true for an image with license agreements, which spec.acceptEULA of a virtual
	// machine must accept.
	// +optional
	EULA bool `json:"eula,omitempty" protobuf:"varint,15,opt,name=eula"`
}

// VirtualMachineImageDisk is a disk of an image.
type VirtualMachineImageDisk struct {
	// name that the image has for it, for example Hard disk 1.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// capacity of the disk as the guest sees it, in bytes; absent where the image leaves
	// it to the deployment.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty" protobuf:"bytes,2,opt,name=capacity"`
}

// VirtualMachineImageProperty is an OVF property of an image.
type VirtualMachineImageProperty struct {
	// key with class and instance, as spec.bootstrap.vAppConfig names it.
	// +required
	Key string `json:"key" protobuf:"bytes,1,opt,name=key"`
	// type of the value as vSphere writes it, for example string(1..), boolean or ip.
	// +optional
	Type string `json:"type,omitempty" protobuf:"bytes,2,opt,name=type"`
	// label for people.
	// +optional
	Label string `json:"label,omitempty" protobuf:"bytes,3,opt,name=label"`
	// description for people, cut to 256 bytes.
	// +optional
	Description string `json:"description,omitempty" protobuf:"bytes,4,opt,name=description"`
	// default is the value that the property has when none is given, cut to 256
	// bytes; that of a password is not shown.
	// +optional
	Default string `json:"default,omitempty" protobuf:"bytes,5,opt,name=default"`
	// required is true when a value has to be given: users may set it, it must not be
	// empty, and it has no default.
	// +optional
	Required bool `json:"required,omitempty" protobuf:"varint,6,opt,name=required"`
	// userConfigurable is false for a property whose value is the image's own.
	// +optional
	UserConfigurable bool `json:"userConfigurable,omitempty" protobuf:"varint,7,opt,name=userConfigurable"`
}
