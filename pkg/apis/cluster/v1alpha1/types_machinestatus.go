// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MachineStatus is the observed state of a Machine.
type MachineStatus struct {
	// conditions are the conditions of the machine.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// initialization records one-time milestones of the machine. They are never reset.
	// +optional
	Initialization MachineInitializationStatus `json:"initialization,omitempty,omitzero" protobuf:"bytes,2,opt,name=initialization"`
	// nodeRef refers to the Node.
	// +optional
	NodeRef MachineNodeReference `json:"nodeRef,omitempty,omitzero" protobuf:"bytes,3,opt,name=nodeRef"` //nolint:nonpointerstructs // omitted if empty (omitzero), as in Cluster API
	// nodeInfo is the system information that the Node reports.
	// +optional
	NodeInfo *NodeSystemInfo `json:"nodeInfo,omitempty" protobuf:"bytes,4,opt,name=nodeInfo"`
	// lastUpdated is the time when the phase last changed.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty" protobuf:"bytes,5,opt,name=lastUpdated"`
	// addresses are the addresses that the infrastructure object reports, at most 256.
	// +optional
	// +listType=atomic
	Addresses []MachineAddress `json:"addresses,omitempty" protobuf:"bytes,6,rep,name=addresses"`
	// failureDomain is the failure domain that the machine is in.
	// +optional
	FailureDomain string `json:"failureDomain,omitempty" protobuf:"bytes,7,opt,name=failureDomain"`
	// phase is a summary of the state for display.
	// +optional
	Phase MachinePhase `json:"phase,omitempty" protobuf:"bytes,8,opt,name=phase,casttype=MachinePhase"` //nolint:nophase // Pod and Machine also have a phase; conditions contain the same information
	// certificatesExpiryDate is the time when the certificates of a control plane machine expire.
	// +optional
	CertificatesExpiryDate *metav1.Time `json:"certificatesExpiryDate,omitempty" protobuf:"bytes,9,opt,name=certificatesExpiryDate"`
	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,10,opt,name=observedGeneration"`
	// deletion is the progress of the deletion.
	// +optional
	Deletion *MachineDeletionStatus `json:"deletion,omitempty" protobuf:"bytes,11,opt,name=deletion"`

	// Protobuf field number 12 is reserved: no field may use it.
}

// MachineInitializationStatus records one-time milestones of a machine.
type MachineInitializationStatus struct {
	// infrastructureProvisioned is true after the infrastructure was provisioned.
	// +optional
	InfrastructureProvisioned *bool `json:"infrastructureProvisioned,omitempty" protobuf:"varint,1,opt,name=infrastructureProvisioned"`
	// bootstrapDataSecretCreated is true after the Secret of configRef was created.
	// +optional
	BootstrapDataSecretCreated *bool `json:"bootstrapDataSecretCreated,omitempty" protobuf:"varint,2,opt,name=bootstrapDataSecretCreated"`
}

// MachineNodeReference refers to a Node of the cluster.
type MachineNodeReference struct {
	// name of the Node.
	// +required
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
}

// IsDefined reports whether the reference is set.
func (r *MachineNodeReference) IsDefined() bool { return r != nil && r.Name != "" }

// NodeSystemInfo is the system information of a Node, copied from its status.
type NodeSystemInfo struct {
	// machineID is the machine ID of the operating system.
	// +optional
	MachineID string `json:"machineID,omitempty" protobuf:"bytes,1,opt,name=machineID"`
	// systemUUID is the UUID in the firmware.
	// +optional
	SystemUUID string `json:"systemUUID,omitempty" protobuf:"bytes,2,opt,name=systemUUID"`
	// bootID is the ID of the current boot.
	// +optional
	BootID string `json:"bootID,omitempty" protobuf:"bytes,3,opt,name=bootID"`
	// kernelVersion of the operating system.
	// +optional
	KernelVersion string `json:"kernelVersion,omitempty" protobuf:"bytes,4,opt,name=kernelVersion"`
	// osImage is the name of the operating system.
	// +optional
	OSImage string `json:"osImage,omitempty" protobuf:"bytes,5,opt,name=osImage"`
	// containerRuntimeVersion is the name and version of the container runtime.
	// +optional
	ContainerRuntimeVersion string `json:"containerRuntimeVersion,omitempty" protobuf:"bytes,6,opt,name=containerRuntimeVersion"`
	// kubeletVersion is the version of the kubelet.
	// +optional
	KubeletVersion string `json:"kubeletVersion,omitempty" protobuf:"bytes,7,opt,name=kubeletVersion"`
	// operatingSystem is the operating system family, for example linux.
	// +optional
	OperatingSystem string `json:"operatingSystem,omitempty" protobuf:"bytes,8,opt,name=operatingSystem"`
	// architecture of the processors, for example amd64.
	// +optional
	Architecture string `json:"architecture,omitempty" protobuf:"bytes,9,opt,name=architecture"`
}

// MachineAddressType is the type of an address.
// +enum
type MachineAddressType string

const (
	// MachineHostName is the host name of the machine.
	MachineHostName MachineAddressType = "Hostname"
	// MachineExternalIP is an IP address that is reachable from other networks.
	MachineExternalIP MachineAddressType = "ExternalIP"
	// MachineInternalIP is an IP address in the machine's network.
	MachineInternalIP MachineAddressType = "InternalIP"
	// MachineExternalDNS is a DNS name that resolves in other networks.
	MachineExternalDNS MachineAddressType = "ExternalDNS"
	// MachineInternalDNS is a DNS name that resolves in the machine's network.
	MachineInternalDNS MachineAddressType = "InternalDNS"
)

// MachineAddress is an address of a machine.
type MachineAddress struct {
	// type is Hostname, ExternalIP, InternalIP, ExternalDNS or InternalDNS.
	// +required
	Type MachineAddressType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=MachineAddressType"`
	// address is the IP address or the name.
	// +required
	Address string `json:"address" protobuf:"bytes,2,opt,name=address"`
}

// MachinePhase is a summary of the state of a Machine for display.
// +enum
type MachinePhase string

const (
	// MachinePhasePending means that the bootstrap data does not exist yet.
	MachinePhasePending MachinePhase = "Pending"
	// MachinePhaseProvisioning means that the infrastructure is not provisioned yet.
	MachinePhaseProvisioning MachinePhase = "Provisioning"
	// MachinePhaseProvisioned means that the infrastructure is provisioned but the Node does not exist yet.
	MachinePhaseProvisioned MachinePhase = "Provisioned"
	// MachinePhaseRunning means that the machine has a Node.
	MachinePhaseRunning MachinePhase = "Running"
	// MachinePhaseUpdating means that the machine is being updated in place.
	MachinePhaseUpdating MachinePhase = "Updating"
	// MachinePhaseDeleting means that the machine is being deleted.
	MachinePhaseDeleting MachinePhase = "Deleting"
	// MachinePhaseFailed means that the infrastructure reports a terminal failure or was deleted.
	MachinePhaseFailed MachinePhase = "Failed"
)

// MachineDeletionStage is a stage of a deletion. Stages run in the order of the constants and are not repeated.
// +enum
type MachineDeletionStage string

const (
	// MachineDeletionStagePreDrainHook waits until all pre-drain hooks are removed.
	MachineDeletionStagePreDrainHook MachineDeletionStage = "PreDrainHook"
	// MachineDeletionStageDrain drains the Node.
	MachineDeletionStageDrain MachineDeletionStage = "Drain"
	// MachineDeletionStageVolumeDetach waits until all volumes are detached.
	MachineDeletionStageVolumeDetach MachineDeletionStage = "VolumeDetach"
	// MachineDeletionStagePreTerminateHook waits until all pre-terminate hooks are removed.
	MachineDeletionStagePreTerminateHook MachineDeletionStage = "PreTerminateHook"
	// MachineDeletionStageInfrastructure deletes the infrastructure and waits for the deletion.
	MachineDeletionStageInfrastructure MachineDeletionStage = "Infrastructure"
	// MachineDeletionStageBootstrap deletes the bootstrap object and waits for the deletion.
	MachineDeletionStageBootstrap MachineDeletionStage = "Bootstrap"
	// MachineDeletionStageNode deletes the Node.
	MachineDeletionStageNode MachineDeletionStage = "Node"
	// MachineDeletionStageCompleted removes the finalizer.
	MachineDeletionStageCompleted MachineDeletionStage = "Completed"
)

// MachineDeletionStatus is the progress of a deletion.
type MachineDeletionStatus struct {
	// nodeDrainStartTime is the time when the drain started.
	// +optional
	NodeDrainStartTime *metav1.Time `json:"nodeDrainStartTime,omitempty" protobuf:"bytes,1,opt,name=nodeDrainStartTime"`
	// waitForNodeVolumeDetachStartTime is the time when the wait for the detachment of volumes started.
	// +optional
	WaitForNodeVolumeDetachStartTime *metav1.Time `json:"waitForNodeVolumeDetachStartTime,omitempty" protobuf:"bytes,2,opt,name=waitForNodeVolumeDetachStartTime"`
	// waitForPreDrainHookStartTime is the time when the wait for pre-drain hooks started.
	// +optional
	WaitForPreDrainHookStartTime *metav1.Time `json:"waitForPreDrainHookStartTime,omitempty" protobuf:"bytes,3,opt,name=waitForPreDrainHookStartTime"`
	// waitForPreTerminateHookStartTime is the time when the wait for pre-terminate hooks started.
	// +optional
	WaitForPreTerminateHookStartTime *metav1.Time `json:"waitForPreTerminateHookStartTime,omitempty" protobuf:"bytes,4,opt,name=waitForPreTerminateHookStartTime"`
	// nodeDeletionStartTime is the time of the first attempt to delete the Node.
	// +optional
	NodeDeletionStartTime *metav1.Time `json:"nodeDeletionStartTime,omitempty" protobuf:"bytes,5,opt,name=nodeDeletionStartTime"`
	// stage is the current stage of the deletion.
	// +optional
	Stage MachineDeletionStage `json:"stage,omitempty" protobuf:"bytes,6,opt,name=stage,casttype=MachineDeletionStage"`
	// stageStartTime is the time when the current stage started.
	// +optional
	StageStartTime *metav1.Time `json:"stageStartTime,omitempty" protobuf:"bytes,7,opt,name=stageStartTime"`
}
