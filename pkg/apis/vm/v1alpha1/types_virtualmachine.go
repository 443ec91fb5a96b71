// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VirtualMachineFinalizer keeps a VirtualMachine until its vSphere VM is gone.
// The create strategy sets it, the controller removes it.
const VirtualMachineFinalizer = "vm.slipway.dev/virtualmachine"

// PowerState is the power state of a virtual machine.
// +enum
type PowerState string

const (
	// PoweredOn is a virtual machine that runs.
	PoweredOn PowerState = "PoweredOn"
	// PoweredOff is a virtual machine that does not run.
	PoweredOff PowerState = "PoweredOff"
	// Suspended is a virtual machine whose memory was written to disk.
	Suspended PowerState = "Suspended"
)

// PowerOpMode says how a power operation that the guest can help with is done.
// +enum
type PowerOpMode string

const (
	// PowerOpModeHard acts on the virtual machine without asking the guest.
	PowerOpModeHard PowerOpMode = "Hard"
	// PowerOpModeSoft asks the guest through VMware Tools and waits for it.
	PowerOpModeSoft PowerOpMode = "Soft"
	// PowerOpModeTrySoft asks the guest and acts hard when the guest did not
	// answer within five minutes.
	PowerOpModeTrySoft PowerOpMode = "TrySoft"
)

// UpdateStrategy says what happens to a running VM when its effective spec changes.
// +enum
type UpdateStrategy string

const (
	// UpdateStrategyLiveUpdate applies at once what vSphere can change on a
	// running VM and lists the rest in status.restartRequired.
	UpdateStrategyLiveUpdate UpdateStrategy = "LiveUpdate"
	// UpdateStrategyStage defers every change to the next power cycle.
	UpdateStrategyStage UpdateStrategy = "Stage"
)

// PromoteDisksMode says when the disks of a linked clone are made independent.
// +enum
type PromoteDisksMode string

const (
	// PromoteDisksModeOnline promotes while the VM runs.
	PromoteDisksModeOnline PromoteDisksMode = "Online"
	// PromoteDisksModeOffline promotes while the VM is powered off.
	PromoteDisksModeOffline PromoteDisksMode = "Offline"
	// PromoteDisksModeDisabled never promotes.
	PromoteDisksModeDisabled PromoteDisksMode = "Disabled"
)

// PowerPolicy says when a virtual machine that should be powered on, and went off by itself, is
// powered on again.
// +enum
type PowerPolicy string

const (
	// PowerPolicyAlways powers it on again, with growing pauses.
	PowerPolicyAlways PowerPolicy = "Always"
	// PowerPolicyOnFailure powers it on again after a failure, and not after an orderly shutdown.
	PowerPolicyOnFailure PowerPolicy = "OnFailure"
	// PowerPolicyManual powers it on only when that is requested.
	PowerPolicyManual PowerPolicy = "Manual"
)

// WhenMissing says what happens when vSphere had the VM and does not show it any
// more.
// +enum
type WhenMissing string

const (
	// WhenMissingWait waits until it is shown again, or until somebody decides.
	WhenMissingWait WhenMissing = "Wait"
	// WhenMissingRecreate makes a new VM from the image, after a minute. What the old
	// one had on its disks is not in it.
	WhenMissingRecreate WhenMissing = "Recreate"
)

// VirtualMachine is a virtual machine on vSphere.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachine struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state, owned by users.
	// +optional
	Spec VirtualMachineSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state, owned by the controllers.
	// +optional
	Status VirtualMachineStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// VirtualMachineList is a list of VirtualMachines.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the virtual machines.
	Items []VirtualMachine `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// VirtualMachineSpec is the desired state of a VirtualMachine. Exactly one of
// className, instancetype, or inline cpu and memory gives its size.
type VirtualMachineSpec struct {
	// className names a VirtualMachineClass of the same namespace that gives
	// the size. Mutually exclusive with instancetype and with inline cpu and memory.
	// +optional
	ClassName string `json:"className,omitempty" protobuf:"bytes,1,opt,name=className"`
	// instancetype refers to the instance type that gives the size. Mutually
	// exclusive with className and with inline cpu and memory.
	// +optional
	Instancetype *InstancetypeMatcher `json:"instancetype,omitempty" protobuf:"bytes,2,opt,name=instancetype"`
	// cpu gives the virtual CPUs inline.
	// +optional
	CPU *VirtualMachineCPU `json:"cpu,omitempty" protobuf:"bytes,3,opt,name=cpu"`
	// memory gives the memory inline.
	// +optional
	Memory *VirtualMachineMemory `json:"memory,omitempty" protobuf:"bytes,4,opt,name=memory"`
	// preference refers to a preference that fills what this spec and the
	// instance type leave unset.
	// +optional
	Preference *PreferenceMatcher `json:"preference,omitempty" protobuf:"bytes,5,opt,name=preference"`

	// image is the image that the virtual machine is created from. Immutable
	// once set.
	// +optional
	Image *VirtualMachineImageRef `json:"image,omitempty" protobuf:"bytes,6,opt,name=image"`
	// storageClass names the StorageClass of the disks that are made for the
	// virtual machine.
	// +optional
	StorageClass string `json:"storageClass,omitempty" protobuf:"bytes,7,opt,name=storageClass"`

	// powerState is the desired power state. Defaults to PoweredOn, unless groupName is set:
	// then one that is unset is that of the group.
	// +optional
	PowerState PowerState `json:"powerState,omitempty" protobuf:"bytes,8,opt,name=powerState,casttype=PowerState"`
	// powerOffMode says how to power off. Defaults to TrySoft.
	// +optional
	PowerOffMode PowerOpMode `json:"powerOffMode,omitempty" protobuf:"bytes,9,opt,name=powerOffMode,casttype=PowerOpMode"`
	// suspendMode says how to suspend. Defaults to TrySoft.
	// +optional
	SuspendMode PowerOpMode `json:"suspendMode,omitempty" protobuf:"bytes,10,opt,name=suspendMode,casttype=PowerOpMode"`
	// restartMode says how to restart. Defaults to TrySoft.
	// +optional
	RestartMode PowerOpMode `json:"restartMode,omitempty" protobuf:"bytes,11,opt,name=restartMode,casttype=PowerOpMode"`
	// nextRestartTime asks for one restart: "now", which the server replaces
	// with the current time, or an RFC 3339 time. A time that is not later
	// than status.lastRestartTime asks for nothing.
	// +optional
	NextRestartTime string `json:"nextRestartTime,omitempty" protobuf:"bytes,12,opt,name=nextRestartTime"`

	// network configures the network interfaces and the guest's network.
	// +optional
	Network *VirtualMachineNetworkSpec `json:"network,omitempty" protobuf:"bytes,13,opt,name=network"`
	// volumes are the disks beyond those of the image.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchMergeKey=name
	// +patchStrategy=merge
	Volumes []VirtualMachineVolume `json:"volumes,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,14,rep,name=volumes"`
	// bootstrap configures the guest at its first start.
	// +optional
	Bootstrap *VirtualMachineBootstrap `json:"bootstrap,omitempty" protobuf:"bytes,15,opt,name=bootstrap"`
	// firmware configures BIOS or EFI.
	// +optional
	Firmware *VirtualMachineFirmware `json:"firmware,omitempty" protobuf:"bytes,16,opt,name=firmware"`
	// devices are the devices besides disks and network interfaces.
	// +optional
	Devices *VirtualMachineDevices `json:"devices,omitempty" protobuf:"bytes,17,opt,name=devices"`
	// readinessProbe decides the Ready condition beyond the power state.
	// +optional
	ReadinessProbe *VirtualMachineReadinessProbe `json:"readinessProbe,omitempty" protobuf:"bytes,18,opt,name=readinessProbe"`

	// promoteDisksMode says when linked-clone disks are made independent.
	// Defaults to Online.
	// +optional
	PromoteDisksMode PromoteDisksMode `json:"promoteDisksMode,omitempty" protobuf:"bytes,19,opt,name=promoteDisksMode,casttype=PromoteDisksMode"`
	// minHardwareVersion is the lowest virtual hardware version, for example
	// 19 for vmx-19. Allowed: 13 to 22.
	// +optional
	MinHardwareVersion int32 `json:"minHardwareVersion,omitempty" protobuf:"varint,20,opt,name=minHardwareVersion"`
	// guestID is the vSphere guest operating system identifier, for example
	// ubuntu64Guest.
	// +optional
	GuestID string `json:"guestID,omitempty" protobuf:"bytes,21,opt,name=guestID"`
	// groupName names the VirtualMachineGroup of the namespace that this virtual machine is
	// a member of. It is when the group names it too.
	// +optional
	GroupName string `json:"groupName,omitempty" protobuf:"bytes,22,opt,name=groupName"`
	// currentSnapshotName asks to revert to the VirtualMachineSnapshot of the name: the
	// virtual machine becomes what it was then, and so do labels, annotations and spec of
	// the object, with which this field is empty again. What happened since is lost.
	// +optional
	CurrentSnapshotName string `json:"currentSnapshotName,omitempty" protobuf:"bytes,23,opt,name=currentSnapshotName"`
	// updateStrategy says what happens to a running VM when its effective spec
	// changes. Defaults to LiveUpdate.
	// +optional
	UpdateStrategy UpdateStrategy `json:"updateStrategy,omitempty" protobuf:"bytes,24,opt,name=updateStrategy,casttype=UpdateStrategy"`
	// instanceUUID adopts the vSphere VM with this instance UUID instead of
	// creating one. Defaults to the UID of the object, without being written
	// here. Immutable.
	// +optional
	InstanceUUID string `json:"instanceUUID,omitempty" protobuf:"bytes,25,opt,name=instanceUUID"`
	// providerID is the node provider ID of the virtual machine, as Cluster API
	// uses it: vsphere:// and the BIOS UUID, which is that of firmware. It says which
	// VM this is and takes none over, as instanceUUID does. The server fills it as soon as
	// the BIOS UUID is known, mostly at creation. Immutable once set.
	// +optional
	ProviderID string `json:"providerID,omitempty" protobuf:"bytes,26,opt,name=providerID"`
	// whenMissing says what happens when vSphere had the VM and does not show it any
	// more: after it was unregistered or deleted by hand, while its host is removed, or
	// while a permission is missing. Defaults to Wait; Recreate makes a new VM from the
	// image, whose disks have nothing of the old one.
	// +optional
	WhenMissing WhenMissing `json:"whenMissing,omitempty" protobuf:"bytes,27,opt,name=whenMissing,casttype=WhenMissing"`
	// terminationGracePeriodSeconds is how long a soft power off (TrySoft) waits for the
	// guest before it becomes a hard one, in seconds, from 0. Defaults to what the
	// preference prefers.
	// +optional
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty" protobuf:"varint,28,opt,name=terminationGracePeriodSeconds"`

	// zone names the Zone that the virtual machine goes to. The label
	// topology.kubernetes.io/zone says the same; without either the server chooses, and
	// status.zone says what. Immutable once the virtual machine is in a zone.
	// +optional
	Zone string `json:"zone,omitempty" protobuf:"bytes,29,opt,name=zone"`
	// bootDisk changes the first disk of the image.
	// +optional
	BootDisk *VirtualMachineBootDisk `json:"bootDisk,omitempty" protobuf:"bytes,30,opt,name=bootDisk"`
	// bootOrder lists what the firmware tries to boot from, first to last, at most 16.
	// The firmware decides when unset.
	// +optional
	// +listType=atomic
	BootOrder []VirtualMachineBootDevice `json:"bootOrder,omitempty" protobuf:"bytes,31,rep,name=bootOrder"`
	// deletion says how the VM is powered off when it is deleted.
	// +optional
	Deletion *VirtualMachineDeletion `json:"deletion,omitempty" protobuf:"bytes,32,opt,name=deletion"`
	// powerPolicy says when a VM that should be powered on, and went off by itself, is powered
	// on again. Always powers it on again, after pauses from 10 seconds to 5 minutes if that
	// repeats. OnFailure does so unless it was shut down in an orderly way, by its guest or in
	// vSphere. Manual powers it on only when powerState changes to PoweredOn or a start is
	// requested. Unset means Always.
	// +optional
	PowerPolicy *PowerPolicy `json:"powerPolicy,omitempty" protobuf:"bytes,33,opt,name=powerPolicy,casttype=PowerPolicy"`
	// acceptEULA accepts the license agreements of the image. A virtual machine is not created
	// from an image with an agreement while it is false. It has no effect afterwards. Defaults
	// to false.
	// +optional
	AcceptEULA bool `json:"acceptEULA,omitempty" protobuf:"varint,34,opt,name=acceptEULA"`
}

// VirtualMachineDeletion says how a virtual machine that is deleted is powered off.
type VirtualMachineDeletion struct {
	// powerOffMode says how to power off. Defaults to spec.powerOffMode. Soft is TrySoft: a
	// guest that does not answer keeps nobody from deleting its VM.
	// +optional
	PowerOffMode PowerOpMode `json:"powerOffMode,omitempty" protobuf:"bytes,1,opt,name=powerOffMode,casttype=PowerOpMode"`
	// timeoutSeconds is how long the guest is waited for before it is powered off hard, in
	// seconds, 1 to 86400. Defaults to terminationGracePeriodSeconds.
	// +optional
	TimeoutSeconds int64 `json:"timeoutSeconds,omitempty" protobuf:"varint,2,opt,name=timeoutSeconds"`
}

// VirtualMachineImageRef refers to an image.
type VirtualMachineImageRef struct {
	// kind of the image. Allowed: VirtualMachineImage, ClusterVirtualMachineImage, and
	// VirtualMachine for a clone. Defaults to VirtualMachineImage.
	// +optional
	Kind string `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind"`
	// name of the image. A VirtualMachineImage and a VirtualMachine are in the namespace
	// of the virtual machine.
	// +required
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
	// snapshot is the name of a snapshot of the VirtualMachine in vSphere that is cloned.
	// Unset, its present state is cloned, and it must be powered off.
	// +optional
	Snapshot string `json:"snapshot,omitempty" protobuf:"bytes,3,opt,name=snapshot"`
}
