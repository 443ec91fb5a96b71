// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// VirtualMachinePreference holds the hardware that a guest operating system
// likes best, for virtual machines of its own namespace. It fills what a
// virtual machine leaves unset and never overrules it.
type VirtualMachinePreference struct {
	metav1.TypeMeta
	// Standard object metadata.
	metav1.ObjectMeta

	// spec is what is preferred. It may be changed at any time: virtual machines
	// keep the revision they captured until they are refreshed.
	Spec VirtualMachinePreferenceSpec
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// VirtualMachinePreferenceList is a list of VirtualMachinePreference.
type VirtualMachinePreferenceList struct {
	metav1.TypeMeta
	// Standard list metadata.
	metav1.ListMeta

	// items are the preferences.
	Items []VirtualMachinePreference
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// VirtualMachineClusterPreference holds preferred hardware for virtual machines
// of every namespace.
type VirtualMachineClusterPreference struct {
	metav1.TypeMeta
	// Standard object metadata.
	metav1.ObjectMeta

	// spec is what is preferred. It may be changed at any time: virtual machines
	// keep the revision they captured until they are refreshed.
	Spec VirtualMachinePreferenceSpec
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// VirtualMachineClusterPreferenceList is a list of
// VirtualMachineClusterPreference.
type VirtualMachineClusterPreferenceList struct {
	metav1.TypeMeta
	// Standard list metadata.
	metav1.ListMeta

	// items are the preferences.
	Items []VirtualMachineClusterPreference
}

// VirtualMachinePreferenceSpec is what a preference suggests and what it
// requires.
type VirtualMachinePreferenceSpec struct {
	// clock is the preferred clock.
	Clock *ClockPreferences

	// cpu is the preferred arrangement of vCPUs.
	CPU *CPUPreferences

	// devices are the preferred virtual devices.
	Devices *DevicePreferences

	// features are the preferred hypervisor features.
	Features *FeaturePreferences

	// firmware is the preferred firmware.
	Firmware *FirmwarePreferences

	// machine is the preferred machine type.
	Machine *MachinePreferences

	// volumes are the preferences for volumes that are created.
	Volumes *VolumePreferences

	// preferredSubdomain is the domain part of the host name.
	PreferredSubdomain *string

	// preferredTerminationGracePeriodSeconds is the time in seconds that the
	// guest is given to shut down, at least 0.
	PreferredTerminationGracePeriodSeconds *int64

	// requirements are what the guest needs at least. A virtual machine that
	// gives less is refused.
	Requirements *PreferenceRequirements

	// annotations are added to the running instance where it does not have the
	// key yet.
	Annotations map[string]string

	// preferSpreadSocketToCoreRatio is the number of cores per socket with the
	// spread topology. spec.cpu.spreadOptions.ratio wins over it; 0 stands for 2.
	PreferSpreadSocketToCoreRatio int32

	// preferredArchitecture is the CPU architecture of the guest, for example
	// amd64.
	PreferredArchitecture *string

	// preferredLaunchSecurity asks for memory encryption and attestation at
	// launch.
	PreferredLaunchSecurity *LaunchSecurity
}

// MachinePreferences is the preferred machine type.
type MachinePreferences struct {
	// preferredMachineType is the virtual hardware version, for example vmx-21.
	// Machine types of other hypervisors are stored and ignored.
	PreferredMachineType string
}

// VolumePreferences are the preferences for volumes that are created.
type VolumePreferences struct {
	// preferredStorageClassName is the storage class of volumes that name none.
	PreferredStorageClassName string
}

// PreferenceRequirements are what a guest needs at least.
type PreferenceRequirements struct {
	// cpu is the number of vCPUs that is needed.
	CPU *CPUPreferenceRequirement

	// memory is the amount of memory that is needed.
	Memory *MemoryPreferenceRequirement

	// architecture is the CPU architecture that is needed.
	Architecture *string
}

// CPUPreferenceRequirement is the number of vCPUs that is needed.
type CPUPreferenceRequirement struct {
	// guest is the least number of vCPUs, at least 1.
	Guest int32
}

// MemoryPreferenceRequirement is the amount of memory that is needed.
type MemoryPreferenceRequirement struct {
	// guest is the least amount of memory, more than 0.
	Guest resource.Quantity
}
