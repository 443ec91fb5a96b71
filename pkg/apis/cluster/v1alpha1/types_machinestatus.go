// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MachineStatus is the observed state of a Machine.
type MachineStatus struct {
	// conditions tell what is observed.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// initialization tells what was reached for the first time; it is never taken back.
	// +optional
	Initialization MachineInitializationStatus `json:"initialization,omitempty,omitzero" protobuf:"bytes,2,opt,name=initialization"`
	// nodeRef names the Node.
	// +optional
	NodeRef MachineNodeReference `json:"nodeRef,omitempty,omitzero" protobuf:"bytes,3,opt,name=nodeRef"` //nolint:nonpointerstructs // absent when all of it is empty (omitzero), as in Cluster API
	// nodeInfo is what the Node tells of its system.
	// +optional
	NodeInfo *NodeSystemInfo `json:"nodeInfo,omitempty" protobuf:"bytes,4,opt,name=nodeInfo"`
	// lastUpdated is when the phase changed.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty" protobuf:"bytes,5,opt,name=lastUpdated"`
	// addresses are those that the infrastructure tells, at most 256.
	// +optional
	// +listType=atomic
	Addresses []MachineAddress `json:"addresses,omitempty" protobuf:"bytes,6,rep,name=addresses"`
	// failureDomain that the machine is in.
	// +optional
	FailureDomain string `json:"failureDomain,omitempty" protobuf:"bytes,7,opt,name=failureDomain"`
	// phase sums up, for people.
	// +optional
	Phase MachinePhase `json:"phase,omitempty" protobuf:"bytes,8,opt,name=phase,casttype=MachinePhase"` //nolint:nophase // people know the word from Pod and Machine; conditions say all of it
	// certificatesExpiryDate is when the certificates of a control plane machine expire.
	// +optional
	CertificatesExpiryDate *metav1.Time `json:"certificatesExpiryDate,omitempty" protobuf:"bytes,9,opt,name=certificatesExpiryDate"`
	// observedGeneration is the generation of spec that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,10,opt,name=observedGeneration"`
	// deletion tells how far a deletion is.
	// +optional
	Deletion *MachineDeletionStatus `json:"deletion,omitempty" protobuf:"bytes,11,opt,name=deletion"`

	// Protobuf field number 12 is reserved: no field may use it.
}

// MachineInitializationStatus tells what a machine has reached for the first time.
type MachineInitializationStatus struct {
	// infrastructureProvisioned is true once the infrastructure was there.
	// +optional
	InfrastructureProvisioned *bool `json:"infrastructureProvisioned,omitempty" protobuf:"varint,1,opt,name=infrastructureProvisioned"`
	// bootstrapDataSecretCreated is true once the Secret of configRef was there.
	// +optional
	BootstrapDataSecretCreated *bool `json:"bootstrapDataSecretCreated,omitempty" protobuf:"varint,2,opt,name=bootstrapDataSecretCreated"`
}

// MachineNodeReference names a Node of the cluster.
type MachineNodeReference struct {
	// name of the Node.
	// +required
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
}

// IsDefined is true for a reference that names a Node.
func (r *MachineNodeReference) IsDefined() bool { return r != nil && r.Name != "" }

// NodeSystemInfo is what a Node tells of its system, as in its own status.
type NodeSystemInfo struct {
	// machineID is the machine ID that the operating system has.
	// +optional
	MachineID string `json:"machineID,omitempty" protobuf:"bytes,1,opt,name=machineID"`
	// systemUUID is the UUID that the firmware has.
	// +optional
	SystemUUID string `json:"systemUUID,omitempty" protobuf:"bytes,2,opt,name=systemUUID"`
	// bootID is the ID of this boot.
	// +optional
	BootID string `json:"bootID,omitempty" protobuf:"bytes,3,opt,name=bootID"`
	// kernelVersion of the operating system.
	// +optional
	KernelVersion string `json:"kernelVersion,omitempty" protobuf:"bytes,4,opt,name=kernelVersion"`
	// osImage is the name of the operating system.
	// +optional
	OSImage string `json:"osImage,omitempty" protobuf:"bytes,5,opt,name=osImage"`
	// containerRuntimeVersion is the runtime of containers and its version.
	// +optional
	ContainerRuntimeVersion string `json:"containerRuntimeVersion,omitempty" protobuf:"bytes,6,opt,name=containerRuntimeVersion"`
	// kubeletVersion is the version of Kubernetes that the Node has.
	// +optional
	KubeletVersion string `json:"kubeletVersion,omitempty" protobuf:"bytes,7,opt,name=kubeletVersion"`
	// operatingSystem is its family, for example linux.
	// +optional
	OperatingSystem string `json:"operatingSystem,omitempty" protobuf:"bytes,8,opt,name=operatingSystem"`
	// architecture of the processors, for example amd64.
	// +optional
	Architecture string `json:"architecture,omitempty" protobuf:"bytes,9,opt,name=architecture"`
}

// MachineAddressType says what an address is.
// +enum
type MachineAddressType string

const (
	// MachineHostName is a name that the machine has itself.
	MachineHostName MachineAddressType = "Hostname"
	// MachineExternalIP is an address that can be reached from elsewhere.
	MachineExternalIP MachineAddressType = "ExternalIP"
	// MachineInternalIP is an address in the network of the machine.
	MachineInternalIP MachineAddressType = "InternalIP"
	// MachineExternalDNS is a name that is known elsewhere.
	MachineExternalDNS MachineAddressType = "ExternalDNS"
	// MachineInternalDNS is a name in the network of the machine.
	MachineInternalDNS MachineAddressType = "InternalDNS"
)

// MachineAddress is an address of a machine.
type MachineAddress struct {
	// type says what the address is.
	// +required
	Type MachineAddressType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=MachineAddressType"`
	// address is the address, or the name.
	// +required
	Address string `json:"address" protobuf:"bytes,2,opt,name=address"`
}

// MachinePhase sums up the state of a Machine, for people.
// +enum
type MachinePhase string

const (
	// MachinePhasePending waits for the bootstrap data.
	MachinePhasePending MachinePhase = "Pending"
	// MachinePhaseProvisioning waits for the infrastructure.
	MachinePhaseProvisioning MachinePhase = "Provisioning"
	// MachinePhaseProvisioned is there and no Node yet.
	MachinePhaseProvisioned MachinePhase = "Provisioned"
	// MachinePhaseRunning has a Node.
	MachinePhaseRunning MachinePhase = "Running"
	// MachinePhaseUpdating is updated in place.
	MachinePhaseUpdating MachinePhase = "Updating"
	// MachinePhaseDeleting is being deleted.
	MachinePhaseDeleting MachinePhase = "Deleting"
	// MachinePhaseFailed cannot go on: its provider reports a final failure, or its infrastructure was deleted.
	MachinePhaseFailed MachinePhase = "Failed"
)

// MachineDeletionStage is what a deletion is at. Each stage begins when the one before it has
// ended, and none is gone back to.
// +enum
type MachineDeletionStage string

const (
	// MachineDeletionStagePreDrainHook waits until no pre-drain hook is left.
	MachineDeletionStagePreDrainHook MachineDeletionStage = "PreDrainHook"
	// MachineDeletionStageDrain drains the Node.
	MachineDeletionStageDrain MachineDeletionStage = "Drain"
	// MachineDeletionStageVolumeDetach waits until no volume is attached.
	MachineDeletionStageVolumeDetach MachineDeletionStage = "VolumeDetach"
	// MachineDeletionStagePreTerminateHook waits until no pre-terminate hook is left.
	MachineDeletionStagePreTerminateHook MachineDeletionStage = "PreTerminateHook"
	// MachineDeletionStageInfrastructure deletes the infrastructure, and waits.
	MachineDeletionStageInfrastructure MachineDeletionStage = "Infrastructure"
	// MachineDeletionStageBootstrap deletes the bootstrap object, and waits.
	MachineDeletionStageBootstrap MachineDeletionStage = "Bootstrap"
	// MachineDeletionStageNode deletes the Node.
	MachineDeletionStageNode MachineDeletionStage = "Node"
	// MachineDeletionStageCompleted removes the finalizer.
	MachineDeletionStageCompleted MachineDeletionStage = "Completed"
)

// MachineDeletionStatus tells how far a deletion is.
type MachineDeletionStatus struct {
	// nodeDrainStartTime is when the drain began.
	// +optional
	NodeDrainStartTime *metav1.Time `json:"nodeDrainStartTime,omitempty" protobuf:"bytes,1,opt,name=nodeDrainStartTime"`
	// waitForNodeVolumeDetachStartTime is when the wait for volumes began.
	// +optional
	WaitForNodeVolumeDetachStartTime *metav1.Time `json:"waitForNodeVolumeDetachStartTime,omitempty" protobuf:"bytes,2,opt,name=waitForNodeVolumeDetachStartTime"`
	// waitForPreDrainHookStartTime is when the wait for pre-drain hooks began.
	// +optional
	WaitForPreDrainHookStartTime *metav1.Time `json:"waitForPreDrainHookStartTime,omitempty" protobuf:"bytes,3,opt,name=waitForPreDrainHookStartTime"`
	// waitForPreTerminateHookStartTime is when the wait for pre-terminate hooks began.
	// +optional
	WaitForPreTerminateHookStartTime *metav1.Time `json:"waitForPreTerminateHookStartTime,omitempty" protobuf:"bytes,4,opt,name=waitForPreTerminateHookStartTime"`
	// nodeDeletionStartTime is when deleting the Node was tried first.
	// +optional
	NodeDeletionStartTime *metav1.Time `json:"nodeDeletionStartTime,omitempty" protobuf:"bytes,5,opt,name=nodeDeletionStartTime"`
	// stage that the deletion is at.
	// +optional
	Stage MachineDeletionStage `json:"stage,omitempty" protobuf:"bytes,6,opt,name=stage,casttype=MachineDeletionStage"`
	// stageStartTime is when the stage began.
	// +optional
	StageStartTime *metav1.Time `json:"stageStartTime,omitempty" protobuf:"bytes,7,opt,name=stageStartTime"`
}
