// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ContractVersionedObjectReference refers to an object in the same namespace whose kind implements a Cluster API
// contract. The contract determines the API version.
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

// IsDefined reports whether any field of the reference is set.
func (r *ContractVersionedObjectReference) IsDefined() bool {
	return r != nil && *r != (ContractVersionedObjectReference{})
}

// GroupKind returns the group and kind of the referenced object.
func (r *ContractVersionedObjectReference) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.APIGroup, Kind: r.Kind}
}

// ObjectMeta is the metadata of objects that are created from a template.
type ObjectMeta struct {
	// labels of the created objects.
	// +optional
	Labels map[string]string `json:"labels,omitempty" protobuf:"bytes,1,rep,name=labels"`
	// annotations of the created objects.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,2,rep,name=annotations"`
}

// StatusVersion is the number of machines with a Kubernetes version.
type StatusVersion struct {
	// version of Kubernetes.
	// +required
	Version string `json:"version" protobuf:"bytes,1,opt,name=version"`
	// replicas is the number of machines with this version.
	// +optional
	Replicas int32 `json:"replicas,omitempty" protobuf:"varint,2,opt,name=replicas"`
}
