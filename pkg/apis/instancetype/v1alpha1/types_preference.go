// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// VirtualMachinePreference defines the preferred virtual hardware of a guest operating system, for virtual machines of
// the same namespace. It provides values that a virtual machine does not set and never overrides values that it sets.
type VirtualMachinePreference struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec defines the preferred values. After a change, virtual machines keep using their pinned revision until they
	// are refreshed.
	// +optional
	Spec VirtualMachinePreferenceSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// VirtualMachinePreferenceList is a list of VirtualMachinePreference.
type VirtualMachinePreferenceList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the preferences.
	Items []VirtualMachinePreference `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// VirtualMachineClusterPreference defines the preferred virtual hardware for virtual machines of all namespaces.
type VirtualMachineClusterPreference struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec defines the preferred values. After a change, virtual machines keep using their pinned revision until they
	// are refreshed.
	// +optional
	Spec VirtualMachinePreferenceSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// VirtualMachineClusterPreferenceList is a list of
// VirtualMachineClusterPreference.
type VirtualMachineClusterPreferenceList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the preferences.
	Items []VirtualMachineClusterPreference `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// VirtualMachinePreferenceSpec contains the preferred values and the requirements of a preference.
type VirtualMachinePreferenceSpec struct {
	// clock is the preferred clock.
	// +optional
	Clock *ClockPreferences `json:"clock,omitempty" protobuf:"bytes,1,opt,name=clock"`

	// cpu is the preferred vCPU topology.
	// +optional
	CPU *CPUPreferences `json:"cpu,omitempty" protobuf:"bytes,2,opt,name=cpu"`

	// devices are the preferred virtual devices.
	// +optional
	Devices *DevicePreferences `json:"devices,omitempty" protobuf:"bytes,3,opt,name=devices"`

	// features are the preferred hypervisor features. They are stored for compatibility and have no effect on vSphere.
	// +optional
	Features *FeaturePreferences `json:"features,omitempty" protobuf:"bytes,4,opt,name=features"`

	// firmware is the preferred firmware.
	// +optional
	Firmware *FirmwarePreferences `json:"firmware,omitempty" protobuf:"bytes,5,opt,name=firmware"`

	// machine is the preferred machine type.
	// +optional
	Machine *MachinePreferences `json:"machine,omitempty" protobuf:"bytes,6,opt,name=machine"`

	// volumes are the preferences for new volumes.
	// +optional
	Volumes *VolumePreferences `json:"volumes,omitempty" protobuf:"bytes,7,opt,name=volumes"`

	// preferredSubdomain is the domain part of the host name.
	// +optional
	PreferredSubdomain *string `json:"preferredSubdomain,omitempty" protobuf:"bytes,8,opt,name=preferredSubdomain"`

	// preferredTerminationGracePeriodSeconds is the time that the guest has to shut down, in seconds. Minimum 0.
	// +optional
	PreferredTerminationGracePeriodSeconds *int64 `json:"preferredTerminationGracePeriodSeconds,omitempty" protobuf:"varint,9,opt,name=preferredTerminationGracePeriodSeconds"`

	// requirements are the minimum resources of the guest. A virtual machine with fewer resources is not created.
	// +optional
	Requirements *PreferenceRequirements `json:"requirements,omitempty" protobuf:"bytes,10,opt,name=requirements"`

	// annotations are added to the VirtualMachineInstance if it does not have the key yet.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,11,rep,name=annotations"`

	// preferSpreadSocketToCoreRatio is the number of cores per socket with the spread topology.
	// spec.cpu.spreadOptions.ratio takes precedence. 0 means 2.
	// +optional
	PreferSpreadSocketToCoreRatio int32 `json:"preferSpreadSocketToCoreRatio,omitempty" protobuf:"varint,12,opt,name=preferSpreadSocketToCoreRatio"`

	// preferredArchitecture is the CPU architecture of the guest, for example amd64. It is stored for compatibility and
	// has no effect on vSphere.
	// +optional
	PreferredArchitecture *string `json:"preferredArchitecture,omitempty" protobuf:"bytes,13,opt,name=preferredArchitecture"`

	// preferredLaunchSecurity requests memory encryption and attestation at launch. It is stored for compatibility and
	// has no effect on vSphere.
	// +optional
	PreferredLaunchSecurity *LaunchSecurity `json:"preferredLaunchSecurity,omitempty" protobuf:"bytes,14,opt,name=preferredLaunchSecurity"`
}

// MachinePreferences is the preferred machine type.
type MachinePreferences struct {
	// preferredMachineType is the virtual hardware version, for example vmx-21. Machine types of other hypervisors are
	// stored and have no effect.
	// +optional
	PreferredMachineType string `json:"preferredMachineType,omitempty" protobuf:"bytes,1,opt,name=preferredMachineType"`
}

// VolumePreferences are the preferences for new volumes.
type VolumePreferences struct {
	// preferredStorageClassName is the storage class of volumes that do not specify one.
	// +optional
	PreferredStorageClassName string `json:"preferredStorageClassName,omitempty" protobuf:"bytes,1,opt,name=preferredStorageClassName"`
}

// PreferenceRequirements are the minimum resources of a guest.
type PreferenceRequirements struct {
	// cpu is the required number of vCPUs.
	// +optional
	CPU *CPUPreferenceRequirement `json:"cpu,omitempty" protobuf:"bytes,1,opt,name=cpu"`

	// memory is the required amount of memory.
	// +optional
	Memory *MemoryPreferenceRequirement `json:"memory,omitempty" protobuf:"bytes,2,opt,name=memory"`

	// architecture is the required CPU architecture.
	// +optional
	Architecture *string `json:"architecture,omitempty" protobuf:"bytes,3,opt,name=architecture"`
}

// CPUPreferenceRequirement is the required number of vCPUs.
type CPUPreferenceRequirement struct {
	// guest is the minimum number of vCPUs. It must be at least 1.
	// +required
	Guest int32 `json:"guest" protobuf:"varint,1,opt,name=guest"`
}

// MemoryPreferenceRequirement is the required amount of memory.
type MemoryPreferenceRequirement struct {
	// guest is the minimum amount of memory. It must be greater than 0.
	// +required
	Guest resource.Quantity `json:"guest" protobuf:"bytes,1,opt,name=guest"`
}
