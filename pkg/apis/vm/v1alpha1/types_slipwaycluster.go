// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SlipwayCluster is the infrastructure of a Cluster API cluster: the endpoint of its API server and the zones of its
// machines.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type SlipwayCluster struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state, owned by users.
	// +optional
	Spec SlipwayClusterSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state, owned by the controllers.
	// +optional
	Status SlipwayClusterStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// SlipwayClusterList is a list of SlipwayClusters.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type SlipwayClusterList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the SlipwayClusters.
	Items []SlipwayCluster `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// SlipwayClusterSpec is the desired state of a SlipwayCluster.
type SlipwayClusterSpec struct {
	// controlPlaneEndpoint is the endpoint of the cluster's API server, for example the address of a load balancer. The
	// user must provide it. The cluster is provisioned when it is set.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero" protobuf:"bytes,1,opt,name=controlPlaneEndpoint"`
	// zones are the names of the Zones that machines can use, at most 100. If unset, machines can use all zones.
	// +optional
	// +listType=set
	Zones []string `json:"zones,omitempty" protobuf:"bytes,2,rep,name=zones"`
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
func (e APIEndpoint) IsZero() bool { return e == APIEndpoint{} }

// SlipwayClusterStatus is the observed state of a SlipwayCluster.
type SlipwayClusterStatus struct {
	// conditions are the conditions of the cluster: Ready and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// initialization is the state of the first provisioning, in the format of the Cluster API infrastructure contract.
	// +optional
	Initialization *VirtualMachineInitialization `json:"initialization,omitempty" protobuf:"bytes,2,opt,name=initialization"`
	// failureDomains are the zones, in the format of the Cluster API infrastructure contract.
	// +optional
	// +listType=map
	// +listMapKey=name
	FailureDomains []FailureDomain `json:"failureDomains,omitempty" protobuf:"bytes,3,rep,name=failureDomains"`
	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,4,opt,name=observedGeneration"`
}

// FailureDomain is a zone that can fail independently of others.
type FailureDomain struct {
	// name of the Zone.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// controlPlane is true if control plane machines can be in this failure domain.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty" protobuf:"varint,2,opt,name=controlPlane"`
	// attributes are additional properties, for example the vCenter.
	// +optional
	Attributes map[string]string `json:"attributes,omitempty" protobuf:"bytes,3,rep,name=attributes"`
}
