// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// SnapshotFinalizer keeps a VirtualMachineSnapshot until its vSphere snapshot is deleted.
	SnapshotFinalizer = "vm.slipway.dev/snapshot"
	// LabelSnapshotVM is the label with the name of a snapshot's virtual machine. The server sets it unless the name is
	// too long for a label value.
	LabelSnapshotVM = "snapshot.vm.slipway.dev/vm-name"
	// LabelSnapshotCreatedBy is the label that identifies the client that created a VirtualMachineSnapshot. virtctl prunes
	// only snapshots that it created.
	LabelSnapshotCreatedBy = "snapshot.vm.slipway.dev/made-by"
)

// VirtualMachineSnapshot is a snapshot of a virtual machine. It contains the disks, the configuration, the
// VirtualMachine object and, on request, the memory.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineSnapshot struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state. Immutable.
	// +required
	Spec VirtualMachineSnapshotSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state.
	// +optional
	Status VirtualMachineSnapshotStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// VirtualMachineSnapshotList is a list of VirtualMachineSnapshots.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineSnapshotList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the snapshots.
	Items []VirtualMachineSnapshot `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// VirtualMachineSnapshotSpec defines the virtual machine and the content of a snapshot.
type VirtualMachineSnapshotSpec struct {
	// vmName is the name of a VirtualMachine in the same namespace.
	// +required
	VMName string `json:"vmName" protobuf:"bytes,1,opt,name=vmName"`
	// memory includes the memory of a running virtual machine. After a revert, the virtual machine continues to run from
	// this state. Mutually exclusive with quiesce.
	// +optional
	Memory bool `json:"memory,omitempty" protobuf:"varint,2,opt,name=memory"`
	// quiesce lets VMware Tools quiesce the file systems of a running guest before the snapshot is taken. Mutually
	// exclusive with memory.
	// +optional
	Quiesce *VirtualMachineSnapshotQuiesce `json:"quiesce,omitempty" protobuf:"bytes,3,opt,name=quiesce"`
	// description is a human-readable description.
	// +optional
	Description string `json:"description,omitempty" protobuf:"bytes,4,opt,name=description"`
}

// VirtualMachineSnapshotQuiesce defines how a guest is quiesced.
type VirtualMachineSnapshotQuiesce struct {
	// timeoutSeconds is the time that the guest has to quiesce, in seconds. Allowed: 300 to 14400. It is rounded up to
	// whole minutes. If unset, the default of vSphere applies.
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,1,opt,name=timeoutSeconds"`
}

// VirtualMachineSnapshotStatus is the observed state of a snapshot.
type VirtualMachineSnapshotStatus struct {
	// conditions are the conditions of the snapshot: Created and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,11,opt,name=observedGeneration"`
	// uniqueID is the managed object ID of the snapshot, for example snapshot-42.
	// +optional
	UniqueID string `json:"uniqueID,omitempty" protobuf:"bytes,2,opt,name=uniqueID"`
	// creationTime is the time when vSphere created the snapshot.
	// +optional
	CreationTime *metav1.Time `json:"creationTime,omitempty" protobuf:"bytes,3,opt,name=creationTime"`
	// powerState is the power state of the virtual machine after a revert. It is PoweredOff if the snapshot does not
	// include memory.
	// +optional
	PowerState PowerState `json:"powerState,omitempty" protobuf:"bytes,4,opt,name=powerState,casttype=PowerState"`
	// quiesced is true if the guest was quiesced.
	// +optional
	Quiesced bool `json:"quiesced,omitempty" protobuf:"varint,5,opt,name=quiesced"`
	// parent is the managed object ID of the parent snapshot.
	// +optional
	Parent string `json:"parent,omitempty" protobuf:"bytes,6,opt,name=parent"`
	// occupied is the datastore space that only this snapshot uses.
	// +optional
	Occupied *resource.Quantity `json:"occupied,omitempty" protobuf:"bytes,7,opt,name=occupied"`
	// instancetypeRevision is the name of the ControllerRevision of the virtual machine's instance type. It is kept as
	// long as the snapshot exists.
	// +optional
	InstancetypeRevision string `json:"instancetypeRevision,omitempty" protobuf:"bytes,8,opt,name=instancetypeRevision"`
	// preferenceRevision is the name of the ControllerRevision of the virtual machine's preference. It is kept as long
	// as the snapshot exists.
	// +optional
	PreferenceRevision string `json:"preferenceRevision,omitempty" protobuf:"bytes,9,opt,name=preferenceRevision"`
	// children are the managed object IDs of the child snapshots.
	// +optional
	// +listType=set
	Children []string `json:"children,omitempty" protobuf:"bytes,10,rep,name=children"`
}

// VirtualMachineSnapshotNode is a vSphere snapshot of a virtual machine.
type VirtualMachineSnapshotNode struct {
	// uniqueID is the managed object ID, for example snapshot-42.
	// +required
	UniqueID string `json:"uniqueID" protobuf:"bytes,1,opt,name=uniqueID"`
	// name of the snapshot in vSphere.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,2,opt,name=name"`
	// snapshotName is the name of the VirtualMachineSnapshot. Empty if the snapshot was created outside Slipway.
	// +optional
	SnapshotName string `json:"snapshotName,omitempty" protobuf:"bytes,3,opt,name=snapshotName"`
	// parent is the uniqueID of the parent snapshot. Empty for a root.
	// +optional
	Parent string `json:"parent,omitempty" protobuf:"bytes,4,opt,name=parent"`
	// creationTime is the time when vSphere created the snapshot.
	// +optional
	CreationTime *metav1.Time `json:"creationTime,omitempty" protobuf:"bytes,5,opt,name=creationTime"`
	// powerState is the power state of the virtual machine in the snapshot.
	// +optional
	PowerState PowerState `json:"powerState,omitempty" protobuf:"bytes,6,opt,name=powerState,casttype=PowerState"`
	// occupied is the datastore space that only this snapshot uses.
	// +optional
	Occupied *resource.Quantity `json:"occupied,omitempty" protobuf:"bytes,7,opt,name=occupied"`
}
