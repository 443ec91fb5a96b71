// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VirtualMachineInstance is a running virtual machine. The controller makes it
// when the VM is powered on and removes it when the VM is powered off; users
// only read it.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineInstance struct {
	metav1.TypeMeta
	// Standard object metadata.
	metav1.ObjectMeta

	// Spec is the effective spec that the VM runs with.
	Spec VirtualMachineInstanceSpec
	// Status is the observed state.
	Status VirtualMachineInstanceStatus
}

// VirtualMachineInstanceList is a list of VirtualMachineInstances.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineInstanceList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []VirtualMachineInstance
}

// VirtualMachineInstanceSpec is the effective spec of a virtual machine: class
// or instance type, preference and defaults resolved. The provider applies it.
type VirtualMachineInstanceSpec struct {
	// Instancetype names the instance type revision that was applied.
	Instancetype *AppliedRevision
	// Preference names the preference revision that was applied.
	Preference *AppliedRevision
	// ClassName names the class that was applied.
	ClassName string

	// CPU is the effective CPU.
	CPU *VirtualMachineCPU
	// Memory is the effective memory.
	Memory *VirtualMachineMemory
	// Image is the image.
	Image *VirtualMachineImageRef
	// StorageClass is the effective storage class.
	StorageClass string
	// Network is the effective network.
	Network *VirtualMachineNetworkSpec
	// Volumes are the effective volumes.
	Volumes []VirtualMachineVolume
	// Bootstrap is the guest configuration.
	Bootstrap *VirtualMachineBootstrap
	// Firmware is the effective firmware.
	Firmware *VirtualMachineFirmware
	// Devices are the effective devices.
	Devices *VirtualMachineDevices
	// MinHardwareVersion is the effective lowest hardware version.
	MinHardwareVersion int32
	// GuestID is the effective guest operating system identifier.
	GuestID string
	// NodeSelector restricts the hosts, from the instance type.
	NodeSelector map[string]string
	// Annotations come from the instance type and the preference.
	Annotations map[string]string
	// TerminationGracePeriodSeconds bounds a soft power off.
	TerminationGracePeriodSeconds *int64
}

// AppliedRevision is an instance type or preference in the revision that was applied.
type AppliedRevision struct {
	// Name of the object.
	Name string
	// Kind in canonical form.
	Kind string
	// RevisionName is the ControllerRevision.
	RevisionName string
}

// VirtualMachineInstanceStatus is the observed state of a running VM.
type VirtualMachineInstanceStatus struct {
	// Phase is a summary for people: Starting, Running, Suspended, Stopping.
	Phase VirtualMachinePhase
	// NodeName is the name of the ESXi host.
	NodeName string
	// Network is the observed network.
	Network *VirtualMachineNetworkStatus
	// Guest is what VMware Tools reports.
	Guest *VirtualMachineGuestStatus
	// Conditions are the observations in detail.
	Conditions []metav1.Condition
}
