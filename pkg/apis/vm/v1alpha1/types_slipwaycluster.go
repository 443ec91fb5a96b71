// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SlipwayCluster is what a Kubernetes cluster of Cluster API needs of vSphere besides
// machines: the endpoint of its API, and the zones that machines can be in.
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

	// items are the objects.
	Items []SlipwayCluster `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// SlipwayClusterSpec is the desired state of a SlipwayCluster.
type SlipwayClusterSpec struct {
	// controlPlaneEndpoint is where the API of the cluster is: an address or a name that the
	// user provides, for example of a load balancer. The cluster is provisioned when it is set.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero" protobuf:"bytes,1,opt,name=controlPlaneEndpoint"`
	// zones are the names of the Zones that machines can be in, at most 100. Unset, all are.
	// +optional
	// +listType=set
	Zones []string `json:"zones,omitempty" protobuf:"bytes,2,rep,name=zones"`
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
func (e APIEndpoint) IsZero() bool { return e == APIEndpoint{} }

// SlipwayClusterStatus is the observed state of a SlipwayCluster.
type SlipwayClusterStatus struct {
	// conditions tell what is observed.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// initialization is the state of the first provisioning, as the Cluster API
	// infrastructure contract wants it.
	// +optional
	Initialization *VirtualMachineInitialization `json:"initialization,omitempty" protobuf:"bytes,2,opt,name=initialization"`
	// failureDomains are the zones, as that contract wants them.
	// +optional
	// +listType=map
	// +listMapKey=name
	FailureDomains []FailureDomain `json:"failureDomains,omitempty" protobuf:"bytes,3,rep,name=failureDomains"`
	// observedGeneration is the generation of spec that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,4,opt,name=observedGeneration"`
}

// FailureDomain is a place that can fail as a whole.
type FailureDomain struct {
	// name of the Zone.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// controlPlane is true for a place where control plane machines may be.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty" protobuf:"varint,2,opt,name=controlPlane"`
	// attributes are what is told of it besides, for example its vCenter.
	// +optional
	Attributes map[string]string `json:"attributes,omitempty" protobuf:"bytes,3,rep,name=attributes"`
}
