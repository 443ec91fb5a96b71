// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MachineSet keeps a number of equal Machines.
//
// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type MachineSet struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state, owned by users.
	// +required
	Spec MachineSetSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state, owned by the controllers.
	// +optional
	Status MachineSetStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// MachineSetList is a list of MachineSets.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type MachineSetList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the objects.
	Items []MachineSet `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// MachineSetSpec is the desired state of a MachineSet.
type MachineSetSpec struct {
	// clusterName names the Cluster that the machines belong to. Immutable.
	// +required
	ClusterName string `json:"clusterName,omitempty" protobuf:"bytes,1,opt,name=clusterName"`
	// replicas is how many machines are wanted. Defaults to 1, or to the minimum for
	// the autoscaler.
	// +optional
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,2,opt,name=replicas"`
	// selector says which machines count. It must match the labels of the template. Unset, the
	// server fills it, and gives the template its labels.
	// +optional
	Selector metav1.LabelSelector `json:"selector,omitempty,omitzero" protobuf:"bytes,3,opt,name=selector"`
	// template is what machines are made from.
	// +required
	Template MachineTemplateSpec `json:"template,omitempty,omitzero" protobuf:"bytes,4,opt,name=template"`
	// machineNaming says how machines are named.
	// +optional
	MachineNaming MachineNamingSpec `json:"machineNaming,omitempty,omitzero" protobuf:"bytes,5,opt,name=machineNaming"`
	// deletion says which machines go first.
	// +optional
	Deletion MachineSetDeletionSpec `json:"deletion,omitempty,omitzero" protobuf:"bytes,6,opt,name=deletion"`
}

// MachineTemplateSpec is what machines are made from. The references of its spec name
// templates, of which an object is made for each machine.
type MachineTemplateSpec struct {
	// metadata of the machines.
	// +optional
	Metadata ObjectMeta `json:"metadata,omitempty,omitzero" protobuf:"bytes,1,opt,name=metadata"`
	// spec of the machines.
	// +required
	Spec MachineSpec `json:"spec,omitempty,omitzero" protobuf:"bytes,2,opt,name=spec"`
}

// MachineNamingSpec says how machines are named.
type MachineNamingSpec struct {
	// template of names: {{ .cluster.name }}, {{ .machineSet.name }} and {{ .random }}, which
	// must be in it. Defaults to "{{ .machineSet.name }}-{{ .random }}".
	// +optional
	Template string `json:"template,omitempty" protobuf:"bytes,1,opt,name=template"`
}

// MachineSetDeletionOrder says which machines go first.
// +enum
type MachineSetDeletionOrder string

const (
	// RandomMachineSetDeletionOrder takes those that are not well first, then any.
	RandomMachineSetDeletionOrder MachineSetDeletionOrder = "Random"
	// NewestMachineSetDeletionOrder takes those that are not well first, then the youngest.
	NewestMachineSetDeletionOrder MachineSetDeletionOrder = "Newest"
	// OldestMachineSetDeletionOrder takes those that are not well first, then the oldest.
	OldestMachineSetDeletionOrder MachineSetDeletionOrder = "Oldest"
)

// MachineSetDeletionSpec says which machines go first.
type MachineSetDeletionSpec struct {
	// order of deletion. Defaults to Random. Machines with the annotation
	// cluster.x-k8s.io/delete-machine go before all others.
	// +optional
	Order MachineSetDeletionOrder `json:"order,omitempty" protobuf:"bytes,1,opt,name=order,casttype=MachineSetDeletionOrder"`
}

// MachineSetStatus is the observed state of a MachineSet.
type MachineSetStatus struct {
	// conditions tell what is observed.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// selector is the selector of the machines as a text, for autoscalers.
	// +optional
	Selector string `json:"selector,omitempty" protobuf:"bytes,2,opt,name=selector"`
	// replicas are the machines that there are.
	// +optional
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,3,opt,name=replicas"`
	// readyReplicas are those that are Ready.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty" protobuf:"varint,4,opt,name=readyReplicas"`
	// availableReplicas are those that are Available.
	// +optional
	AvailableReplicas *int32 `json:"availableReplicas,omitempty" protobuf:"varint,5,opt,name=availableReplicas"`
	// upToDateReplicas are those that are as the template says.
	// +optional
	UpToDateReplicas *int32 `json:"upToDateReplicas,omitempty" protobuf:"varint,6,opt,name=upToDateReplicas"`
	// versions counts the machines by their version, at most 100.
	// +optional
	// +listType=map
	// +listMapKey=version
	Versions []StatusVersion `json:"versions,omitempty" protobuf:"bytes,7,rep,name=versions"`
	// observedGeneration is the generation of spec that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,8,opt,name=observedGeneration"`

	// Protobuf field number 9 is reserved: no field may use it.
}
