// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cluster is a Kubernetes cluster whose nodes are Machines.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type Cluster struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state, owned by users.
	// +optional
	Spec ClusterSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state, owned by the controllers.
	// +optional
	Status ClusterStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ClusterList is a list of Clusters.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the clusters.
	Items []Cluster `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// ClusterSpec is the desired state of a Cluster.
type ClusterSpec struct {
	// paused pauses the reconciling of the cluster and of all objects that belong to it. Defaults, when used, to false.
	// +optional
	Paused *bool `json:"paused,omitempty" protobuf:"varint,1,opt,name=paused"`
	// clusterNetwork describes the networks of the cluster. The server does not use it.
	// +optional
	ClusterNetwork ClusterNetwork `json:"clusterNetwork,omitempty,omitzero" protobuf:"bytes,2,opt,name=clusterNetwork"`
	// controlPlaneEndpoint is the endpoint of the cluster's API server. If unset, the controller copies it from the
	// infrastructure object.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero" protobuf:"bytes,3,opt,name=controlPlaneEndpoint"`
	// controlPlaneRef refers to the object that manages the control plane.
	// +optional
	ControlPlaneRef ContractVersionedObjectReference `json:"controlPlaneRef,omitempty,omitzero" protobuf:"bytes,4,opt,name=controlPlaneRef"` //nolint:nonpointerstructs // omitted if empty (omitzero), as in Cluster API
	// infrastructureRef refers to the object that manages the cluster's infrastructure other than machines, for example
	// a SlipwayCluster.
	// +optional
	InfrastructureRef ContractVersionedObjectReference `json:"infrastructureRef,omitempty,omitzero" protobuf:"bytes,5,opt,name=infrastructureRef"` //nolint:nonpointerstructs // omitted if empty (omitzero), as in Cluster API
}

// ClusterNetwork describes the networks of a cluster.
type ClusterNetwork struct {
	// apiServerPort is the port of the API servers.
	// +optional
	APIServerPort int32 `json:"apiServerPort,omitempty" protobuf:"varint,1,opt,name=apiServerPort"`
	// services are the IP address ranges of services.
	// +optional
	Services NetworkRanges `json:"services,omitempty,omitzero" protobuf:"bytes,2,opt,name=services"`
	// pods are the IP address ranges of pods.
	// +optional
	Pods NetworkRanges `json:"pods,omitempty,omitzero" protobuf:"bytes,3,opt,name=pods"`
	// serviceDomain is the DNS domain of services.
	// +optional
	ServiceDomain string `json:"serviceDomain,omitempty" protobuf:"bytes,4,opt,name=serviceDomain"`
}

// NetworkRanges are IP address ranges.
type NetworkRanges struct {
	// cidrBlocks are the ranges in CIDR notation, at most 100.
	// +optional
	// +listType=atomic
	CIDRBlocks []string `json:"cidrBlocks,omitempty" protobuf:"bytes,1,rep,name=cidrBlocks"`
}

// APIEndpoint is the endpoint of an API server.
type APIEndpoint struct {
	// host is a host name or an IP address.
	// +optional
	Host string `json:"host,omitempty" protobuf:"bytes,1,opt,name=host"`
	// port of the API server. Allowed: 1 to 65535.
	// +optional
	Port int32 `json:"port,omitempty" protobuf:"varint,2,opt,name=port"`
}

// IsZero reports whether the endpoint is unset.
func (e APIEndpoint) IsZero() bool { return e.Host == "" && e.Port == 0 }

// ClusterStatus is the observed state of a Cluster.
type ClusterStatus struct {
	// conditions are the conditions of the cluster.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// initialization records one-time milestones of the cluster. They are never reset.
	// +optional
	Initialization ClusterInitializationStatus `json:"initialization,omitempty,omitzero" protobuf:"bytes,2,opt,name=initialization"`
	// failureDomains are the failure domains for machines, at most 100.
	// +optional
	// +listType=map
	// +listMapKey=name
	FailureDomains []FailureDomain `json:"failureDomains,omitempty" protobuf:"bytes,3,rep,name=failureDomains"`
	// phase is a summary of the state for display.
	// +optional
	Phase ClusterPhase `json:"phase,omitempty" protobuf:"bytes,4,opt,name=phase,casttype=ClusterPhase"` //nolint:nophase // Pod and Machine also have a phase; conditions contain the same information
	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,5,opt,name=observedGeneration"`
}

// ClusterInitializationStatus records one-time milestones of a cluster.
type ClusterInitializationStatus struct {
	// infrastructureProvisioned is true after the infrastructure was provisioned.
	// +optional
	InfrastructureProvisioned *bool `json:"infrastructureProvisioned,omitempty" protobuf:"varint,1,opt,name=infrastructureProvisioned"`
	// controlPlaneInitialized is true after the API server of the cluster responded for the first time.
	// +optional
	ControlPlaneInitialized *bool `json:"controlPlaneInitialized,omitempty" protobuf:"varint,2,opt,name=controlPlaneInitialized"`
}

// FailureDomain is a part of the infrastructure that can fail independently.
type FailureDomain struct {
	// name of the failure domain. For VirtualMachines, it is the name of a Zone.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// controlPlane is true if control plane machines can be in this failure domain.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty" protobuf:"varint,2,opt,name=controlPlane"`
	// attributes are additional properties from the infrastructure object.
	// +optional
	Attributes map[string]string `json:"attributes,omitempty" protobuf:"bytes,3,rep,name=attributes"`
}

// ClusterPhase is a summary of the state of a Cluster for display.
// +enum
type ClusterPhase string

const (
	// ClusterPhasePending means that the cluster has not been reconciled yet.
	ClusterPhasePending ClusterPhase = "Pending"
	// ClusterPhaseProvisioning means that the infrastructure is not provisioned yet.
	ClusterPhaseProvisioning ClusterPhase = "Provisioning"
	// ClusterPhaseProvisioned means that the infrastructure is provisioned.
	ClusterPhaseProvisioned ClusterPhase = "Provisioned"
	// ClusterPhaseDeleting means that the cluster is being deleted.
	ClusterPhaseDeleting ClusterPhase = "Deleting"
)
