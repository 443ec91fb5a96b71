// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ImageCacheFinalizer keeps a VirtualMachineImageCache until its copies are gone.
const ImageCacheFinalizer = "vm.slipway.dev/imagecache"

// VirtualMachineImageCache keeps copies of the files of one image on datastores, so that
// virtual machines are made there in seconds. One is made when a virtual machine of a fast
// deploy mode needs it; who writes one by hand has the copies before.
//
// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineImageCache struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// Spec says of what copies are kept, and where.
	// +optional
	Spec VirtualMachineImageCacheSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Status is the observed state.
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

	// Items are the caches.
	Items []VirtualMachineImageCache `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// VirtualMachineImageCacheSpec says of what copies are kept, and where.
type VirtualMachineImageCacheSpec struct {
	// ContentLibrary is the OVF item of a content library whose files are kept, of the
	// vCenter of each location. Immutable.
	ContentLibrary ContentLibraryImageSource `json:"contentLibrary" protobuf:"bytes,1,opt,name=contentLibrary"`
	// Locations are where copies are kept, at most 64. One that is taken away gives its
	// copies up when no disk and no copy needs them any more.
	// +optional
	// +listType=atomic
	Locations []VirtualMachineImageCacheLocation `json:"locations,omitempty" protobuf:"bytes,2,rep,name=locations"`
}

// VirtualMachineImageCacheLocation is where copies are kept.
type VirtualMachineImageCacheLocation struct {
	// VCenter is the name of the VCenter. Defaults to default.
	// +optional
	VCenter string `json:"vCenter,omitempty" protobuf:"bytes,1,opt,name=vCenter"`
	// Datastore is the inventory path of the datastore, for example /DC0/datastore/ssd, or
	// its name where only one has it.
	Datastore string `json:"datastore" protobuf:"bytes,2,opt,name=datastore"`
	// StoragePolicy is the name or the ID of the storage policy that the copies have. None
	// when unset.
	// +optional
	StoragePolicy string `json:"storagePolicy,omitempty" protobuf:"bytes,3,opt,name=storagePolicy"`
}

// VirtualMachineImageCacheStatus is the observed state of a cache.
type VirtualMachineImageCacheStatus struct {
	// Conditions are the observations in detail: Ready, and before it ProviderReady,
	// OVFReady and FilesReady.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" protobuf:"bytes,1,rep,name=conditions"`
	// Locations are what is known of each place that has copies, or is to have them.
	// +optional
	// +listType=atomic
	Locations []VirtualMachineImageCacheLocationStatus `json:"locations,omitempty" protobuf:"bytes,2,rep,name=locations"`
}

// VirtualMachineImageCacheLocationStatus is what is known of one place.
type VirtualMachineImageCacheLocationStatus struct {
	// VCenter is the name of the VCenter.
	VCenter string `json:"vCenter" protobuf:"bytes,1,opt,name=vCenter"`
	// Datastore as the spec writes it.
	Datastore string `json:"datastore" protobuf:"bytes,2,opt,name=datastore"`
	// StoragePolicy as the spec writes it.
	// +optional
	StoragePolicy string `json:"storagePolicy,omitempty" protobuf:"bytes,3,opt,name=storagePolicy"`
	// DatastoreID is vSphere's managed object ID of the datastore; empty until it is found.
	// +optional
	DatastoreID string `json:"datastoreID,omitempty" protobuf:"bytes,4,opt,name=datastoreID"`
	// ProfileID is vSphere's ID of the storage policy; empty without one, or until it is
	// found.
	// +optional
	ProfileID string `json:"profileID,omitempty" protobuf:"bytes,5,opt,name=profileID"`
	// ItemID is vSphere's ID of the library item that the copies are of.
	// +optional
	ItemID string `json:"itemID,omitempty" protobuf:"bytes,6,opt,name=itemID"`
	// ContentVersion is the version of the item that the copies are of.
	// +optional
	ContentVersion string `json:"contentVersion,omitempty" protobuf:"bytes,7,opt,name=contentVersion"`
	// Directory of the copies as a datastore path, for example [ssd] slipway-images/a.
	// +optional
	Directory string `json:"directory,omitempty" protobuf:"bytes,8,opt,name=directory"`
	// Files are the copies, in the order of the image.
	// +optional
	// +listType=atomic
	Files []VirtualMachineImageCacheFile `json:"files,omitempty" protobuf:"bytes,9,rep,name=files"`
	// ContentSize is what the copies take on the datastore, in bytes.
	// +optional
	ContentSize *resource.Quantity `json:"contentSize,omitempty" protobuf:"bytes,10,opt,name=contentSize"`
	// Progress of the copies, in percent; 100 when all are there.
	// +optional
	Progress int32 `json:"progress,omitempty" protobuf:"varint,11,opt,name=progress"`
	// LastUsed is when a virtual machine was last made of the copies, to the minute.
	// +optional
	LastUsed *metav1.Time `json:"lastUsed,omitempty" protobuf:"bytes,12,opt,name=lastUsed"`
	// Conditions are the observations in detail: Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" protobuf:"bytes,13,rep,name=conditions"`
}

// VirtualMachineImageCacheFile is a copy of a file of an image.
type VirtualMachineImageCacheFile struct {
	// ID of the file in the image, as its descriptor names it.
	ID string `json:"id" protobuf:"bytes,1,opt,name=id"`
	// Path of the copy as a datastore path.
	Path string `json:"path" protobuf:"bytes,2,opt,name=path"`
	// Type is Disk or Other.
	Type CachedFileType `json:"type" protobuf:"bytes,3,opt,name=type,casttype=CachedFileType"`
	// ContentSize of the copy on the datastore, in bytes.
	// +optional
	ContentSize *resource.Quantity `json:"contentSize,omitempty" protobuf:"bytes,4,opt,name=contentSize"`
}

// CachedFileType is what a file of an image is.
// +enum
type CachedFileType string

const (
	// CachedFileDisk is a virtual disk.
	CachedFileDisk CachedFileType = "Disk"
	// CachedFileOther is any other file, for example the one of the firmware's variables.
	CachedFileOther CachedFileType = "Other"
)

// FastDeployModes are all of them.
var FastDeployModes = []FastDeployMode{FastDeployOff, FastDeployDirect, FastDeployLinked}

// FastDeployMode is how the disks of a virtual machine are made from an image.
// +enum
type FastDeployMode string

const (
	// FastDeployOff lets vSphere deploy the library item.
	FastDeployOff FastDeployMode = "off"
	// FastDeployDirect copies the cached disks.
	FastDeployDirect FastDeployMode = "direct"
	// FastDeployLinked makes disks that hold only what differs from the cached ones.
	FastDeployLinked FastDeployMode = "linked"
)
