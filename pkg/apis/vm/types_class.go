// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VirtualMachineClass is a size that virtual machines of its namespace refer
// to by name. Changes reach a VM with its next reconcile: there are no revisions.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineClass struct {
	metav1.TypeMeta
	// Standard object metadata.
	metav1.ObjectMeta

	// Spec is the size.
	Spec VirtualMachineClassSpec
}

// VirtualMachineClassList is a list of VirtualMachineClasses.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineClassList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []VirtualMachineClass
}

// VirtualMachineClassSpec is the size of a class.
type VirtualMachineClassSpec struct {
	// CPU of the virtual machines; sockets, cores or threads are required.
	CPU VirtualMachineCPU
	// Memory of the virtual machines; guest is required.
	Memory VirtualMachineMemory
	// Devices of the virtual machines.
	Devices *VirtualMachineDevices
	// MinHardwareVersion is the lowest virtual hardware version.
	MinHardwareVersion int32
	// Description for people.
	Description string
}
