// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VirtualMachineInstance is a running virtual machine. The controller makes it
// when the VM is powered on and removes it when the VM is powered off; users
// only read it.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineInstance struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the effective spec that the VM runs with.
	// +optional
	Spec VirtualMachineInstanceSpec `json:"spec,omitempty"`
	// Status is the observed state.
	// +optional
	Status VirtualMachineInstanceStatus `json:"status,omitempty"`
}

// VirtualMachineInstanceList is a list of VirtualMachineInstances.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineInstanceList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []VirtualMachineInstance `json:"items"`
}

// VirtualMachineInstanceSpec is the effective spec of a virtual machine: class
// or instance type, preference and defaults resolved. The provider applies it.
type VirtualMachineInstanceSpec struct {
	// Instancetype names the instance type revision that was applied.
	// +optional
	Instancetype *AppliedRevision `json:"instancetype,omitempty"`
	// Preference names the preference revision that was applied.
	// +optional
	Preference *AppliedRevision `json:"preference,omitempty"`
	// ClassName names the class that was applied.
	// +optional
	ClassName string `json:"className,omitempty"`

	// CPU is the effective CPU.
	// +optional
	CPU *VirtualMachineCPU `json:"cpu,omitempty"`
	// Memory is the effective memory.
	// +optional
	Memory *VirtualMachineMemory `json:"memory,omitempty"`
	// Image is the image.
	// +optional
	Image *VirtualMachineImageRef `json:"image,omitempty"`
	// StorageClass is the effective storage class.
	// +optional
	StorageClass string `json:"storageClass,omitempty"`
	// Network is the effective network.
	// +optional
	Network *VirtualMachineNetworkSpec `json:"network,omitempty"`
	// Volumes are the effective volumes.
	// +optional
	// +listType=map
	// +listMapKey=name
	Volumes []VirtualMachineVolume `json:"volumes,omitempty"`
	// Bootstrap is the guest configuration.
	// +optional
	Bootstrap *VirtualMachineBootstrap `json:"bootstrap,omitempty"`
	// Firmware is the effective firmware.
	// +optional
	Firmware *VirtualMachineFirmware `json:"firmware,omitempty"`
	// Devices are the effective devices.
	// +optional
	Devices *VirtualMachineDevices `json:"devices,omitempty"`
	// MinHardwareVersion is the effective lowest hardware version.
	// +optional
	MinHardwareVersion int32 `json:"minHardwareVersion,omitempty"`
	// GuestID is the effective guest operating system identifier.
	// +optional
	GuestID string `json:"guestID,omitempty"`
	// NodeSelector restricts the hosts, from the instance type.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Annotations come from the instance type and the preference.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// TerminationGracePeriodSeconds bounds a soft power off.
	// +optional
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
}

// AppliedRevision is an instance type or preference in the revision that was applied.
type AppliedRevision struct {
	// Name of the object.
	Name string `json:"name"`
	// Kind in canonical form.
	Kind string `json:"kind"`
	// RevisionName is the ControllerRevision.
	// +optional
	RevisionName string `json:"revisionName,omitempty"`
}

// VirtualMachineInstanceStatus is the observed state of a running VM.
type VirtualMachineInstanceStatus struct {
	// Phase is a summary for people: Starting, Running, Suspended, Stopping.
	// +optional
	Phase VirtualMachinePhase `json:"phase,omitempty"`
	// NodeName is the name of the ESXi host.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// Network is the observed network.
	// +optional
	Network *VirtualMachineNetworkStatus `json:"network,omitempty"`
	// Guest is what VMware Tools reports.
	// +optional
	Guest *VirtualMachineGuestStatus `json:"guest,omitempty"`
	// Conditions are the observations in detail.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
