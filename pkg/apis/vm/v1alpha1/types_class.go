// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VirtualMachineClass defines a size for virtual machines of the same namespace. It has no revisions: a change applies
// to a VM at its next reconcile.
//
// +genclient
// +genclient:noStatus
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineClass struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec defines the size.
	// +optional
	Spec VirtualMachineClassSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// VirtualMachineClassList is a list of VirtualMachineClasses.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineClassList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the classes.
	Items []VirtualMachineClass `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// VirtualMachineClassSpec is the size of a class.
type VirtualMachineClassSpec struct {
	// cpu of the virtual machines. At least one of sockets, cores and threads is required.
	// +optional
	CPU VirtualMachineCPU `json:"cpu" protobuf:"bytes,1,opt,name=cpu"`
	// memory of the virtual machines. The field guest is required.
	// +optional
	Memory VirtualMachineMemory `json:"memory" protobuf:"bytes,2,opt,name=memory"`
	// devices of the virtual machines.
	// +optional
	Devices *VirtualMachineDevices `json:"devices,omitempty" protobuf:"bytes,3,opt,name=devices"`
	// minHardwareVersion is the minimum virtual hardware version.
	// +optional
	MinHardwareVersion int32 `json:"minHardwareVersion,omitempty" protobuf:"varint,4,opt,name=minHardwareVersion"`
	// description is a human-readable description.
	// +optional
	Description string `json:"description,omitempty" protobuf:"bytes,5,opt,name=description"`
}
