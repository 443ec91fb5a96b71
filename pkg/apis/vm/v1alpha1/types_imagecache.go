// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ImageCacheFinalizer keeps a VirtualMachineImageCache until its copies are deleted.
const ImageCacheFinalizer = "vm.slipway.dev/imagecache"

// VirtualMachineImageCache keeps copies of an image's files on datastores, so that virtual machines can be created from
// them in seconds. The server creates one when a virtual machine with a fast deploy mode needs it. A user can create
// one to copy the files in advance.
//
// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineImageCache struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec defines which image is copied, and to which datastores.
	// +required
	Spec VirtualMachineImageCacheSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state.
	// +optional
	Status VirtualMachineImageCacheStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// VirtualMachineImageCacheList is a list of VirtualMachineImageCaches.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineImageCacheList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the caches.
	Items []VirtualMachineImageCache `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// VirtualMachineImageCacheSpec defines which image is copied, and to which datastores.
type VirtualMachineImageCacheSpec struct {
	// contentLibrary is the OVF item whose files are copied from the content library in the vCenter of each location.
	// Immutable.
	// +required
	ContentLibrary ContentLibraryImageSource `json:"contentLibrary" protobuf:"bytes,1,opt,name=contentLibrary"`
	// locations are the datastores that hold copies, at most 64. The copies of a removed location are deleted when no
	// disk or copy operation uses them.
	// +optional
	// +listType=atomic
	Locations []VirtualMachineImageCacheLocation `json:"locations,omitempty" protobuf:"bytes,2,rep,name=locations"`
}

// VirtualMachineImageCacheLocation is a datastore that holds copies.
type VirtualMachineImageCacheLocation struct {
	// vCenter is the name of the VCenter. Defaults to default.
	// +optional
	VCenter string `json:"vCenter,omitempty" protobuf:"bytes,1,opt,name=vCenter"`
	// datastore is the inventory path of the datastore, for example /DC0/datastore/ssd, or its name if the name is
	// unique.
	// +required
	Datastore string `json:"datastore" protobuf:"bytes,2,opt,name=datastore"`
	// storagePolicy is the name or ID of the storage policy of the copies. If unset, the copies have no storage policy.
	// +optional
	StoragePolicy string `json:"storagePolicy,omitempty" protobuf:"bytes,3,opt,name=storagePolicy"`
}

// VirtualMachineImageCacheStatus is the observed state of an image cache.
type VirtualMachineImageCacheStatus struct {
	// conditions are the conditions of the cache: Ready, ProviderReady, OVFReady and FilesReady.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,3,opt,name=observedGeneration"`
	// locations is the observed state of the locations in the spec and of removed locations that still have copies.
	// +optional
	// +listType=atomic
	Locations []VirtualMachineImageCacheLocationStatus `json:"locations,omitempty" protobuf:"bytes,2,rep,name=locations"`
}

// VirtualMachineImageCacheLocationStatus is the observed state of a location.
type VirtualMachineImageCacheLocationStatus struct {
	// conditions are the conditions of the location: Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,13,rep,name=conditions"`
	// vCenter is the name of the VCenter.
	// +required
	VCenter string `json:"vCenter" protobuf:"bytes,1,opt,name=vCenter"`
	// datastore is the value in the spec.
	// +required
	Datastore string `json:"datastore" protobuf:"bytes,2,opt,name=datastore"`
	// storagePolicy is the value in the spec.
	// +optional
	StoragePolicy string `json:"storagePolicy,omitempty" protobuf:"bytes,3,opt,name=storagePolicy"`
	// datastoreID is the managed object ID of the datastore. Empty until the datastore is found.
	// +optional
	DatastoreID string `json:"datastoreID,omitempty" protobuf:"bytes,4,opt,name=datastoreID"`
	// profileID is the vSphere ID of the storage policy. Empty if there is no policy or it is not found yet.
	// +optional
	ProfileID string `json:"profileID,omitempty" protobuf:"bytes,5,opt,name=profileID"`
	// itemID is the vSphere ID of the library item.
	// +optional
	ItemID string `json:"itemID,omitempty" protobuf:"bytes,6,opt,name=itemID"`
	// contentVersion is the version of the library item that was copied.
	// +optional
	ContentVersion string `json:"contentVersion,omitempty" protobuf:"bytes,7,opt,name=contentVersion"`
	// directory of the copies as a datastore path, for example [ssd] slipway-images/a.
	// +optional
	Directory string `json:"directory,omitempty" protobuf:"bytes,8,opt,name=directory"`
	// files are the copies, in the order of the image.
	// +optional
	// +listType=atomic
	Files []VirtualMachineImageCacheFile `json:"files,omitempty" protobuf:"bytes,9,rep,name=files"`
	// contentSize is the space that the copies use on the datastore, in bytes.
	// +optional
	ContentSize *resource.Quantity `json:"contentSize,omitempty" protobuf:"bytes,10,opt,name=contentSize"`
	// progress of the copy operations, in percent. 100 if all copies exist.
	// +optional
	Progress int32 `json:"progress,omitempty" protobuf:"varint,11,opt,name=progress"`
	// lastUsed is the time when a virtual machine was last created from the copies, with a precision of one minute.
	// +optional
	LastUsed *metav1.Time `json:"lastUsed,omitempty" protobuf:"bytes,12,opt,name=lastUsed"`
}

// VirtualMachineImageCacheFile is a copy of an image file.
type VirtualMachineImageCacheFile struct {
	// id of the file in the OVF descriptor of the image.
	// +required
	ID string `json:"id" protobuf:"bytes,1,opt,name=id"`
	// path of the copy as a datastore path.
	// +required
	Path string `json:"path" protobuf:"bytes,2,opt,name=path"`
	// type is Disk or Other.
	// +required
	Type CachedFileType `json:"type" protobuf:"bytes,3,opt,name=type,casttype=CachedFileType"`
	// contentSize is the space that the copy uses on the datastore, in bytes.
	// +optional
	ContentSize *resource.Quantity `json:"contentSize,omitempty" protobuf:"bytes,4,opt,name=contentSize"`
}

// CachedFileType is the type of an image file.
// +enum
type CachedFileType string

const (
	// CachedFileDisk is a virtual disk.
	CachedFileDisk CachedFileType = "Disk"
	// CachedFileOther is any other file, for example an NVRAM file.
	CachedFileOther CachedFileType = "Other"
)

// FastDeployModes lists the fast deploy modes.
var FastDeployModes = []FastDeployMode{FastDeployOff, FastDeployDirect, FastDeployLinked}

// FastDeployMode defines how the disks of a virtual machine are created from an image.
// +enum
type FastDeployMode string

const (
	// FastDeployOff deploys the library item with vSphere.
	FastDeployOff FastDeployMode = "off"
	// FastDeployDirect copies the cached disks.
	FastDeployDirect FastDeployMode = "direct"
	// FastDeployLinked creates linked clones of the cached disks.
	FastDeployLinked FastDeployMode = "linked"
)
