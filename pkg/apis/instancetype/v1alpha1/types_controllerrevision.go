// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// AnnotationCollecting marks a ControllerRevision that nothing seemed to name, while
// the server makes sure of that before it deletes it. Who captures the same object in
// the meantime removes the mark, and so keeps the revision.
const AnnotationCollecting = "instancetype.slipway.dev/collecting"

// AnnotationRecovered marks a ControllerRevision that was made again after it was lost with
// the store, for virtual machines that are made again after it: it is not collected before
// they can be there.
const AnnotationRecovered = "instancetype.slipway.dev/recovered"

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ControllerRevision is an instance type or a preference as it was when virtual
// machines of the namespace captured it: what they keep until they are refreshed,
// whatever becomes of the original. It is shared by all that captured the same
// generation. The server writes it and removes it when no virtual machine names
// it; it cannot be changed.
type ControllerRevision struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata. Labels name what was captured.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// data is the captured object, with its apiVersion, kind and spec, and of its
	// metadata what identifies it. It cannot be changed.
	// +optional
	Data runtime.RawExtension `json:"data,omitempty" protobuf:"bytes,2,opt,name=data"`
	// revision is the generation of the captured object. It cannot be changed.
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
