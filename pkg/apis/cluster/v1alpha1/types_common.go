// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ContractVersionedObjectReference refers to an object of the same namespace whose kind
// follows a contract of Cluster API. The version to use is found by the contract.
type ContractVersionedObjectReference struct {
	// kind of the object.
	// +required
	Kind string `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind"`
	// name of the object.
	// +required
	Name string `json:"name,omitempty" protobuf:"bytes,2,opt,name=name"`
	// apiGroup of the kind, for example vm.slipway.dev.
	// +required
	APIGroup string `json:"apiGroup,omitempty" protobuf:"bytes,3,opt,name=apiGroup"`
}

// IsDefined is true for a reference that names anything.
func (r *ContractVersionedObjectReference) IsDefined() bool {
	return r != nil && *r != (ContractVersionedObjectReference{})
}

// GroupKind is the group and the kind of what is named.
func (r *ContractVersionedObjectReference) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.APIGroup, Kind: r.Kind}
}

// ObjectMeta is the metadata of what is made from a template.
type ObjectMeta struct {
	// labels of what is made.
	// +optional
	Labels map[string]string `json:"labels,omitempty" protobuf:"bytes,1,rep,name=labels"`
	// annotations of what is made.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,2,rep,name=annotations"`
}

// ConditionSeverity tells how bad a deprecated condition that is not True is: Error,
// Warning or Info, empty for one that is True.
type ConditionSeverity string

// Severities of deprecated conditions.
const (
	// ConditionSeverityError needs somebody to act.
	ConditionSeverityError ConditionSeverity = "Error"
	// ConditionSeverityWarning may pass.
	ConditionSeverityWarning ConditionSeverity = "Warning"
	// ConditionSeverityInfo is what is to be expected.
	ConditionSeverityInfo ConditionSeverity = "Info"
)

// DeprecatedCondition is a condition in the form of Cluster API's v1beta1.
type DeprecatedCondition struct {
	// type of the condition.
	// +required
	Type string `json:"type" protobuf:"bytes,1,opt,name=type"`
	// status is True, False or Unknown.
	// +required
	Status metav1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status,casttype=k8s.io/apimachinery/pkg/apis/meta/v1.ConditionStatus"`
	// severity of a condition that is False.
	// +optional
	Severity ConditionSeverity `json:"severity,omitempty" protobuf:"bytes,3,opt,name=severity,casttype=ConditionSeverity"`
	// lastTransitionTime is when the status changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty,omitzero" protobuf:"bytes,4,opt,name=lastTransitionTime"`
	// reason is a word for machines.
	// +optional
	Reason string `json:"reason,omitempty" protobuf:"bytes,5,opt,name=reason"`
	// message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,6,opt,name=message"`
}

// DeprecatedStatus is what readers of older versions of Cluster API look for.
type DeprecatedStatus struct {
	// v1beta1 is what v1beta1 had.
	// +optional
	V1Beta1 *V1Beta1DeprecatedStatus `json:"v1beta1,omitempty" protobuf:"bytes,1,opt,name=v1beta1"`
}

// V1Beta1DeprecatedStatus is what v1beta1 of Cluster API had in a status.
type V1Beta1DeprecatedStatus struct {
	// conditions in the form of v1beta1.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []DeprecatedCondition `json:"conditions,omitempty" protobuf:"bytes,1,rep,name=conditions"` //nolint:conditions // v1beta1 of Cluster API had conditions of another form
	// failureReason is a word for a failure that somebody has to look at.
	// +optional
	FailureReason *string `json:"failureReason,omitempty" protobuf:"bytes,2,opt,name=failureReason"`
	// failureMessage is a sentence about that failure.
	// +optional
	FailureMessage *string `json:"failureMessage,omitempty" protobuf:"bytes,3,opt,name=failureMessage"`
	// updatedReplicas of a MachineDeployment have its template.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty" protobuf:"varint,4,opt,name=updatedReplicas"`
	// readyReplicas have a Ready Node.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty" protobuf:"varint,5,opt,name=readyReplicas"`
	// availableReplicas have had one for minReadySeconds.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas,omitempty" protobuf:"varint,6,opt,name=availableReplicas"`
	// unavailableReplicas of a MachineDeployment are wanted and not available.
	// +optional
	UnavailableReplicas int32 `json:"unavailableReplicas,omitempty" protobuf:"varint,7,opt,name=unavailableReplicas"`
	// fullyLabeledReplicas of a MachineSet have the labels of its template.
	// +optional
	FullyLabeledReplicas int32 `json:"fullyLabeledReplicas,omitempty" protobuf:"varint,8,opt,name=fullyLabeledReplicas"`
}

// StatusVersion counts the machines of a version.
type StatusVersion struct {
	// version of Kubernetes.
	// +required
	Version string `json:"version" protobuf:"bytes,1,opt,name=version"`
	// replicas of that version.
	// +optional
	Replicas int32 `json:"replicas,omitempty" protobuf:"varint,2,opt,name=replicas"`
}
