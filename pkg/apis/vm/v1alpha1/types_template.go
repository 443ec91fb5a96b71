// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VirtualMachineTemplate is a template for virtual machines that are nodes of Kubernetes clusters. The spec is
// immutable. To change machines, create a new template.
//
// +genclient
// +genclient:noStatus
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec contains the template.
	// +optional
	Spec VirtualMachineTemplateSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// VirtualMachineTemplateList is a list of VirtualMachineTemplates.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the templates.
	Items []VirtualMachineTemplate `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// VirtualMachineTemplateSpec contains the template.
type VirtualMachineTemplateSpec struct {
	// template of the virtual machines.
	// +optional
	Template VirtualMachineTemplateResource `json:"template" protobuf:"bytes,1,opt,name=template"`
}

// VirtualMachineTemplateResource describes the virtual machines that are created from a template.
type VirtualMachineTemplateResource struct {
	// metadata of the virtual machines.
	// +optional
	Metadata TemplateMetadata `json:"metadata,omitempty,omitzero" protobuf:"bytes,1,opt,name=metadata"`
	// spec of the virtual machines.
	// +optional
	Spec VirtualMachineSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
}

// TemplateMetadata is the metadata of objects that are created from a template.
type TemplateMetadata struct {
	// labels of the created objects.
	// +optional
	Labels map[string]string `json:"labels,omitempty" protobuf:"bytes,1,rep,name=labels"`
	// annotations of the created objects.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,2,rep,name=annotations"`
}
