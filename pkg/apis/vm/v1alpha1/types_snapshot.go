// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// SnapshotFinalizer keeps a VirtualMachineSnapshot until vSphere has none of it.
	SnapshotFinalizer = "vm.slipway.dev/snapshot"
	// LabelSnapshotVM on a VirtualMachineSnapshot is the name of its virtual machine, unless
	// that is too long for a label; the server sets it.
	LabelSnapshotVM = "snapshot.vm.slipway.dev/vm-name"
	// LabelSnapshotMadeBy says what made a VirtualMachineSnapshot: virtctl removes old ones
	// only of those that it made.
	LabelSnapshotMadeBy = "snapshot.vm.slipway.dev/made-by"
)

// VirtualMachineSnapshot is a snapshot of a virtual machine: its disks, its configuration
// and, if asked for, its memory, with the object as it was.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineSnapshot struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec says what is kept. Immutable.
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

// VirtualMachineSnapshotSpec says of what a snapshot is made, and how.
type VirtualMachineSnapshotSpec struct {
	// vmName is the name of the VirtualMachine of the namespace.
	// +required
	VMName string `json:"vmName" protobuf:"bytes,1,opt,name=vmName"`
	// memory keeps the memory of a running virtual machine too, which runs on from there
	// when it is reverted. Excludes quiesce.
	// +optional
	Memory bool `json:"memory,omitempty" protobuf:"varint,2,opt,name=memory"`
	// quiesce lets VMware Tools bring the file systems of a running guest to rest before.
	// +optional
	Quiesce *VirtualMachineSnapshotQuiesce `json:"quiesce,omitempty" protobuf:"bytes,3,opt,name=quiesce"`
	// description for people.
	// +optional
	Description string `json:"description,omitempty" protobuf:"bytes,4,opt,name=description"`
}

// VirtualMachineSnapshotQuiesce says how a guest is brought to rest.
type VirtualMachineSnapshotQuiesce struct {
	// timeoutSeconds for the guest, in seconds, 300 to 14400, rounded up to minutes, which
	// vSphere counts in. vSphere's default when unset.
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,1,opt,name=timeoutSeconds"`
}

// VirtualMachineSnapshotStatus is the observed state of a snapshot.
type VirtualMachineSnapshotStatus struct {
	// conditions are Created and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// observedGeneration is the generation of spec that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,11,opt,name=observedGeneration"`
	// uniqueID is the managed object ID of the snapshot, for example snapshot-42.
	// +optional
	UniqueID string `json:"uniqueID,omitempty" protobuf:"bytes,2,opt,name=uniqueID"`
	// creationTime is when vSphere made it.
	// +optional
	CreationTime *metav1.Time `json:"creationTime,omitempty" protobuf:"bytes,3,opt,name=creationTime"`
	// powerState is that of the virtual machine then, and after a revert: PoweredOff
	// without memory.
	// +optional
	PowerState PowerState `json:"powerState,omitempty" protobuf:"bytes,4,opt,name=powerState,casttype=PowerState"`
	// quiesced is true when the guest was brought to rest.
	// +optional
	Quiesced bool `json:"quiesced,omitempty" protobuf:"varint,5,opt,name=quiesced"`
	// parent is the managed object ID of the snapshot that it follows.
	// +optional
	Parent string `json:"parent,omitempty" protobuf:"bytes,6,opt,name=parent"`
	// occupied is what only this snapshot occupies on datastores.
	// +optional
	Occupied *resource.Quantity `json:"occupied,omitempty" protobuf:"bytes,7,opt,name=occupied"`
	// instancetypeRevision names the ControllerRevision that the virtual machine had its
	// size from, which is kept as long as the snapshot.
	// +optional
	InstancetypeRevision string `json:"instancetypeRevision,omitempty" protobuf:"bytes,8,opt,name=instancetypeRevision"`
	// preferenceRevision names that of its preference.
	// +optional
	PreferenceRevision string `json:"preferenceRevision,omitempty" protobuf:"bytes,9,opt,name=preferenceRevision"`
	// children are the managed object IDs of the snapshots that follow it.
	// +optional
	// +listType=set
	Children []string `json:"children,omitempty" protobuf:"bytes,10,rep,name=children"`
}

// VirtualMachineSnapshotNode is a snapshot of a virtual machine in vSphere.
type VirtualMachineSnapshotNode struct {
	// uniqueID is the managed object ID, for example snapshot-42.
	// +required
	UniqueID string `json:"uniqueID" protobuf:"bytes,1,opt,name=uniqueID"`
	// name in vSphere.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,2,opt,name=name"`
	// snapshotName is the name of the VirtualMachineSnapshot that it is of; empty for one
	// that somebody else made.
	// +optional
	SnapshotName string `json:"snapshotName,omitempty" protobuf:"bytes,3,opt,name=snapshotName"`
	// parent is the uniqueID of the snapshot that it follows; empty for a root.
	// +optional
	Parent string `json:"parent,omitempty" protobuf:"bytes,4,opt,name=parent"`
	// creationTime is when vSphere made it.
	// +optional
	CreationTime *metav1.Time `json:"creationTime,omitempty" protobuf:"bytes,5,opt,name=creationTime"`
	// powerState is that which it keeps.
	// +optional
	PowerState PowerState `json:"powerState,omitempty" protobuf:"bytes,6,opt,name=powerState,casttype=PowerState"`
	// occupied is what only this snapshot occupies on datastores.
	// +optional
	Occupied *resource.Quantity `json:"occupied,omitempty" protobuf:"bytes,7,opt,name=occupied"`
}
