// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PublishRequestFinalizer keeps a VirtualMachinePublishRequest until nothing runs for it.
const PublishRequestFinalizer = "vm.slipway.dev/publishrequest"

// VirtualMachinePublishRequest makes an item of a content library from a virtual machine,
// once.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachinePublishRequest struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec says what is published as what. Immutable but for how long the request stays.
	// +required
	Spec VirtualMachinePublishRequestSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state.
	// +optional
	Status VirtualMachinePublishRequestStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// VirtualMachinePublishRequestList is a list of VirtualMachinePublishRequests.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachinePublishRequestList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the requests.
	Items []VirtualMachinePublishRequest `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// VirtualMachinePublishRequestSpec says what is published as what.
type VirtualMachinePublishRequestSpec struct {
	// source is the virtual machine.
	// +optional
	Source VirtualMachinePublishSource `json:"source" protobuf:"bytes,1,opt,name=source"`
	// target is the item.
	// +required
	Target VirtualMachinePublishTarget `json:"target" protobuf:"bytes,2,opt,name=target"`
	// ttlSecondsAfterFinished is how long the request stays when it is complete, in
	// seconds. It stays until somebody deletes it when unset.
	// +optional
	TTLSecondsAfterFinished *int64 `json:"ttlSecondsAfterFinished,omitempty" protobuf:"varint,3,opt,name=ttlSecondsAfterFinished"`
}

// VirtualMachinePublishSource is the virtual machine that is published.
type VirtualMachinePublishSource struct {
	// name of a VirtualMachine of the namespace. Defaults to the name of the request.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
}

// VirtualMachinePublishTarget is the item that is made.
type VirtualMachinePublishTarget struct {
	// contentLibrary is the name of a ContentLibrary that lets the namespace publish.
	// +required
	ContentLibrary string `json:"contentLibrary" protobuf:"bytes,1,opt,name=contentLibrary"`
	// item is the name of the item. An item of the name that was published from the
	// namespace gets a new version, another is left alone. Defaults to the name of the
	// virtual machine.
	// +optional
	Item string `json:"item,omitempty" protobuf:"bytes,2,opt,name=item"`
	// description of the item for people.
	// +optional
	Description string `json:"description,omitempty" protobuf:"bytes,3,opt,name=description"`
}

// VirtualMachinePublishRequestStatus is the observed state of a request.
type VirtualMachinePublishRequestStatus struct {
	// conditions are the observations in detail: Complete, and before it SourceValid,
	// TargetValid, Uploaded and ImageAvailable.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// observedGeneration is the generation of spec that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,9,opt,name=observedGeneration"`
	// attempts is how often it was begun.
	// +optional
	Attempts int32 `json:"attempts,omitempty" protobuf:"varint,2,opt,name=attempts"`
	// startTime is when the first was begun.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty" protobuf:"bytes,3,opt,name=startTime"`
	// completionTime is when all was done.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty" protobuf:"bytes,4,opt,name=completionTime"`
	// itemID is vSphere's ID of the item.
	// +optional
	ItemID string `json:"itemID,omitempty" protobuf:"bytes,5,opt,name=itemID"`
	// contentVersion is the version of the item that was made.
	// +optional
	ContentVersion string `json:"contentVersion,omitempty" protobuf:"bytes,6,opt,name=contentVersion"`
	// imageName is the name of the image that stands for the item.
	// +optional
	ImageName string `json:"imageName,omitempty" protobuf:"bytes,7,opt,name=imageName"`
	// imageKind is its kind.
	// +optional
	ImageKind string `json:"imageKind,omitempty" protobuf:"bytes,8,opt,name=imageKind"`
}
