// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Machine is a machine that is or will become a node of a Kubernetes cluster.
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

	// items are the machines.
	Items []Machine `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// MachineSpec is the desired state of a Machine.
type MachineSpec struct {
	// clusterName is the name of the Cluster that the machine belongs to. Immutable.
	// +required
	ClusterName string `json:"clusterName,omitempty" protobuf:"bytes,1,opt,name=clusterName"`
	// bootstrap refers to the source of the bootstrap data, with which the machine becomes a node.
	// +optional
	Bootstrap Bootstrap `json:"bootstrap,omitempty,omitzero" protobuf:"bytes,2,opt,name=bootstrap"`
	// infrastructureRef refers to the infrastructure object of the machine, for example a VirtualMachine.
	// +required
	InfrastructureRef ContractVersionedObjectReference `json:"infrastructureRef,omitempty,omitzero" protobuf:"bytes,3,opt,name=infrastructureRef"`
	// version of Kubernetes, for example v1.36.3. The prefix v is added if it is missing.
	// +optional
	Version string `json:"version,omitempty" protobuf:"bytes,4,opt,name=version"`
	// providerID is the value of spec.providerID of the Node. The controller copies it from the infrastructure object.
	// +optional
	ProviderID string `json:"providerID,omitempty" protobuf:"bytes,5,opt,name=providerID"`
	// failureDomain is the desired failure domain of the machine. For a VirtualMachine, it is the name of a Zone.
	// +optional
	FailureDomain string `json:"failureDomain,omitempty" protobuf:"bytes,6,opt,name=failureDomain"`
	// minReadySeconds is the time for which the machine must be Ready before it is Available, in seconds. Defaults to 0.
	// +optional
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty" protobuf:"varint,7,opt,name=minReadySeconds"`
	// readinessGates are additional conditions that must be good for the machine to be Ready. Other controllers set
	// them. At most 32.
	// +optional
	// +listType=map
	// +listMapKey=conditionType
	ReadinessGates []MachineReadinessGate `json:"readinessGates,omitempty" protobuf:"bytes,8,rep,name=readinessGates"`
	// deletion defines timeouts for the stages of a deletion.
	// +optional
	Deletion MachineDeletionSpec `json:"deletion,omitempty,omitzero" protobuf:"bytes,9,opt,name=deletion"`
	// taints of the Node, at most 64.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	Taints []MachineTaint `json:"taints,omitempty" protobuf:"bytes,10,rep,name=taints"`
}

// Bootstrap refers to the source of the bootstrap data: an object whose controller creates a Secret with the data, or a
// Secret.
type Bootstrap struct {
	// configRef refers to the object whose controller creates the Secret.
	// +optional
	ConfigRef ContractVersionedObjectReference `json:"configRef,omitempty,omitzero" protobuf:"bytes,1,opt,name=configRef"` //nolint:nonpointerstructs // omitted if empty (omitzero), as in Cluster API
	// dataSecretName is the name of the Secret. Its key value contains the data. If configRef is set, the controller
	// sets this field.
	// +optional
	DataSecretName *string `json:"dataSecretName,omitempty" protobuf:"bytes,2,opt,name=dataSecretName"`
}

// ConditionPolarity defines the normal status of a condition.
// +enum
type ConditionPolarity string

const (
	// PositivePolarityCondition means that the normal status is True.
	PositivePolarityCondition ConditionPolarity = "Positive"
	// NegativePolarityCondition means that the normal status is False.
	NegativePolarityCondition ConditionPolarity = "Negative"
)

// MachineReadinessGate is an additional condition that must be good for a machine to be Ready.
type MachineReadinessGate struct {
	// conditionType of the condition. If the machine does not have the condition, its status is unknown.
	// +required
	ConditionType string `json:"conditionType" protobuf:"bytes,1,opt,name=conditionType"`
	// polarity of the condition. Defaults to Positive.
	// +optional
	Polarity ConditionPolarity `json:"polarity,omitempty" protobuf:"bytes,2,opt,name=polarity,casttype=ConditionPolarity"`
}

// DefaultNodeDeletionTimeoutSeconds is the default of nodeDeletionTimeoutSeconds. Cluster API uses the same default.
const DefaultNodeDeletionTimeoutSeconds int32 = 10

// MachineDeletionSpec defines timeouts for the stages of a deletion. Unset or 0 means no timeout, except for the unset
// nodeDeletionTimeoutSeconds.
type MachineDeletionSpec struct {
	// nodeDrainTimeoutSeconds is the timeout for draining the Node, in seconds. Unset or 0 means no timeout.
	// +optional
	NodeDrainTimeoutSeconds *int32 `json:"nodeDrainTimeoutSeconds,omitempty" protobuf:"varint,1,opt,name=nodeDrainTimeoutSeconds"`
	// nodeVolumeDetachTimeoutSeconds is the timeout for detaching volumes, in seconds. Unset or 0 means no timeout.
	// +optional
	NodeVolumeDetachTimeoutSeconds *int32 `json:"nodeVolumeDetachTimeoutSeconds,omitempty" protobuf:"varint,2,opt,name=nodeVolumeDetachTimeoutSeconds"`
	// nodeDeletionTimeoutSeconds is the timeout for deleting the Node, in seconds after the first attempt. 0 means no
	// timeout. Defaults to 10.
	// +optional
	NodeDeletionTimeoutSeconds *int32 `json:"nodeDeletionTimeoutSeconds,omitempty" protobuf:"varint,3,opt,name=nodeDeletionTimeoutSeconds"`
}

// TaintEffect is the effect of a taint on pods that do not tolerate it.
// +enum
type TaintEffect string

const (
	// TaintEffectNoSchedule prevents the scheduling of new pods.
	TaintEffectNoSchedule TaintEffect = "NoSchedule"
	// TaintEffectPreferNoSchedule avoids the scheduling of new pods if another Node is available.
	TaintEffectPreferNoSchedule TaintEffect = "PreferNoSchedule"
	// TaintEffectNoExecute also evicts running pods.
	TaintEffectNoExecute TaintEffect = "NoExecute"
)

// MachineTaintPropagation defines when a taint is added to the Node.
// +enum
type MachineTaintPropagation string

const (
	// MachineTaintPropagationAlways adds the taint again whenever it is removed.
	MachineTaintPropagationAlways MachineTaintPropagation = "Always"
	// MachineTaintPropagationOnInitialization adds the taint to a new Node once.
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
	// propagation defines when the taint is added to the Node.
	// +optional
	Propagation MachineTaintPropagation `json:"propagation,omitempty" protobuf:"bytes,4,opt,name=propagation,casttype=MachineTaintPropagation"`
}
