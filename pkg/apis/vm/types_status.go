// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VirtualMachinePhase is a summary for people. No code decides by it.
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
	ObservedGeneration int64
	// Phase is a summary for people.
	Phase VirtualMachinePhase
	// PrintableStatus is a word or two that say what the VM does or lacks.
	PrintableStatus string
	// PowerState is the power state that vSphere reports; empty before creation.
	PowerState PowerState
	// Class is the class in use.
	Class *VirtualMachineClassStatus
	// InstancetypeRef is the instance type in use.
	InstancetypeRef *InstancetypeRef
	// PreferenceRef is the preference in use.
	PreferenceRef *PreferenceRef
	// Resources is the effective size, whatever it comes from.
	Resources *VirtualMachineResources

	// UniqueID is the managed object ID in vSphere, for example vm-42.
	UniqueID string
	// BiosUUID is the BIOS UUID.
	BiosUUID string
	// InstanceUUID is the instance UUID.
	InstanceUUID string
	// HardwareVersion is the virtual hardware version, for example 21 for vmx-21.
	HardwareVersion int32

	// Guest is what VMware Tools reports.
	Guest *VirtualMachineGuestStatus
	// Network is the observed network.
	Network *VirtualMachineNetworkStatus
	// Storage is the storage in use.
	Storage *VirtualMachineStorageStatus
	// Volumes are the observed volumes.
	Volumes []VirtualMachineVolumeStatus
	// Zone is the failure domain that the VM runs in. Always empty: this version
	// knows no zones.
	Zone string
	// NodeName is the name of the ESXi host.
	NodeName string
	// LastRestartTime is when the controller last restarted the VM on request.
	LastRestartTime *metav1.Time
	// CurrentSnapshot names the snapshot that the VM runs on.
	CurrentSnapshot string
	// RootSnapshots names the snapshots without parent.
	RootSnapshots []string
	// RestartRequired lists what differs between the running VM and the
	// effective spec and can only change with a power cycle.
	RestartRequired []RestartRequirement

	// Addresses are the addresses, as the Cluster API infrastructure contract
	// wants them.
	Addresses []MachineAddress
	// Initialization is the state of the first provisioning, as the Cluster API
	// infrastructure contract wants it.
	Initialization *VirtualMachineInitialization
	// FailureDomain is the zone, as the Cluster API infrastructure contract wants it.
	FailureDomain string

	// Conditions are the observations in detail.
	Conditions []metav1.Condition
}

// VirtualMachineClassStatus is the class in use.
type VirtualMachineClassStatus struct {
	// Name of the class.
	Name string
	// Generation of the class that was applied.
	Generation int64
}

// VirtualMachineResources is a size.
type VirtualMachineResources struct {
	// VCPUs is the number of virtual CPUs.
	VCPUs int32
	// Memory is the guest memory.
	Memory *resource.Quantity
}

// RestartRequirement is one difference that needs a power cycle.
type RestartRequirement struct {
	// Path of the field in the effective spec, for example cpu.cores.
	Path string
	// Running is the value that the running VM has.
	Running string
	// Desired is the value that the effective spec has.
	Desired string
}

// MachineAddress is an address of a machine.
type MachineAddress struct {
	// Type is Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.
	Type string
	// Address is the address.
	Address string
}

// VirtualMachineInitialization is the state of the first provisioning.
type VirtualMachineInitialization struct {
	// Provisioned is true once the VM was created, powered on and has an
	// address, and never becomes false again.
	Provisioned *bool
}

// VirtualMachineNetworkStatus is the observed network.
type VirtualMachineNetworkStatus struct {
	// PrimaryIP4 is the IPv4 address to reach the guest by.
	PrimaryIP4 string
	// PrimaryIP6 is the IPv6 address to reach the guest by.
	PrimaryIP6 string
	// HostName is the host name that the guest reports.
	HostName string
	// Interfaces are the observed interfaces.
	Interfaces []VirtualMachineNetworkInterfaceStatus
}

// VirtualMachineNetworkInterfaceStatus is an observed interface.
type VirtualMachineNetworkInterfaceStatus struct {
	// Name of the interface in the spec; empty for interfaces that the guest
	// made itself.
	Name string
	// DeviceKey is the vSphere device key.
	DeviceKey int32
	// MACAddress is the hardware address.
	MACAddress string
	// Connected is true when the guest reports a link.
	Connected bool
	// IPAddresses are the addresses with prefix length.
	IPAddresses []string
}
