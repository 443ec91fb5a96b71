// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VirtualMachinePhase is a summary for people. No code decides by it.
// +enum
type VirtualMachinePhase string

const (
	// PhasePending waits for something that the VM needs.
	PhasePending VirtualMachinePhase = "Pending"
	// PhaseCreating is being created in vSphere.
	PhaseCreating VirtualMachinePhase = "Creating"
	// PhaseStarting is being powered on.
	PhaseStarting VirtualMachinePhase = "Starting"
	// PhaseRunning is powered on.
	PhaseRunning VirtualMachinePhase = "Running"
	// PhaseStopping is being powered off or suspended.
	PhaseStopping VirtualMachinePhase = "Stopping"
	// PhaseStopped is powered off.
	PhaseStopped VirtualMachinePhase = "Stopped"
	// PhaseSuspended is suspended.
	PhaseSuspended VirtualMachinePhase = "Suspended"
	// PhaseDeleting is being deleted.
	PhaseDeleting VirtualMachinePhase = "Deleting"
	// PhaseFailed cannot go on without a change.
	PhaseFailed VirtualMachinePhase = "Failed"
)

// VirtualMachineStatus is the observed state of a VirtualMachine.
type VirtualMachineStatus struct {
	// ObservedGeneration is the generation of the spec that this status reflects.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase is a summary for people.
	// +optional
	Phase VirtualMachinePhase `json:"phase,omitempty"`
	// PrintableStatus is a word or two that say what the VM does or lacks.
	// +optional
	PrintableStatus string `json:"printableStatus,omitempty"`
	// PowerState is the power state that vSphere reports; empty before creation.
	// +optional
	PowerState PowerState `json:"powerState,omitempty"`
	// Class is the class in use.
	// +optional
	Class *VirtualMachineClassStatus `json:"class,omitempty"`
	// InstancetypeRef is the instance type in use.
	// +optional
	InstancetypeRef *InstancetypeRef `json:"instancetypeRef,omitempty"`
	// PreferenceRef is the preference in use.
	// +optional
	PreferenceRef *PreferenceRef `json:"preferenceRef,omitempty"`
	// Resources is the effective size, whatever it comes from.
	// +optional
	Resources *VirtualMachineResources `json:"resources,omitempty"`

	// UniqueID is the managed object ID in vSphere, for example vm-42.
	// +optional
	UniqueID string `json:"uniqueID,omitempty"`
	// BiosUUID is the BIOS UUID.
	// +optional
	BiosUUID string `json:"biosUUID,omitempty"`
	// InstanceUUID is the instance UUID.
	// +optional
	InstanceUUID string `json:"instanceUUID,omitempty"`
	// HardwareVersion is the virtual hardware version, for example 21 for vmx-21.
	// +optional
	HardwareVersion int32 `json:"hardwareVersion,omitempty"`

	// Guest is what VMware Tools reports.
	// +optional
	Guest *VirtualMachineGuestStatus `json:"guest,omitempty"`
	// Network is the observed network.
	// +optional
	Network *VirtualMachineNetworkStatus `json:"network,omitempty"`
	// Storage is the storage in use.
	// +optional
	Storage *VirtualMachineStorageStatus `json:"storage,omitempty"`
	// Volumes are the observed volumes.
	// +optional
	// +listType=map
	// +listMapKey=name
	Volumes []VirtualMachineVolumeStatus `json:"volumes,omitempty"`
	// Zone is the failure domain that the VM runs in.
	// +optional
	Zone string `json:"zone,omitempty"`
	// NodeName is the name of the ESXi host.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// LastRestartTime is when the controller last restarted the VM on request.
	// +optional
	LastRestartTime *metav1.Time `json:"lastRestartTime,omitempty"`
	// CurrentSnapshot names the snapshot that the VM runs on.
	// +optional
	CurrentSnapshot string `json:"currentSnapshot,omitempty"`
	// RootSnapshots names the snapshots without parent.
	// +optional
	// +listType=atomic
	RootSnapshots []string `json:"rootSnapshots,omitempty"`
	// RestartRequired lists what differs between the running VM and the
	// effective spec and can only change with a power cycle.
	// +optional
	// +listType=map
	// +listMapKey=path
	RestartRequired []RestartRequirement `json:"restartRequired,omitempty"`

	// Addresses are the addresses, as the Cluster API infrastructure contract
	// wants them.
	// +optional
	// +listType=atomic
	Addresses []MachineAddress `json:"addresses,omitempty"`
	// Initialization is the state of the first provisioning, as the Cluster API
	// infrastructure contract wants it.
	// +optional
	Initialization *VirtualMachineInitialization `json:"initialization,omitempty"`
	// FailureDomain is the zone, as the Cluster API infrastructure contract wants it.
	// +optional
	FailureDomain string `json:"failureDomain,omitempty"`

	// Conditions are the observations in detail.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// VirtualMachineClassStatus is the class in use.
type VirtualMachineClassStatus struct {
	// Name of the class.
	Name string `json:"name"`
	// Generation of the class that was applied.
	// +optional
	Generation int64 `json:"generation,omitempty"`
}

// VirtualMachineResources is a size.
type VirtualMachineResources struct {
	// VCPUs is the number of virtual CPUs.
	// +optional
	VCPUs int32 `json:"vcpus,omitempty"`
	// Memory is the guest memory.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// RestartRequirement is one difference that needs a power cycle.
type RestartRequirement struct {
	// Path of the field in the effective spec, for example cpu.cores.
	Path string `json:"path"`
	// Running is the value that the running VM has.
	// +optional
	Running string `json:"running,omitempty"`
	// Desired is the value that the effective spec has.
	// +optional
	Desired string `json:"desired,omitempty"`
}

// MachineAddress is an address of a machine.
type MachineAddress struct {
	// Type is Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.
	Type string `json:"type"`
	// Address is the address.
	Address string `json:"address"`
}

// VirtualMachineInitialization is the state of the first provisioning.
type VirtualMachineInitialization struct {
	// Provisioned is true once the VM was created, powered on and has an
	// address, and never becomes false again.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// VirtualMachineNetworkStatus is the observed network.
type VirtualMachineNetworkStatus struct {
	// PrimaryIP4 is the IPv4 address to reach the guest by.
	// +optional
	PrimaryIP4 string `json:"primaryIP4,omitempty"`
	// PrimaryIP6 is the IPv6 address to reach the guest by.
	// +optional
	PrimaryIP6 string `json:"primaryIP6,omitempty"`
	// HostName is the host name that the guest reports.
	// +optional
	HostName string `json:"hostName,omitempty"`
	// Interfaces are the observed interfaces.
	// +optional
	// +listType=atomic
	Interfaces []VirtualMachineNetworkInterfaceStatus `json:"interfaces,omitempty"`
}

// VirtualMachineNetworkInterfaceStatus is an observed interface.
type VirtualMachineNetworkInterfaceStatus struct {
	// Name of the interface in the spec; empty for interfaces that the guest
	// made itself.
	// +optional
	Name string `json:"name,omitempty"`
	// DeviceKey is the vSphere device key.
	// +optional
	DeviceKey int32 `json:"deviceKey,omitempty"`
	// MACAddress is the hardware address.
	// +optional
	MACAddress string `json:"macAddress,omitempty"`
	// Connected is true when the guest reports a link.
	// +optional
	Connected bool `json:"connected,omitempty"`
	// IPAddresses are the addresses with prefix length.
	// +optional
	// +listType=atomic
	IPAddresses []string `json:"ipAddresses,omitempty"`
}
