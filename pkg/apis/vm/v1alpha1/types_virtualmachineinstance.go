// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VirtualMachineInstance represents a running virtual machine. The controller creates it when the VM is powered on and
// deletes it when the VM is powered off. It is read-only for users.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineInstance struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the effective spec that the VM runs with.
	// +optional
	Spec VirtualMachineInstanceSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state.
	// +optional
	Status VirtualMachineInstanceStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// VirtualMachineInstanceList is a list of VirtualMachineInstances.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineInstanceList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the instances.
	Items []VirtualMachineInstance `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// VirtualMachineInstanceSpec is the effective spec of a virtual machine, with class or instance type, preference and
// defaults resolved.
type VirtualMachineInstanceSpec struct {
	// instancetype is the instance type revision that was applied.
	// +optional
	Instancetype *AppliedRevision `json:"instancetype,omitempty" protobuf:"bytes,1,opt,name=instancetype"`
	// preference is the preference revision that was applied.
	// +optional
	Preference *AppliedRevision `json:"preference,omitempty" protobuf:"bytes,2,opt,name=preference"`
	// className is the name of the class that was applied.
	// +optional
	ClassName string `json:"className,omitempty" protobuf:"bytes,3,opt,name=className"`

	// cpu is the effective CPU.
	// +optional
	CPU *VirtualMachineCPU `json:"cpu,omitempty" protobuf:"bytes,4,opt,name=cpu"`
	// memory is the effective memory.
	// +optional
	Memory *VirtualMachineMemory `json:"memory,omitempty" protobuf:"bytes,5,opt,name=memory"`
	// image is the image that the virtual machine was created from.
	// +optional
	Image *VirtualMachineImageRef `json:"image,omitempty" protobuf:"bytes,6,opt,name=image"`
	// storageClass is the effective storage class.
	// +optional
	StorageClass string `json:"storageClass,omitempty" protobuf:"bytes,7,opt,name=storageClass"`
	// network is the effective network.
	// +optional
	Network *VirtualMachineNetworkSpec `json:"network,omitempty" protobuf:"bytes,8,opt,name=network"`
	// volumes are the effective volumes.
	// +optional
	// +listType=map
	// +listMapKey=name
	Volumes []VirtualMachineVolume `json:"volumes,omitempty" protobuf:"bytes,9,rep,name=volumes"`
	// bootstrap is the guest configuration.
	// +optional
	Bootstrap *VirtualMachineBootstrap `json:"bootstrap,omitempty" protobuf:"bytes,10,opt,name=bootstrap"`
	// firmware is the effective firmware.
	// +optional
	Firmware *VirtualMachineFirmware `json:"firmware,omitempty" protobuf:"bytes,11,opt,name=firmware"`
	// devices are the effective devices.
	// +optional
	Devices *VirtualMachineDevices `json:"devices,omitempty" protobuf:"bytes,12,opt,name=devices"`
	// minHardwareVersion is the effective minimum hardware version.
	// +optional
	MinHardwareVersion int32 `json:"minHardwareVersion,omitempty" protobuf:"varint,13,opt,name=minHardwareVersion"`
	// guestID is the effective guest operating system identifier.
	// +optional
	GuestID string `json:"guestID,omitempty" protobuf:"bytes,14,opt,name=guestID"`
	// nodeSelector is copied from the instance type. It has no effect because vSphere chooses the host.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty" protobuf:"bytes,15,rep,name=nodeSelector"`
	// annotations are the annotations of the instance type and the preference.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,16,rep,name=annotations"`
	// terminationGracePeriodSeconds is the time that a soft power off waits for the guest, in seconds.
	// +optional
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty" protobuf:"varint,17,opt,name=terminationGracePeriodSeconds"`
	// bootDisk is the effective boot disk.
	// +optional
	BootDisk *VirtualMachineBootDisk `json:"bootDisk,omitempty" protobuf:"bytes,18,opt,name=bootDisk"`
	// bootOrder lists the devices that the firmware tries to boot from, in order.
	// +optional
	// +listType=atomic
	BootOrder []VirtualMachineBootDevice `json:"bootOrder,omitempty" protobuf:"bytes,19,rep,name=bootOrder"`
}

// AppliedRevision is an applied revision of an instance type or preference.
type AppliedRevision struct {
	// name of the object.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// kind in canonical form.
	// +required
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind"`
	// revisionName is the name of the ControllerRevision.
	// +optional
	RevisionName string `json:"revisionName,omitempty" protobuf:"bytes,3,opt,name=revisionName"`
}

// VirtualMachineInstanceStatus is the observed state of a running VM.
type VirtualMachineInstanceStatus struct {
	// conditions are the conditions of the virtual machine.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,5,rep,name=conditions"`
	// phase is a summary of the state for display: Starting, Running, Suspended or Stopping.
	// +optional
	Phase VirtualMachinePhase `json:"phase,omitempty" protobuf:"bytes,1,opt,name=phase,casttype=VirtualMachinePhase"` //nolint:nophase // Pod and Machine also have a phase; conditions contain the same information
	// nodeName is the name of the ESXi host.
	// +optional
	NodeName string `json:"nodeName,omitempty" protobuf:"bytes,2,opt,name=nodeName"`
	// network is the observed network.
	// +optional
	Network *VirtualMachineNetworkStatus `json:"network,omitempty" protobuf:"bytes,3,opt,name=network"`
	// guest is the state of the guest that VMware Tools reports.
	// +optional
	Guest *VirtualMachineGuestStatus `json:"guest,omitempty" protobuf:"bytes,4,opt,name=guest"`
}
