// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
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

// StatusVersion counts the machines of a version.
type StatusVersion struct {
	// version of Kubernetes.
	// +required
	Version string `json:"version" protobuf:"bytes,1,opt,name=version"`
	// replicas of that version.
	// +optional
	Replicas int32 `json:"replicas,omitempty" protobuf:"varint,2,opt,name=replicas"`
}
