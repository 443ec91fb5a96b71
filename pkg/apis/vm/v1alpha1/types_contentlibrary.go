// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ContentLibraryFinalizer blocks the deletion of a ContentLibrary until the images that were created for it are deleted
// or released.
const ContentLibraryFinalizer = "vm.slipway.dev/contentlibrary"

// LabelContentLibrary is the label with the name of the ContentLibrary that created an image. The controller does not
// change images without it.
const LabelContentLibrary = "vm.slipway.dev/content-library"

// ContentLibrary publishes the items of a vSphere content library. The controller creates an image object for each
// item. It deletes the image when the item is deleted and no virtual machine refers to the image.
//
// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ContentLibrary struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec defines which items are published, and in which namespaces.
	// +required
	Spec ContentLibrarySpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state.
	// +optional
	Status ContentLibraryStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ContentLibraryList is a list of ContentLibraries.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ContentLibraryList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the content libraries.
	Items []ContentLibrary `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// ContentLibrarySpec defines which items of a content library are published, and in which namespaces.
type ContentLibrarySpec struct {
	// library is the name of the content library in vSphere. Immutable.
	// +required
	Library string `json:"library" protobuf:"bytes,1,opt,name=library"`
	// namespace in which VirtualMachineImages are created. If unset, ClusterVirtualMachineImages are created. Immutable.
	// +optional
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
	// include are patterns for the names of the items that are published, at most 64. * matches any number of
	// characters, ? matches one. If unset, all items are published.
	// +optional
	// +listType=atomic
	Include []string `json:"include,omitempty" protobuf:"bytes,3,rep,name=include"`
	// exclude are patterns for the names of the items that are not published, at most 64. They take precedence over
	// include.
	// +optional
	// +listType=atomic
	Exclude []string `json:"exclude,omitempty" protobuf:"bytes,4,rep,name=exclude"`
	// nameTemplate is the name of the images. {item} and {library} are replaced with the vSphere names, in lower case
	// and with hyphens in place of characters that are not allowed. Defaults to {item}. Immutable.
	// +optional
	NameTemplate string `json:"nameTemplate,omitempty" protobuf:"bytes,5,opt,name=nameTemplate"`
	// defaults define the instance type and preference that are inferred from an image, by guest operating system. The
	// first entry that matches is used. At most 64.
	// +optional
	// +listType=atomic
	Defaults []ContentLibraryDefault `json:"defaults,omitempty" protobuf:"bytes,6,rep,name=defaults"`
	// vCenter is the name of the VCenter whose library of this name receives published virtual machines. Images are
	// created for the items of all vCenters that have the library. Defaults to default. Immutable.
	// +optional
	VCenter string `json:"vCenter,omitempty" protobuf:"bytes,7,opt,name=vCenter"`
	// publishFrom selects, by label, the namespaces whose virtual machines can be published in the library. If unset, no
	// namespace is selected. An empty selector selects all namespaces.
	// +optional
	PublishFrom *metav1.LabelSelector `json:"publishFrom,omitempty" protobuf:"bytes,8,opt,name=publishFrom"`
}

// ContentLibraryDefault defines the instance type and preference for images of a guest operating system. The controller
// sets them as labels of the images.
type ContentLibraryDefault struct {
	// guestID is a pattern for the vSphere identifier of the guest operating system, for example ubuntu*. * matches any
	// number of characters, ? matches one.
	// +required
	GuestID string `json:"guestID" protobuf:"bytes,1,opt,name=guestID"`
	// instancetype is the name of the default instance type.
	// +optional
	Instancetype string `json:"instancetype,omitempty" protobuf:"bytes,2,opt,name=instancetype"`
	// instancetypeKind is the kind of the instance type. Defaults, when used, to VirtualMachineClusterInstancetype.
	// +optional
	InstancetypeKind string `json:"instancetypeKind,omitempty" protobuf:"bytes,3,opt,name=instancetypeKind"`
	// preference is the name of the default preference.
	// +optional
	Preference string `json:"preference,omitempty" protobuf:"bytes,4,opt,name=preference"`
	// preferenceKind is the kind of the preference. Defaults, when used, to VirtualMachineClusterPreference.
	// +optional
	PreferenceKind string `json:"preferenceKind,omitempty" protobuf:"bytes,5,opt,name=preferenceKind"`
}

// ContentLibraryStatus is the observed state of a content library.
type ContentLibraryStatus struct {
	// conditions are the conditions of the content library: Ready and Deleting.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,5,rep,name=conditions"`
	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,6,opt,name=observedGeneration"`
	// items is the number of items in the library.
	// +optional
	Items int32 `json:"items,omitempty" protobuf:"varint,1,opt,name=items"`
	// images is the number of image objects of the library.
	// +optional
	Images int32 `json:"images,omitempty" protobuf:"varint,2,opt,name=images"`
	// kept are the names of images whose items were deleted but which virtual machines still use, in alphabetical order.
	// At most 64.
	// +optional
	// +listType=atomic
	Kept []string `json:"kept,omitempty" protobuf:"bytes,3,rep,name=kept"`
	// renamed are the items whose images have another name than the template defines, because that name is in use. At
	// most 64.
	// +optional
	// +listType=map
	// +listMapKey=image
	Renamed []ContentLibraryRenamed `json:"renamed,omitempty" protobuf:"bytes,4,rep,name=renamed"`
}

// ContentLibraryRenamed is an item whose image has another name than the template defines.
type ContentLibraryRenamed struct {
	// item is the name of the item in vSphere.
	// +required
	Item string `json:"item" protobuf:"bytes,1,opt,name=item"`
	// image is the name of the image.
	// +required
	Image string `json:"image" protobuf:"bytes,2,opt,name=image"`
	// wanted is the name that the template defines and that is in use.
	// +required
	Wanted string `json:"wanted" protobuf:"bytes,3,opt,name=wanted"`
}
