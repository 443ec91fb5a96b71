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
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec says of what copies are kept, and where.
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

// VirtualMachineImageCacheSpec says of what copies are kept, and where.
type VirtualMachineImageCacheSpec struct {
	// contentLibrary is the OVF item of a content library whose files are kept, of the
	// vCenter of each location. Immutable.
	// +required
	ContentLibrary ContentLibraryImageSource `json:"contentLibrary" protobuf:"bytes,1,opt,name=contentLibrary"`
	// locations are where copies are kept, at most 64. One that is taken away gives its
	// copies up when no disk and no copy needs them any more.
	// +optional
	// +listType=atomic
	Locations []VirtualMachineImageCacheLocation `json:"locations,omitempty" protobuf:"bytes,2,rep,name=locations"`
}

// VirtualMachineImageCacheLocation is where copies are kept.
type VirtualMachineImageCacheLocation struct {
	// vCenter is the name of the VCenter. Defaults to default.
	// +optional
	VCenter string `json:"vCenter,omitempty" protobuf:"bytes,1,opt,name=vCenter"`
	// datastore is the inventory path of the datastore, for example /DC0/datastore/ssd, or
	// its name where only one has it.
	// +required
	Datastore string `json:"datastore" protobuf:"bytes,2,opt,name=datastore"`
	// storagePolicy is the name or the ID of the storage policy that the copies have. None
	// when unset.
	// +optional
	StoragePolicy string `json:"storagePolicy,omitempty" protobuf:"bytes,3,opt,name=storagePolicy"`
}

// VirtualMachineImageCacheStatus is the observed state of a cache.
type VirtualMachineImageCacheStatus struct {
	// conditions are the observations in detail: Ready, and before it ProviderReady,
	// OVFReady and FilesReady.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// observedGeneration is the generation of spec that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,3,opt,name=observedGeneration"`
	// locations are what is known of each place that has copies, or is to have them.
	// +optional
	// +listType=atomic
	Locations []VirtualMachineImageCacheLocationStatus `json:"locations,omitempty" protobuf:"bytes,2,rep,name=locations"`
}

// VirtualMachineImageCacheLocationStatus is what is known of one place.
type VirtualMachineImageCacheLocationStatus struct {
	// conditions are the observations in detail: Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,13,rep,name=conditions"`
	// vCenter is the name of the VCenter.
	// +required
	VCenter string `json:"vCenter" protobuf:"bytes,1,opt,name=vCenter"`
	// datastore as the spec writes it.
	// +required
	Datastore string `json:"datastore" protobuf:"bytes,2,opt,name=datastore"`
	// storagePolicy as the spec writes it.
	// +optional
	StoragePolicy string `json:"storagePolicy,omitempty" protobuf:"bytes,3,opt,name=storagePolicy"`
	// datastoreID is vSphere's managed object ID of the datastore; empty until it is found.
	// +optional
	DatastoreID string `json:"datastoreID,omitempty" protobuf:"bytes,4,opt,name=datastoreID"`
	// profileID is vSphere's ID of the storage policy; empty without one, or until it is
	// found.
	// +optional
	ProfileID string `json:"profileID,omitempty" protobuf:"bytes,5,opt,name=profileID"`
	// itemID is vSphere's ID of the library item that the copies are of.
	// +optional
	ItemID string `json:"itemID,omitempty" protobuf:"bytes,6,opt,name=itemID"`
	// contentVersion is the version of the item that the copies are of.
	// +optional
	ContentVersion string `json:"contentVersion,omitempty" protobuf:"bytes,7,opt,name=contentVersion"`
	// directory of the copies as a datastore path, for example [ssd] slipway-images/a.
	// +optional
	Directory string `json:"directory,omitempty" protobuf:"bytes,8,opt,name=directory"`
	// files are the copies, in the order of the image.
	// +optional
	// +listType=atomic
	Files []VirtualMachineImageCacheFile `json:"files,omitempty" protobuf:"bytes,9,rep,name=files"`
	// contentSize is what the copies take on the datastore, in bytes.
	// +optional
	ContentSize *resource.Quantity `json:"contentSize,omitempty" protobuf:"bytes,10,opt,name=contentSize"`
	// progress of the copies, in percent; 100 when all are there.
	// +optional
	Progress int32 `json:"progress,omitempty" protobuf:"varint,11,opt,name=progress"`
	// lastUsed is when a virtual machine was last made of the copies, to the minute.
	// +optional
	LastUsed *metav1.Time `json:"lastUsed,omitempty" protobuf:"bytes,12,opt,name=lastUsed"`
}

// VirtualMachineImageCacheFile is a copy of a file of an image.
type VirtualMachineImageCacheFile struct {
	// id of the file in the image, as its descriptor names it.
	// +required
	ID string `json:"id" protobuf:"bytes,1,opt,name=id"`
	// path of the copy as a datastore path.
	// +required
	Path string `json:"path" protobuf:"bytes,2,opt,name=path"`
	// type is Disk or Other.
	// +required
	Type CachedFileType `json:"type" protobuf:"bytes,3,opt,name=type,casttype=CachedFileType"`
	// contentSize of the copy on the datastore, in bytes.
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
