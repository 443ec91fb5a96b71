// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ContentLibraryFinalizer keeps a ContentLibrary until the images that were made for it
// are gone, or left to their users.
const ContentLibraryFinalizer = "vm.slipway.dev/contentlibrary"

// LabelContentLibrary is on images that a ContentLibrary made, with its name. An image
// without it is nobody's but its author's.
const LabelContentLibrary = "vm.slipway.dev/content-library"

// ContentLibrary publishes the items of a content library of vSphere: each has an image
// object as long as it is there.
//
// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ContentLibrary struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// Spec says what is published, and for whom.
	// +optional
	Spec ContentLibrarySpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Status is the observed state.
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

	// Items are the content libraries.
	Items []ContentLibrary `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// ContentLibrarySpec says what of a content library is published, and for whom.
type ContentLibrarySpec struct {
	// Library is the name of the content library in vSphere. Immutable.
	Library string `json:"library" protobuf:"bytes,1,opt,name=library"`
	// Namespace in which VirtualMachineImages are made. Unset, ClusterVirtualMachineImages
	// are made. Immutable.
	// +optional
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
	// Include are patterns of the names of the items that are published, at most 64. In
	// them * stands for any characters, and ? for one. All when unset.
	// +optional
	// +listType=atomic
	Include []string `json:"include,omitempty" protobuf:"bytes,3,rep,name=include"`
	// Exclude are patterns of those that are not, whatever include says; at most 64.
	// +optional
	// +listType=atomic
	Exclude []string `json:"exclude,omitempty" protobuf:"bytes,4,rep,name=exclude"`
	// NameTemplate is the name of the images, in which {item} and {library} stand for the
	// names in vSphere, in lower case and with a hyphen for what a name cannot have.
	// Defaults to {item}. Immutable.
	// +optional
	NameTemplate string `json:"nameTemplate,omitempty" protobuf:"bytes,5,opt,name=nameTemplate"`
	// Defaults say which instance type and preference are inferred from an image, by its
	// guest operating system; at most 64. The first that fits counts.
	// +optional
	// +listType=atomic
	Defaults []ContentLibraryDefault `json:"defaults,omitempty" protobuf:"bytes,6,rep,name=defaults"`
	// VCenter is the name of the VCenter in whose library of the name virtual machines are
	// published. Images are made of the items of every vCenter that has one. Defaults to
	// default. Immutable.
	// +optional
	VCenter string `json:"vCenter,omitempty" protobuf:"bytes,7,opt,name=vCenter"`
	// PublishFrom selects the namespaces, by their labels, whose virtual machines may be
	// published in the library. None when unset; an empty selector selects all.
	// +optional
	PublishFrom *metav1.LabelSelector `json:"publishFrom,omitempty" protobuf:"bytes,8,opt,name=publishFrom"`
}

// ContentLibraryDefault says what is inferred from images of a guest operating system, by
// the labels that they get.
type ContentLibraryDefault struct {
	// GuestID is a pattern of vSphere's identifier of the guest operating system, for
	// example ubuntu*. * stands for any characters, and ? for one.
	GuestID string `json:"guestID" protobuf:"bytes,1,opt,name=guestID"`
	// Instancetype is the name of the default instance type.
	// +optional
	Instancetype string `json:"instancetype,omitempty" protobuf:"bytes,2,opt,name=instancetype"`
	// InstancetypeKind is its kind. VirtualMachineClusterInstancetype when unset.
	// +optional
	InstancetypeKind string `json:"instancetypeKind,omitempty" protobuf:"bytes,3,opt,name=instancetypeKind"`
	// Preference is the name of the default preference.
	// +optional
	Preference string `json:"preference,omitempty" protobuf:"bytes,4,opt,name=preference"`
	// PreferenceKind is its kind. VirtualMachineClusterPreference when unset.
	// +optional
	PreferenceKind string `json:"preferenceKind,omitempty" protobuf:"bytes,5,opt,name=preferenceKind"`
}

// ContentLibraryStatus is the observed state of a content library.
type ContentLibraryStatus struct {
	// Items is the number of items that vSphere has in it.
	// +optional
	Items int32 `json:"items,omitempty" protobuf:"varint,1,opt,name=items"`
	// Images is the number of images that there are for it.
	// +optional
	Images int32 `json:"images,omitempty" protobuf:"varint,2,opt,name=images"`
	// Kept names images whose items are gone and which virtual machines refer to, at most
	// 64, in the order of the alphabet.
	// +optional
	// +listType=atomic
	Kept []string `json:"kept,omitempty" protobuf:"bytes,3,rep,name=kept"`
	// Renamed are items whose image has another name than the template says, because that
	// name was taken; at most 64.
	// +optional
	// +listType=map
	// +listMapKey=image
	Renamed []ContentLibraryRenamed `json:"renamed,omitempty" protobuf:"bytes,4,rep,name=renamed"`
	// Conditions are the observations in detail: Ready and Deleting.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" protobuf:"bytes,5,rep,name=conditions"`
}

// ContentLibraryRenamed is an item whose image could not have the name that the template
// says.
type ContentLibraryRenamed struct {
	// Item is the name of the item in vSphere.
	Item string `json:"item" protobuf:"bytes,1,opt,name=item"`
	// Image is the name that the image got.
	Image string `json:"image" protobuf:"bytes,2,opt,name=image"`
	// Wanted is the name that was taken.
	Wanted string `json:"wanted" protobuf:"bytes,3,opt,name=wanted"`
}
