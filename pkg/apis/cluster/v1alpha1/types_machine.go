// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Machine is a machine that is, or becomes, a node of a Kubernetes cluster.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type Machine struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state, owned by users.
	// +required
	Spec MachineSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state, owned by the controllers.
	// +optional
	Status MachineStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// MachineList is a list of Machines.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type MachineList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the objects.
	Items []Machine `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// MachineSpec is the desired state of a Machine.
type MachineSpec struct {
	// clusterName names the Cluster that the machine belongs to. Immutable.
	// +required
	ClusterName string `json:"clusterName,omitempty" protobuf:"bytes,1,opt,name=clusterName"`
	// bootstrap is where the data come from that make a node of the machine.
	// +optional
	Bootstrap Bootstrap `json:"bootstrap,omitempty,omitzero" protobuf:"bytes,2,opt,name=bootstrap"`
	// infrastructureRef names the object that is the machine, for example a VirtualMachine.
	// +required
	InfrastructureRef ContractVersionedObjectReference `json:"infrastructureRef,omitempty,omitzero" protobuf:"bytes,3,opt,name=infrastructureRef"`
	// version of Kubernetes, for example v1.36.3; v is put before it where it is missing.
	// +optional
	Version string `json:"version,omitempty" protobuf:"bytes,4,opt,name=version"`
	// providerID is what spec.providerID of the Node is. The controller takes it from the
	// infrastructure.
	// +optional
	ProviderID string `json:"providerID,omitempty" protobuf:"bytes,5,opt,name=providerID"`
	// failureDomain that the machine shall be in; of a VirtualMachine, the name of a Zone.
	// +optional
	FailureDomain string `json:"failureDomain,omitempty" protobuf:"bytes,6,opt,name=failureDomain"`
	// minReadySeconds is how long the machine must be Ready before it is Available, in
	// seconds. Defaults to 0.
	// +optional
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty" protobuf:"varint,7,opt,name=minReadySeconds"`
	// readinessGates are conditions that others write and that Ready takes into account, at
	// most 32.
	// +optional
	// +listType=map
	// +listMapKey=conditionType
	ReadinessGates []MachineReadinessGate `json:"readinessGates,omitempty" protobuf:"bytes,8,rep,name=readinessGates"`
	// deletion says how long the stages of a deletion may take.
	// +optional
	Deletion MachineDeletionSpec `json:"deletion,omitempty,omitzero" protobuf:"bytes,9,opt,name=deletion"`
	// taints that the Node gets, at most 64.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	Taints []MachineTaint `json:"taints,omitempty" protobuf:"bytes,10,rep,name=taints"`
}

// Bootstrap is where the data come from that make a node of a machine: an object whose
// controller makes a Secret of them, or a Secret.
type Bootstrap struct {
	// configRef names the object whose controller makes the Secret.
	// +optional
	ConfigRef ContractVersionedObjectReference `json:"configRef,omitempty,omitzero" protobuf:"bytes,1,opt,name=configRef"` //nolint:nonpointerstructs // absent when all of it is empty (omitzero), as in Cluster API
	// dataSecretName names the Secret, whose key value has the data. With configRef the
	// controller fills it.
	// +optional
	DataSecretName *string `json:"dataSecretName,omitempty" protobuf:"bytes,2,opt,name=dataSecretName"`
}

// ConditionPolarity says which status of a condition is the normal one.
// +enum
type ConditionPolarity string

const (
	// PositivePolarityCondition is normally True.
	PositivePolarityCondition ConditionPolarity = "Positive"
	// NegativePolarityCondition is normally False.
	NegativePolarityCondition ConditionPolarity = "Negative"
)

// MachineReadinessGate is a condition that Ready takes into account.
type MachineReadinessGate struct {
	// conditionType of the condition. One that is not there is unknown.
	// +required
	ConditionType string `json:"conditionType" protobuf:"bytes,1,opt,name=conditionType"`
	// polarity of the condition. Defaults to Positive.
	// +optional
	Polarity ConditionPolarity `json:"polarity,omitempty" protobuf:"bytes,2,opt,name=polarity,casttype=ConditionPolarity"`
}

// DefaultNodeDeletionTimeoutSeconds is how long deleting a Node is tried when that is not given
// (Cluster API's webhook).
const DefaultNodeDeletionTimeoutSeconds int32 = 10

// MachineDeletionSpec says how long the stages of a deletion may take. Unset and 0 are for
// ever, but for the Node, whose default is 10 seconds.
type MachineDeletionSpec struct {
	// nodeDrainTimeoutSeconds is how long pods may take to leave, in seconds.
	// +optional
	NodeDrainTimeoutSeconds *int32 `json:"nodeDrainTimeoutSeconds,omitempty" protobuf:"varint,1,opt,name=nodeDrainTimeoutSeconds"`
	// nodeVolumeDetachTimeoutSeconds is how long volumes may take to be detached, in seconds.
	// +optional
	NodeVolumeDetachTimeoutSeconds *int32 `json:"nodeVolumeDetachTimeoutSeconds,omitempty" protobuf:"varint,2,opt,name=nodeVolumeDetachTimeoutSeconds"`
	// nodeDeletionTimeoutSeconds is how long deleting the Node is tried, in seconds since it
	// was tried first. Defaults to 10.
	// +optional
	NodeDeletionTimeoutSeconds *int32 `json:"nodeDeletionTimeoutSeconds,omitempty" protobuf:"varint,3,opt,name=nodeDeletionTimeoutSeconds"`
}

// TaintEffect is what a taint does to pods that do not tolerate it.
// +enum
type TaintEffect string

const (
	// TaintEffectNoSchedule keeps new pods away.
	TaintEffectNoSchedule TaintEffect = "NoSchedule"
	// TaintEffectPreferNoSchedule keeps new pods away where there is another place.
	TaintEffectPreferNoSchedule TaintEffect = "PreferNoSchedule"
	// TaintEffectNoExecute lets pods that run leave, too.
	TaintEffectNoExecute TaintEffect = "NoExecute"
)

// MachineTaintPropagation says when a taint is put on the Node.
// +enum
type MachineTaintPropagation string

const (
	// MachineTaintPropagationAlways keeps the taint on the Node.
	MachineTaintPropagationAlways MachineTaintPropagation = "Always"
	// MachineTaintPropagationOnInitialization puts it on a new Node once.
	MachineTaintPropagationOnInitialization MachineTaintPropagation = "OnInitialization"
)

// MachineTaint is a taint of the Node of a machine.
type MachineTaint struct {
	// key of the taint.
	// +required
	Key string `json:"key" protobuf:"bytes,1,opt,name=key"`
	// value of the taint.
	// +optional
	Value string `json:"value,omitempty" protobuf:"bytes,2,opt,name=value"`
	// effect of the taint.
	// +required
	Effect TaintEffect `json:"effect" protobuf:"bytes,3,opt,name=effect,casttype=TaintEffect"`
	// propagation says when it is put on the Node.
	// +optional
	Propagation MachineTaintPropagation `json:"propagation,omitempty" protobuf:"bytes,4,opt,name=propagation,casttype=MachineTaintPropagation"`
}
