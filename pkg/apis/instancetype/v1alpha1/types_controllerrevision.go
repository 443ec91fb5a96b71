// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// AnnotationCollecting marks a ControllerRevision that appears to be unused, until the server has verified this and
// deletes it. A controller that pins the same revision in the meantime removes the annotation, so that the revision is
// kept.
const AnnotationCollecting = "instancetype.slipway.dev/collecting"

// AnnotationRecovered marks a ControllerRevision that was recreated after it was lost with the store. It is not
// garbage-collected until the virtual machines that use it can be recreated.
const AnnotationRecovered = "instancetype.slipway.dev/recovered"

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ControllerRevision is a copy of an instance type or preference that virtual machines of the namespace have pinned.
// They use it until they are refreshed, even if the original object is changed or deleted. All virtual machines that
// pin the same generation share it. The server creates it and deletes it when no virtual machine uses it. It is
// immutable.
type ControllerRevision struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata. Its labels identify the original object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// data is the pinned object, with its apiVersion, kind and spec and its identifying metadata. Immutable.
	// +optional
	Data runtime.RawExtension `json:"data,omitempty" protobuf:"bytes,2,opt,name=data"`
	// revision is the generation of the pinned object. Immutable.
	// +required
	Revision int64 `json:"revision" protobuf:"varint,3,opt,name=revision"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ControllerRevisionList is a list of ControllerRevision.
type ControllerRevisionList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the revisions.
	Items []ControllerRevision `json:"items" protobuf:"bytes,2,rep,name=items"`
}
