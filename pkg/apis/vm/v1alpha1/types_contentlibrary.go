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
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec says what is published, and for whom.
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

// ContentLibrarySpec says what of a content library is published, and for whom.
type ContentLibrarySpec struct {
	// library is the name of the content library in vSphere. Immutable.
	// +required
	Library string `json:"library" protobuf:"bytes,1,opt,name=library"`
	// namespace in which VirtualMachineImages are made. Unset, ClusterVirtualMachineImages
	// are made. Immutable.
	// +optional
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
	// include are patterns of the names of the items that are published, at most 64. In
	// them * stands for any characters, and ? for one. All when unset.
	// +optional
	// +listType=atomic
	Include []string `json:"include,omitempty" protobuf:"bytes,3,rep,name=include"`
	// exclude are patterns of those that are not, whatever include says; at most 64.
	// +optional
	// +listType=atomic
	Exclude []string `json:"exclude,omitempty" protobuf:"bytes,4,rep,name=exclude"`
	// nameTemplate is the name of the images, in which {item} and {library} stand for the
	// names in vSphere, in lower case and with a hyphen for what a name cannot have.
	// Defaults to {item}. Immutable.
	// +optional
	NameTemplate string `json:"nameTemplate,omitempty" protobuf:"bytes,5,opt,name=nameTemplate"`
	// defaults say which instance type and preference are inferred from an image, by its
	// guest operating system; at most 64. The first that fits counts.
	// +optional
	// +listType=atomic
	Defaults []ContentLibraryDefault `json:"defaults,omitempty" protobuf:"bytes,6,rep,name=defaults"`
	// vCenter is the name of the VCenter in whose library of the name virtual machines are
	// published. Images are made of the items of every vCenter that has one. Defaults to
	// default. Immutable.
	// +optional
	VCenter string `json:"vCenter,omitempty" protobuf:"bytes,7,opt,name=vCenter"`
	// publishFrom selects the namespaces, by their labels, whose virtual machines may be
	// published in the library. None when unset; an empty selector selects all.
	// +optional
	PublishFrom *metav1.LabelSelector `json:"publishFrom,omitempty" protobuf:"bytes,8,opt,name=publishFrom"`
}

// ContentLibraryDefault says what is inferred from images of a guest operating system, by
// the labels that they get.
type ContentLibraryDefault struct {
	// guestID is a pattern of vSphere's identifier of the guest operating system, for
	// example ubuntu*. * stands for any characters, and ? for one.
	// +required
	GuestID string `json:"guestID" protobuf:"bytes,1,opt,name=guestID"`
	// instancetype is the name of the default instance type.
	// +optional
	Instancetype string `json:"instancetype,omitempty" protobuf:"bytes,2,opt,name=instancetype"`
	// instancetypeKind is its kind. VirtualMachineClusterInstancetype when unset.
	// +optional
	InstancetypeKind string `json:"instancetypeKind,omitempty" protobuf:"bytes,3,opt,name=instancetypeKind"`
	// preference is the name of the default preference.
	// +optional
	Preference string `json:"preference,omitempty" protobuf:"bytes,4,opt,name=preference"`
	// preferenceKind is its kind. VirtualMachineClusterPreference when unset.
	// +optional
	PreferenceKind string `json:"preferenceKind,omitempty" protobuf:"bytes,5,opt,name=preferenceKind"`
}

// ContentLibraryStatus is the observed state of a content library.
type ContentLibraryStatus struct {
	// conditions are the observations in detail: Ready and Deleting.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,5,rep,name=conditions"`
	// observedGeneration is the generation of spec that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,6,opt,name=observedGeneration"`
	// items is the number of items that vSphere has in it.
	// +optional
	Items int32 `json:"items,omitempty" protobuf:"varint,1,opt,name=items"`
	// images is the number of images that there are for it.
	// +optional
	Images int32 `json:"images,omitempty" protobuf:"varint,2,opt,name=images"`
	// kept names images whose items are gone and which virtual machines refer to, at most
	// 64, in the order of the alphabet.
	// +optional
	// +listType=atomic
	Kept []string `json:"kept,omitempty" protobuf:"bytes,3,rep,name=kept"`
	// renamed are items whose image has another name than the template says, because that
	// name was taken; at most 64.
	// +optional
	// +listType=map
	// +listMapKey=image
	Renamed []ContentLibraryRenamed `json:"renamed,omitempty" protobuf:"bytes,4,rep,name=renamed"`
}

// ContentLibraryRenamed is an item whose image could not have the name that the template
// says.
type ContentLibraryRenamed struct {
	// item is the name of the item in vSphere.
	// +required
	Item string `json:"item" protobuf:"bytes,1,opt,name=item"`
	// image is the name that the image got.
	// +required
	Image string `json:"image" protobuf:"bytes,2,opt,name=image"`
	// wanted is the name that was taken.
	// +required
	Wanted string `json:"wanted" protobuf:"bytes,3,opt,name=wanted"`
}
