// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VirtualMachinePhase is a summary of the state for display. No code depends on it.
// +enum
type VirtualMachinePhase string

const (
	// PhasePending means that the VM waits for a prerequisite.
	PhasePending VirtualMachinePhase = "Pending"
	// PhaseCreating means that the VM is being created in vSphere.
	PhaseCreating VirtualMachinePhase = "Creating"
	// PhaseStarting means that the VM is being powered on.
	PhaseStarting VirtualMachinePhase = "Starting"
	// PhaseRunning means that the VM is powered on.
	PhaseRunning VirtualMachinePhase = "Running"
	// PhaseStopping means that the VM is being powered off or suspended.
	PhaseStopping VirtualMachinePhase = "Stopping"
	// PhaseStopped means that the VM is powered off.
	PhaseStopped VirtualMachinePhase = "Stopped"
	// PhaseSuspended means that the VM is suspended.
	PhaseSuspended VirtualMachinePhase = "Suspended"
	// PhaseDeleting means that the VM is being deleted.
	PhaseDeleting VirtualMachinePhase = "Deleting"
	// PhaseFailed means that the VM needs a change by a user.
	PhaseFailed VirtualMachinePhase = "Failed"
	// PhaseUnknown means that vSphere no longer reports the VM or that its state could not be read.
	PhaseUnknown VirtualMachinePhase = "Unknown"
)

// VirtualMachineStatus is the observed state of a VirtualMachine.
type VirtualMachineStatus struct {
	// conditions are the conditions of the virtual machine.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,26,rep,name=conditions"`
	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// phase is a summary of the state for display.
	// +optional
	Phase VirtualMachinePhase `json:"phase,omitempty" protobuf:"bytes,2,opt,name=phase,casttype=VirtualMachinePhase"` //nolint:nophase // Pod and Machine also have a phase; conditions contain the same information
	// printableStatus is a short summary of the state or of the current problem, for display.
	// +optional
	PrintableStatus string `json:"printableStatus,omitempty" protobuf:"bytes,3,opt,name=printableStatus"`
	// powerState is the power state that vSphere reports. Empty before the VM is created.
	// +optional
	PowerState PowerState `json:"powerState,omitempty" protobuf:"bytes,4,opt,name=powerState,casttype=PowerState"`
	// class is the class that defines the current size. While changes of a newer class generation wait for a restart,
	// this is the previous generation.
	// +optional
	Class *VirtualMachineClassStatus `json:"class,omitempty" protobuf:"bytes,5,opt,name=class"`
	// instancetypeRef is the instance type in use.
	// +optional
	InstancetypeRef *InstancetypeRef `json:"instancetypeRef,omitempty" protobuf:"bytes,6,opt,name=instancetypeRef"`
	// preferenceRef is the preference in use.
	// +optional
	PreferenceRef *PreferenceRef `json:"preferenceRef,omitempty" protobuf:"bytes,7,opt,name=preferenceRef"`
	// resources is the current size of the VM, from any source. Before the VM is created, it is the size that it will
	// have.
	// +optional
	Resources *VirtualMachineResources `json:"resources,omitempty" protobuf:"bytes,8,opt,name=resources"`

	// desiredResources is the desired size of the VM. It is set only while it differs from the current size.
	// +optional
	DesiredResources *VirtualMachineResources `json:"desiredResources,omitempty" protobuf:"bytes,27,opt,name=desiredResources"`

	// uniqueID is the managed object ID in vSphere, for example vm-42.
	// +optional
	UniqueID string `json:"uniqueID,omitempty" protobuf:"bytes,9,opt,name=uniqueID"`
	// biosUUID is the BIOS UUID of the VM.
	// +optional
	BiosUUID string `json:"biosUUID,omitempty" protobuf:"bytes,10,opt,name=biosUUID"`
	// instanceUUID is the instance UUID of the VM.
	// +optional
	InstanceUUID string `json:"instanceUUID,omitempty" protobuf:"bytes,11,opt,name=instanceUUID"`
	// vCenterInstanceUUID is the instance UUID of the vCenter that contains the VM. It equals status.instanceUUID of the
	// VCenter object and changes when the VM is found in another vCenter.
	// +optional
	VCenterInstanceUUID *string `json:"vCenterInstanceUUID,omitempty" protobuf:"bytes,34,opt,name=vCenterInstanceUUID"`
	// hardwareVersion is the virtual hardware version, for example 21 for vmx-21.
	// +optional
	HardwareVersion int32 `json:"hardwareVersion,omitempty" protobuf:"varint,12,opt,name=hardwareVersion"`

	// creationTime is the time when the VM was created in vSphere, by the clock of its vCenter. Unset if the vCenter
	// does not report it.
	// +optional
	CreationTime *metav1.Time `json:"creationTime,omitempty" protobuf:"bytes,35,opt,name=creationTime"`

	// guest is the state of the guest that VMware Tools reports.
	// +optional
	Guest *VirtualMachineGuestStatus `json:"guest,omitempty" protobuf:"bytes,13,opt,name=guest"`
	// network is the observed network.
	// +optional
	Network *VirtualMachineNetworkStatus `json:"network,omitempty" protobuf:"bytes,14,opt,name=network"`
	// storage is the storage in use.
	// +optional
	Storage *VirtualMachineStorageStatus `json:"storage,omitempty" protobuf:"bytes,15,opt,name=storage"`
	// volumes are the observed volumes.
	// +optional
	// +listType=map
	// +listMapKey=name
	Volumes []VirtualMachineVolumeStatus `json:"volumes,omitempty" protobuf:"bytes,16,rep,name=volumes"`
	// zone is the name of the Zone that was chosen for the VM. It does not change.
	// +optional
	Zone string `json:"zone,omitempty" protobuf:"bytes,17,opt,name=zone"`
	// nodeName is the name of the ESXi host.
	// +optional
	NodeName string `json:"nodeName,omitempty" protobuf:"bytes,18,opt,name=nodeName"`
	// lastRestartTime is the time when the controller last restarted the VM on request.
	// +optional
	LastRestartTime *metav1.Time `json:"lastRestartTime,omitempty" protobuf:"bytes,19,opt,name=lastRestartTime"`
	// currentSnapshot is the name of the snapshot that the VM runs on.
	// +optional
	CurrentSnapshot string `json:"currentSnapshot,omitempty" protobuf:"bytes,20,opt,name=currentSnapshot"`
	// rootSnapshots are the names of the snapshots without a parent.
	// +optional
	// +listType=atomic
	RootSnapshots []string `json:"rootSnapshots,omitempty" protobuf:"bytes,21,rep,name=rootSnapshots"`
	// snapshots is the tree of vSphere snapshots. A parent is listed before its children. At most 64 snapshots are
	// listed.
	// +optional
	// +listType=map
	// +listMapKey=uniqueID
	Snapshots []VirtualMachineSnapshotNode `json:"snapshots,omitempty" protobuf:"bytes,29,rep,name=snapshots"`
	// bootstrap is the bootstrap data that the guest received.
	// +optional
	Bootstrap *VirtualMachineBootstrapStatus `json:"bootstrap,omitempty" protobuf:"bytes,30,opt,name=bootstrap"`
	// restartRequired lists the differences between the running VM and the effective spec that only a power cycle can
	// apply.
	// +optional
	// +listType=map
	// +listMapKey=path
	RestartRequired []RestartRequirement `json:"restartRequired,omitempty" protobuf:"bytes,22,rep,name=restartRequired"`

	// addresses are the addresses of the VM, in the format of the Cluster API infrastructure contract.
	// +optional
	// +listType=atomic
	Addresses []MachineAddress `json:"addresses,omitempty" protobuf:"bytes,23,rep,name=addresses"`
	// initialization is the state of the first provisioning, in the format of the Cluster API infrastructure contract.
	// +optional
	Initialization *VirtualMachineInitialization `json:"initialization,omitempty" protobuf:"bytes,24,opt,name=initialization"`
	// failureDomain is the name of the zone, as the Cluster API infrastructure contract requires.
	// +optional
	FailureDomain string `json:"failureDomain,omitempty" protobuf:"bytes,25,opt,name=failureDomain"`

	// claimedAddresses are the addresses that were claimed from pools for the interfaces that refer to a pool. An
	// assigned address stays assigned while the VM exists in vSphere, even if the spec changes.
	// +optional
	// +listType=map
	// +listMapKey=claimName
	ClaimedAddresses []ClaimedAddress `json:"claimedAddresses,omitempty" protobuf:"bytes,28,rep,name=claimedAddresses"`

	// inheritedPowerState is the desired power state that the VM inherits from its group. It is empty if the spec sets
	// powerState or no group sets one. If no group sets one, the power state does not change.
	// +optional
	InheritedPowerState PowerState `json:"inheritedPowerState,omitempty" protobuf:"bytes,31,opt,name=inheritedPowerState,casttype=PowerState"`

	// firstStartTime is the time when the VM was first observed as powered on. After the first start, the VM is powered
	// on even if vSphere rejects part of its configuration.
	// +optional
	FirstStartTime *metav1.Time `json:"firstStartTime,omitempty" protobuf:"bytes,33,opt,name=firstStartTime"`

	// machine is the cluster Machine that uses this VM as its infrastructure.
	// +optional
	Machine *VirtualMachineOwner `json:"machine,omitempty" protobuf:"bytes,32,opt,name=machine"`
}

// VirtualMachineOwner is the Machine that uses a virtual machine as its infrastructure.
type VirtualMachineOwner struct {
	// apiGroup of the Machine: cluster.slipway.dev, or cluster.x-k8s.io for a Cluster API Machine in the management
	// cluster.
	// +required
	APIGroup string `json:"apiGroup" protobuf:"bytes,1,opt,name=apiGroup"`
	// name of the Machine, in the namespace of the virtual machine.
	// +required
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
	// dataSecretName is the name of the Secret with the bootstrap data that the virtual machine was created with.
	// +optional
	DataSecretName string `json:"dataSecretName,omitempty" protobuf:"bytes,3,opt,name=dataSecretName"`
	// dataFormat is the format of the bootstrap data: cloud-config or ignition.
	// +optional
	DataFormat string `json:"dataFormat,omitempty" protobuf:"bytes,4,opt,name=dataFormat"`
}

// ClaimedAddress is an address that was claimed from a pool.
type ClaimedAddress struct {
	// claimName is the name of the IPAddressClaim, in the namespace of the virtual machine.
	// +required
	ClaimName string `json:"claimName" protobuf:"bytes,1,opt,name=claimName"`
	// interface is the name of the interface.
	// +required
	Interface string `json:"interface" protobuf:"bytes,2,opt,name=interface"`
	// pool that the address is claimed from.
	// +required
	Pool IPPoolReference `json:"pool" protobuf:"bytes,3,opt,name=pool"`
	// address with prefix length, for example 192.0.2.5/24. Empty until the pool assigns one.
	// +optional
	Address string `json:"address,omitempty" protobuf:"bytes,4,opt,name=address"`
	// gateway of the address's network.
	// +optional
	Gateway string `json:"gateway,omitempty" protobuf:"bytes,5,opt,name=gateway"`
}

// VirtualMachineClassStatus is the class in use.
type VirtualMachineClassStatus struct {
	// name of the class.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// generation of the class that was applied.
	// +optional
	Generation int64 `json:"generation,omitempty" protobuf:"varint,2,opt,name=generation"`
}

// VirtualMachineResources is the size of a virtual machine.
type VirtualMachineResources struct {
	// vcpus is the number of virtual CPUs.
	// +optional
	VCPUs int32 `json:"vcpus,omitempty" protobuf:"varint,1,opt,name=vcpus"`
	// memory is the guest memory.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty" protobuf:"bytes,2,opt,name=memory"`
}

// RestartRequirement is a difference that only a power cycle can apply.
type RestartRequirement struct {
	// path of the field in the effective spec, for example cpu.cores.
	// +required
	Path string `json:"path" protobuf:"bytes,1,opt,name=path"`
	// running is the value in the running VM.
	// +optional
	Running string `json:"running,omitempty" protobuf:"bytes,2,opt,name=running"`
	// desired is the value in the effective spec.
	// +optional
	Desired string `json:"desired,omitempty" protobuf:"bytes,3,opt,name=desired"`
}

// MachineAddress is an address of a machine.
type MachineAddress struct {
	// type is Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.
	// +required
	Type string `json:"type" protobuf:"bytes,1,opt,name=type"`
	// address is the address.
	// +required
	Address string `json:"address" protobuf:"bytes,2,opt,name=address"`
}

// VirtualMachineInitialization is the state of the first provisioning.
type VirtualMachineInitialization struct {
	// provisioned is true after the VM was created, was powered on and got an address. It never becomes false again.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty" protobuf:"varint,1,opt,name=provisioned"`
}

// VirtualMachineNetworkStatus is the observed network.
type VirtualMachineNetworkStatus struct {
	// primaryIP4 is the primary IPv4 address of the guest.
	// +optional
	PrimaryIP4 string `json:"primaryIP4,omitempty" protobuf:"bytes,1,opt,name=primaryIP4"`
	// primaryIP6 is the primary IPv6 address of the guest.
	// +optional
	PrimaryIP6 string `json:"primaryIP6,omitempty" protobuf:"bytes,2,opt,name=primaryIP6"`
	// hostName is the host name that the guest reports.
	// +optional
	HostName string `json:"hostName,omitempty" protobuf:"bytes,3,opt,name=hostName"`
	// interfaces are the observed interfaces.
	// +optional
	// +listType=atomic
	Interfaces []VirtualMachineNetworkInterfaceStatus `json:"interfaces,omitempty" protobuf:"bytes,4,rep,name=interfaces"` //nolint:arrayofstruct // observed state: every field is optional
}

// VirtualMachineNetworkInterfaceStatus is an observed interface.
type VirtualMachineNetworkInterfaceStatus struct {
	// name of the interface in the spec. Empty for interfaces that the guest created.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// deviceKey is the vSphere device key.
	// +optional
	DeviceKey int32 `json:"deviceKey,omitempty" protobuf:"varint,2,opt,name=deviceKey"`
	// macAddress is the hardware address.
	// +optional
	MACAddress string `json:"macAddress,omitempty" protobuf:"bytes,3,opt,name=macAddress"`
	// connected is true if the guest reports a link.
	// +optional
	Connected bool `json:"connected,omitempty" protobuf:"varint,4,opt,name=connected"`
	// ipAddresses are the addresses with prefix length.
	// +optional
	// +listType=atomic
	IPAddresses []string `json:"ipAddresses,omitempty" protobuf:"bytes,5,rep,name=ipAddresses"`
}
