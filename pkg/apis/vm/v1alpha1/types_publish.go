// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PublishRequestFinalizer keeps a VirtualMachinePublishRequest until none of its operations runs.
const PublishRequestFinalizer = "vm.slipway.dev/publishrequest"

// VirtualMachinePublishRequest publishes a virtual machine as an item of a content library, once.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachinePublishRequest struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec defines the source and the target. Immutable except for ttlSecondsAfterFinished.
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

// VirtualMachinePublishRequestSpec defines the source and the target of a request.
type VirtualMachinePublishRequestSpec struct {
	// source is the virtual machine that is published.
	// +optional
	Source VirtualMachinePublishSource `json:"source" protobuf:"bytes,1,opt,name=source"`
	// target is the library item that is created.
	// +required
	Target VirtualMachinePublishTarget `json:"target" protobuf:"bytes,2,opt,name=target"`
	// ttlSecondsAfterFinished is the time after which a complete request is deleted, in seconds. If unset, the request
	// is not deleted automatically.
	// +optional
	TTLSecondsAfterFinished *int64 `json:"ttlSecondsAfterFinished,omitempty" protobuf:"varint,3,opt,name=ttlSecondsAfterFinished"`
}

// VirtualMachinePublishSource is the virtual machine that is published.
type VirtualMachinePublishSource struct {
	// name of a VirtualMachine in the same namespace. Defaults to the name of the request.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
}

// VirtualMachinePublishTarget is the library item that is created.
type VirtualMachinePublishTarget struct {
	// contentLibrary is the name of a ContentLibrary that allows the namespace to publish.
	// +required
	ContentLibrary string `json:"contentLibrary" protobuf:"bytes,1,opt,name=contentLibrary"`
	// item is the name of the item. If an item of this name was published from the same namespace, it gets a new
	// version. Other items of this name are not changed. Defaults to the name of the virtual machine.
	// +optional
	Item string `json:"item,omitempty" protobuf:"bytes,2,opt,name=item"`
	// description is a human-readable description of the item.
	// +optional
	Description string `json:"description,omitempty" protobuf:"bytes,3,opt,name=description"`
}

// VirtualMachinePublishRequestStatus is the observed state of a request.
type VirtualMachinePublishRequestStatus struct {
	// conditions are the conditions of the request: Complete, SourceValid, TargetValid, Uploaded and ImageAvailable.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,9,opt,name=observedGeneration"`
	// attempts is the number of attempts that were started.
	// +optional
	Attempts int32 `json:"attempts,omitempty" protobuf:"varint,2,opt,name=attempts"`
	// startTime is the start time of the first attempt.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty" protobuf:"bytes,3,opt,name=startTime"`
	// completionTime is the time when the request completed.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty" protobuf:"bytes,4,opt,name=completionTime"`
	// itemID is the vSphere ID of the item.
	// +optional
	ItemID string `json:"itemID,omitempty" protobuf:"bytes,5,opt,name=itemID"`
	// contentVersion is the version of the item that the request created.
	// +optional
	ContentVersion string `json:"contentVersion,omitempty" protobuf:"bytes,6,opt,name=contentVersion"`
	// imageName is the name of the image object of the item.
	// +optional
	ImageName string `json:"imageName,omitempty" protobuf:"bytes,7,opt,name=imageName"`
	// imageKind is the kind of the image object.
	// +optional
	ImageKind string `json:"imageKind,omitempty" protobuf:"bytes,8,opt,name=imageKind"`
}
