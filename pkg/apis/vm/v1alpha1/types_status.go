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
	// PhaseUnknown is not shown by vSphere any more, or not known to be there.
	PhaseUnknown VirtualMachinePhase = "Unknown"
)

// VirtualMachineStatus is the observed state of a VirtualMachine.
type VirtualMachineStatus struct {
	// conditions are the observations in detail.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,26,rep,name=conditions"`
	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// phase is a summary for people.
	// +optional
	Phase VirtualMachinePhase `json:"phase,omitempty" protobuf:"bytes,2,opt,name=phase,casttype=VirtualMachinePhase"` //nolint:nophase // people know the word from Pod and Machine; conditions say all of it
	// printableStatus is a word or two that say what the VM does or lacks.
	// +optional
	PrintableStatus string `json:"printableStatus,omitempty" protobuf:"bytes,3,opt,name=printableStatus"`
	// powerState is the power state that vSphere reports; empty before creation.
	// +optional
	PowerState PowerState `json:"powerState,omitempty" protobuf:"bytes,4,opt,name=powerState,casttype=PowerState"`
	// class is the class that the VM has its size from. While what a newer generation
	// of it changes waits for a restart, this is the generation before.
	// +optional
	Class *VirtualMachineClassStatus `json:"class,omitempty" protobuf:"bytes,5,opt,name=class"`
	// instancetypeRef is the instance type in use.
	// +optional
	InstancetypeRef *InstancetypeRef `json:"instancetypeRef,omitempty" protobuf:"bytes,6,opt,name=instancetypeRef"`
	// preferenceRef is the preference in use.
	// +optional
	PreferenceRef *PreferenceRef `json:"preferenceRef,omitempty" protobuf:"bytes,7,opt,name=preferenceRef"`
	// resources is the size that the VM has, whatever it comes from; before it is
	// created, the size that it will have.
	// +optional
	Resources *VirtualMachineResources `json:"resources,omitempty" protobuf:"bytes,8,opt,name=resources"`

	// desiredResources is the size that the VM shall have, while that is another than
	// the one that it has.
	// +optional
	DesiredResources *VirtualMachineResources `json:"desiredResources,omitempty" protobuf:"bytes,27,opt,name=desiredResources"`

	// uniqueID is the managed object ID in vSphere, for example vm-42.
	// +optional
	UniqueID string `json:"uniqueID,omitempty" protobuf:"bytes,9,opt,name=uniqueID"`
	// biosUUID is the BIOS UUID.
	// +optional
	BiosUUID string `json:"biosUUID,omitempty" protobuf:"bytes,10,opt,name=biosUUID"`
	// instanceUUID is the instance UUID.
	// +optional
	InstanceUUID string `json:"instanceUUID,omitempty" protobuf:"bytes,11,opt,name=instanceUUID"`
	// vCenterInstanceUUID is the instance UUID of the vCenter that has the VM: that of
	// status.instanceUUID of its VCenter. It changes when the VM is found in another vCenter.
	// +optional
	VCenterInstanceUUID *string `json:"vCenterInstanceUUID,omitempty" protobuf:"bytes,34,opt,name=vCenterInstanceUUID"`
	// hardwareVersion is the virtual hardware version, for example 21 for vmx-21.
	// +optional
	HardwareVersion int32 `json:"hardwareVersion,omitempty" protobuf:"varint,12,opt,name=hardwareVersion"`

	// creationTime is when the VM was created in vSphere, by the clock of its vCenter. It is
	// not set if vCenter does not report it.
	// +optional
	CreationTime *metav1.Time `json:"creationTime,omitempty" protobuf:"bytes,35,opt,name=creationTime"`

	// guest is what VMware Tools reports.
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
	// zone names the Zone that was chosen for the VM. It is chosen once.
	// +optional
	Zone string `json:"zone,omitempty" protobuf:"bytes,17,opt,name=zone"`
	// nodeName is the name of the ESXi host.
	// +optional
	NodeName string `json:"nodeName,omitempty" protobuf:"bytes,18,opt,name=nodeName"`
	// lastRestartTime is when the controller last restarted the VM on request.
	// +optional
	LastRestartTime *metav1.Time `json:"lastRestartTime,omitempty" protobuf:"bytes,19,opt,name=lastRestartTime"`
	// currentSnapshot names the snapshot that the VM runs on.
	// +optional
	CurrentSnapshot string `json:"currentSnapshot,omitempty" protobuf:"bytes,20,opt,name=currentSnapshot"`
	// rootSnapshots names the snapshots without parent.
	// +optional
	// +listType=atomic
	RootSnapshots []string `json:"rootSnapshots,omitempty" protobuf:"bytes,21,rep,name=rootSnapshots"`
	// snapshots is the tree of snapshots in vSphere, at most 64 of them, a parent before its
	// children.
	// +optional
	// +listType=map
	// +listMapKey=uniqueID
	Snapshots []VirtualMachineSnapshotNode `json:"snapshots,omitempty" protobuf:"bytes,29,rep,name=snapshots"`
	// bootstrap is what the guest was told.
	// +optional
	Bootstrap *VirtualMachineBootstrapStatus `json:"bootstrap,omitempty" protobuf:"bytes,30,opt,name=bootstrap"`
	// restartRequired lists what differs between the running VM and the
	// effective spec and can only change with a power cycle.
	// +optional
	// +listType=map
	// +listMapKey=path
	RestartRequired []RestartRequirement `json:"restartRequired,omitempty" protobuf:"bytes,22,rep,name=restartRequired"`

	// addresses are the addresses, as the Cluster API infrastructure contract
	// wants them.
	// +optional
	// +listType=atomic
	Addresses []MachineAddress `json:"addresses,omitempty" protobuf:"bytes,23,rep,name=addresses"`
	// initialization is the state of the first provisioning, as the Cluster API
	// infrastructure contract wants it.
	// +optional
	Initialization *VirtualMachineInitialization `json:"initialization,omitempty" protobuf:"bytes,24,opt,name=initialization"`
	// failureDomain is the zone, as the Cluster API infrastructure contract wants it.
	// +optional
	FailureDomain string `json:"failureDomain,omitempty" protobuf:"bytes,25,opt,name=failureDomain"`

	// claimedAddresses are the addresses that are claimed from pools, each for an interface
	// that names the pool. One that was given stays as long as the VM is in vSphere,
	// whatever the spec names.
	// +optional
	// +listType=map
	// +listMapKey=claimName
	ClaimedAddresses []ClaimedAddress `json:"claimedAddresses,omitempty" protobuf:"bytes,28,rep,name=claimedAddresses"`

	// inheritedPowerState is the power state that the VM has to have by its group. It is
	// empty when the spec sets one, and while no group asks for any: then the VM stays as
	// it is.
	// +optional
	InheritedPowerState PowerState `json:"inheritedPowerState,omitempty" protobuf:"bytes,31,opt,name=inheritedPowerState,casttype=PowerState"`

	// firstStartTime is when the VM was first seen to be powered on. A VM that has run is
	// powered on also while a part of its configuration is refused.
	// +optional
	FirstStartTime *metav1.Time `json:"firstStartTime,omitempty" protobuf:"bytes,33,opt,name=firstStartTime"`

	// machine is the Machine of a Kubernetes cluster whose infrastructure the VM is.
	// +optional
	Machine *VirtualMachineOwner `json:"machine,omitempty" protobuf:"bytes,32,opt,name=machine"`
}

// VirtualMachineOwner is the Machine whose infrastructure a virtual machine is.
type VirtualMachineOwner struct {
	// apiGroup of the Machine: cluster.slipway.dev, or cluster.x-k8s.io of Cluster API in the
	// host cluster.
	// +required
	APIGroup string `json:"apiGroup" protobuf:"bytes,1,opt,name=apiGroup"`
	// name of the Machine, in the namespace of the virtual machine.
	// +required
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
	// dataSecretName is the Secret with the bootstrap data that the virtual machine was made
	// with.
	// +optional
	DataSecretName string `json:"dataSecretName,omitempty" protobuf:"bytes,3,opt,name=dataSecretName"`
	// dataFormat is that of the data: cloud-config or ignition.
	// +optional
	DataFormat string `json:"dataFormat,omitempty" protobuf:"bytes,4,opt,name=dataFormat"`
}

// ClaimedAddress is an address that is claimed from a pool.
type ClaimedAddress struct {
	// claimName is the name of the IPAddressClaim, in the namespace of the virtual machine.
	// +required
	ClaimName string `json:"claimName" protobuf:"bytes,1,opt,name=claimName"`
	// interface is the name of the interface.
	// +required
	Interface string `json:"interface" protobuf:"bytes,2,opt,name=interface"`
	// pool that the address is from.
	// +required
	Pool IPPoolReference `json:"pool" protobuf:"bytes,3,opt,name=pool"`
	// address with prefix length, for example 192.0.2.5/24; empty as long as none was given.
	// +optional
	Address string `json:"address,omitempty" protobuf:"bytes,4,opt,name=address"`
	// gateway of the network that the address is from.
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

// VirtualMachineResources is a size.
type VirtualMachineResources struct {
	// vcpus is the number of virtual CPUs.
	// +optional
	VCPUs int32 `json:"vcpus,omitempty" protobuf:"varint,1,opt,name=vcpus"`
	// memory is the guest memory.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty" protobuf:"bytes,2,opt,name=memory"`
}

// RestartRequirement is one difference that needs a power cycle.
type RestartRequirement struct {
	// path of the field in the effective spec, for example cpu.cores.
	// +required
	Path string `json:"path" protobuf:"bytes,1,opt,name=path"`
	// running is the value that the running VM has.
	// +optional
	Running string `json:"running,omitempty" protobuf:"bytes,2,opt,name=running"`
	// desired is the value that the effective spec has.
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
	// provisioned is true once the VM was created, powered on and has an
	// address, and never becomes false again.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty" protobuf:"varint,1,opt,name=provisioned"`
}

// VirtualMachineNetworkStatus is the observed network.
type VirtualMachineNetworkStatus struct {
	// primaryIP4 is the IPv4 address to reach the guest by.
	// +optional
	PrimaryIP4 string `json:"primaryIP4,omitempty" protobuf:"bytes,1,opt,name=primaryIP4"`
	// primaryIP6 is the IPv6 address to reach the guest by.
	// +optional
	PrimaryIP6 string `json:"primaryIP6,omitempty" protobuf:"bytes,2,opt,name=primaryIP6"`
	// hostName is the host name that the guest reports.
	// +optional
	HostName string `json:"hostName,omitempty" protobuf:"bytes,3,opt,name=hostName"`
	// interfaces are the observed interfaces.
	// +optional
	// +listType=atomic
	Interfaces []VirtualMachineNetworkInterfaceStatus `json:"interfaces,omitempty" protobuf:"bytes,4,rep,name=interfaces"` //nolint:arrayofstruct // observed: of one, what is known of it
}

// VirtualMachineNetworkInterfaceStatus is an observed interface.
type VirtualMachineNetworkInterfaceStatus struct {
	// name of the interface in the spec; empty for interfaces that the guest
	// made itself.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// deviceKey is the vSphere device key.
	// +optional
	DeviceKey int32 `json:"deviceKey,omitempty" protobuf:"varint,2,opt,name=deviceKey"`
	// macAddress is the hardware address.
	// +optional
	MACAddress string `json:"macAddress,omitempty" protobuf:"bytes,3,opt,name=macAddress"`
	// connected is true when the guest reports a link.
	// +optional
	Connected bool `json:"connected,omitempty" protobuf:"varint,4,opt,name=connected"`
	// ipAddresses are the addresses with prefix length.
	// +optional
	// +listType=atomic
	IPAddresses []string `json:"ipAddresses,omitempty" protobuf:"bytes,5,rep,name=ipAddresses"`
}
