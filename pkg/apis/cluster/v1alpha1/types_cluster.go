// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cluster is a Kubernetes cluster that machines are nodes of.
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

	// items are the objects.
	Items []Cluster `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// ClusterSpec is the desired state of a Cluster.
type ClusterSpec struct {
	// paused keeps the controllers from the cluster and everything of it.
	// +optional
	Paused *bool `json:"paused,omitempty" protobuf:"varint,1,opt,name=paused"`
	// clusterNetwork says what the networks of the cluster are. Nothing here depends on it.
	// +optional
	ClusterNetwork ClusterNetwork `json:"clusterNetwork,omitempty,omitzero" protobuf:"bytes,2,opt,name=clusterNetwork"`
	// controlPlaneEndpoint is where the API of the cluster is. It is taken from the
	// infrastructure when it is unset.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero" protobuf:"bytes,3,opt,name=controlPlaneEndpoint"`
	// controlPlaneRef names the object that makes the control plane.
	// +optional
	ControlPlaneRef ContractVersionedObjectReference `json:"controlPlaneRef,omitempty,omitzero" protobuf:"bytes,4,opt,name=controlPlaneRef"` //nolint:nonpointerstructs // absent when all of it is empty (omitzero), as in Cluster API
	// infrastructureRef names the object that makes what the cluster needs besides machines,
	// for example a SlipwayCluster.
	// +optional
	InfrastructureRef ContractVersionedObjectReference `json:"infrastructureRef,omitempty,omitzero" protobuf:"bytes,5,opt,name=infrastructureRef"` //nolint:nonpointerstructs // absent when all of it is empty (omitzero), as in Cluster API
}

// ClusterNetwork says what the networks of a cluster are.
type ClusterNetwork struct {
	// apiServerPort is the port of the API servers.
	// +optional
	APIServerPort int32 `json:"apiServerPort,omitempty" protobuf:"varint,1,opt,name=apiServerPort"`
	// services are the ranges of the addresses of services.
	// +optional
	Services NetworkRanges `json:"services,omitempty,omitzero" protobuf:"bytes,2,opt,name=services"`
	// pods are the ranges of the addresses of pods.
	// +optional
	Pods NetworkRanges `json:"pods,omitempty,omitzero" protobuf:"bytes,3,opt,name=pods"`
	// serviceDomain is the domain of the names of services.
	// +optional
	ServiceDomain string `json:"serviceDomain,omitempty" protobuf:"bytes,4,opt,name=serviceDomain"`
}

// NetworkRanges are ranges of addresses.
type NetworkRanges struct {
	// cidrBlocks are the ranges, at most 100.
	// +optional
	// +listType=atomic
	CIDRBlocks []string `json:"cidrBlocks,omitempty" protobuf:"bytes,1,rep,name=cidrBlocks"`
}

// APIEndpoint is where an API is.
type APIEndpoint struct {
	// host is a name or an address.
	// +optional
	Host string `json:"host,omitempty" protobuf:"bytes,1,opt,name=host"`
	// port is 1 to 65535.
	// +optional
	Port int32 `json:"port,omitempty" protobuf:"varint,2,opt,name=port"`
}

// IsZero is true for an endpoint that is not known.
func (e APIEndpoint) IsZero() bool { return e.Host == "" && e.Port == 0 }

// ClusterStatus is the observed state of a Cluster.
type ClusterStatus struct {
	// conditions tell what is observed.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// initialization tells what was reached for the first time; it is never taken back.
	// +optional
	Initialization ClusterInitializationStatus `json:"initialization,omitempty,omitzero" protobuf:"bytes,2,opt,name=initialization"`
	// failureDomains that machines can be in, at most 100.
	// +optional
	// +listType=map
	// +listMapKey=name
	FailureDomains []FailureDomain `json:"failureDomains,omitempty" protobuf:"bytes,3,rep,name=failureDomains"`
	// phase sums up, for people.
	// +optional
	Phase ClusterPhase `json:"phase,omitempty" protobuf:"bytes,4,opt,name=phase,casttype=ClusterPhase"` //nolint:nophase // people know the word from Pod and Machine; conditions say all of it
	// observedGeneration is the generation of spec that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,5,opt,name=observedGeneration"`
}

// ClusterInitializationStatus tells what a cluster has reached for the first time.
type ClusterInitializationStatus struct {
	// infrastructureProvisioned is true once the infrastructure was there.
	// +optional
	InfrastructureProvisioned *bool `json:"infrastructureProvisioned,omitempty" protobuf:"varint,1,opt,name=infrastructureProvisioned"`
	// controlPlaneInitialized is true once the API of the cluster answered.
	// +optional
	ControlPlaneInitialized *bool `json:"controlPlaneInitialized,omitempty" protobuf:"varint,2,opt,name=controlPlaneInitialized"`
}

// FailureDomain is a place that can fail as a whole.
type FailureDomain struct {
	// name of the place; of VirtualMachines, that of a Zone.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// controlPlane is true for a place where control plane machines may be.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty" protobuf:"varint,2,opt,name=controlPlane"`
	// attributes are what the infrastructure tells of it.
	// +optional
	Attributes map[string]string `json:"attributes,omitempty" protobuf:"bytes,3,rep,name=attributes"`
}

// ClusterPhase sums up the state of a Cluster, for people.
// +enum
type ClusterPhase string

const (
	// ClusterPhasePending has yet to be looked at.
	ClusterPhasePending ClusterPhase = "Pending"
	// ClusterPhaseProvisioning waits for the infrastructure.
	ClusterPhaseProvisioning ClusterPhase = "Provisioning"
	// ClusterPhaseProvisioned has its infrastructure.
	ClusterPhaseProvisioned ClusterPhase = "Provisioned"
	// ClusterPhaseDeleting is being deleted.
	ClusterPhaseDeleting ClusterPhase = "Deleting"
)
