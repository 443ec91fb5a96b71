// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MachineSet maintains a number of identical Machines.
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

	// items are the machine sets.
	Items []MachineSet `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// MachineSetSpec is the desired state of a MachineSet.
type MachineSetSpec struct {
	// clusterName is the name of the Cluster that the machines belong to. Immutable.
	// +required
	ClusterName string `json:"clusterName,omitempty" protobuf:"bytes,1,opt,name=clusterName"`
	// replicas is the desired number of machines. Defaults to the minimum size for the autoscaler or else to 1.
	// +optional
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,2,opt,name=replicas"`
	// selector selects the machines that belong to the set. It must match the labels of the template. If unset, the
	// server sets it and adds its labels to the template.
	// +optional
	Selector metav1.LabelSelector `json:"selector,omitempty,omitzero" protobuf:"bytes,3,opt,name=selector"`
	// template describes the machines.
	// +required
	Template MachineTemplateSpec `json:"template,omitempty,omitzero" protobuf:"bytes,4,opt,name=template"`
	// machineNaming defines the names of machines.
	// +optional
	MachineNaming MachineNamingSpec `json:"machineNaming,omitempty,omitzero" protobuf:"bytes,5,opt,name=machineNaming"`
	// deletion defines which machines are deleted first.
	// +optional
	Deletion MachineSetDeletionSpec `json:"deletion,omitempty,omitzero" protobuf:"bytes,6,opt,name=deletion"`
}

// MachineTemplateSpec describes machines. The references in its spec refer to templates. One object is created from
// each template for each machine.
type MachineTemplateSpec struct {
	// metadata of the machines.
	// +optional
	Metadata ObjectMeta `json:"metadata,omitempty,omitzero" protobuf:"bytes,1,opt,name=metadata"`
	// spec of the machines.
	// +required
	Spec MachineSpec `json:"spec,omitempty,omitzero" protobuf:"bytes,2,opt,name=spec"`
}

// MachineNamingSpec defines the names of machines.
type MachineNamingSpec struct {
	// template for names. It can contain {{ .cluster.name }} and {{ .machineSet.name }} and must contain {{ .random }}.
	// Defaults to "{{ .machineSet.name }}-{{ .random }}".
	// +optional
	Template string `json:"template,omitempty" protobuf:"bytes,1,opt,name=template"`
}

// MachineSetDeletionOrder defines which machines are deleted first.
// +enum
type MachineSetDeletionOrder string

const (
	// RandomMachineSetDeletionOrder deletes unhealthy machines first, then machines in any order.
	RandomMachineSetDeletionOrder MachineSetDeletionOrder = "Random"
	// NewestMachineSetDeletionOrder deletes unhealthy machines first, then the newest.
	NewestMachineSetDeletionOrder MachineSetDeletionOrder = "Newest"
	// OldestMachineSetDeletionOrder deletes unhealthy machines first, then the oldest.
	OldestMachineSetDeletionOrder MachineSetDeletionOrder = "Oldest"
)

// MachineSetDeletionSpec defines which machines are deleted first.
type MachineSetDeletionSpec struct {
	// order of deletion. Defaults to Random. Machines with the annotation cluster.x-k8s.io/delete-machine are deleted
	// before all others.
	// +optional
	Order MachineSetDeletionOrder `json:"order,omitempty" protobuf:"bytes,1,opt,name=order,casttype=MachineSetDeletionOrder"`
}

// MachineSetStatus is the observed state of a MachineSet.
type MachineSetStatus struct {
	// conditions are the conditions of the machine set.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// selector is the selector in text form, for autoscalers.
	// +optional
	Selector string `json:"selector,omitempty" protobuf:"bytes,2,opt,name=selector"`
	// replicas is the number of machines.
	// +optional
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,3,opt,name=replicas"`
	// readyReplicas is the number of Ready machines.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty" protobuf:"varint,4,opt,name=readyReplicas"`
	// availableReplicas is the number of Available machines.
	// +optional
	AvailableReplicas *int32 `json:"availableReplicas,omitempty" protobuf:"varint,5,opt,name=availableReplicas"`
	// upToDateReplicas is the number of machines that match the template.
	// +optional
	UpToDateReplicas *int32 `json:"upToDateReplicas,omitempty" protobuf:"varint,6,opt,name=upToDateReplicas"`
	// versions is the number of machines by version, at most 100 versions.
	// +optional
	// +listType=map
	// +listMapKey=version
	Versions []StatusVersion `json:"versions,omitempty" protobuf:"bytes,7,rep,name=versions"`
	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,8,opt,name=observedGeneration"`

	// Protobuf field number 9 is reserved: no field may use it.
}
