// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VirtualMachineFinalizer keeps a VirtualMachine until its vSphere VM is deleted. The server sets it on creation; the
// controller removes it.
const VirtualMachineFinalizer = "vm.slipway.dev/virtualmachine"

// PowerState is the power state of a virtual machine.
// +enum
type PowerState string

const (
	// PoweredOn means that the virtual machine runs.
	PoweredOn PowerState = "PoweredOn"
	// PoweredOff means that the virtual machine does not run.
	PoweredOff PowerState = "PoweredOff"
	// Suspended means that the memory of the virtual machine was written to disk.
	Suspended PowerState = "Suspended"
)

// PowerOpMode defines whether the guest operating system takes part in a power operation.
// +enum
type PowerOpMode string

const (
	// PowerOpModeHard performs the operation without involving the guest.
	PowerOpModeHard PowerOpMode = "Hard"
	// PowerOpModeSoft requests the operation from the guest through VMware Tools and waits for it.
	PowerOpModeSoft PowerOpMode = "Soft"
	// PowerOpModeTrySoft requests the operation from the guest and falls back to Hard if the guest does not respond
	// within five minutes.
	PowerOpModeTrySoft PowerOpMode = "TrySoft"
)

// UpdateStrategy defines how changes of the effective spec are applied to a running VM.
// +enum
type UpdateStrategy string

const (
	// UpdateStrategyLiveUpdate immediately applies the changes that vSphere supports on a running VM and lists the
	// others in status.restartRequired.
	UpdateStrategyLiveUpdate UpdateStrategy = "LiveUpdate"
	// UpdateStrategyStage defers every change to the next power cycle.
	UpdateStrategyStage UpdateStrategy = "Stage"
)

// PromoteDisksMode defines when the disks of a linked clone are promoted to independent disks.
// +enum
type PromoteDisksMode string

const (
	// PromoteDisksModeOnline promotes disks while the VM runs.
	PromoteDisksModeOnline PromoteDisksMode = "Online"
	// PromoteDisksModeOffline promotes disks while the VM is powered off.
	PromoteDisksModeOffline PromoteDisksMode = "Offline"
	// PromoteDisksModeDisabled does not promote disks.
	PromoteDisksModeDisabled PromoteDisksMode = "Disabled"
)

// PowerPolicy defines when a virtual machine that powered off unexpectedly is powered on again.
// +enum
type PowerPolicy string

const (
	// PowerPolicyAlways powers the virtual machine on again, with increasing delays.
	PowerPolicyAlways PowerPolicy = "Always"
	// PowerPolicyOnFailure powers the virtual machine on again after a failure, but not after an orderly shutdown.
	PowerPolicyOnFailure PowerPolicy = "OnFailure"
	// PowerPolicyManual powers the virtual machine on only on request.
	PowerPolicyManual PowerPolicy = "Manual"
)

// WhenMissing defines what the controller does when vSphere no longer reports a VM that it created.
// +enum
type WhenMissing string

const (
	// WhenMissingWait waits until vSphere reports the VM again or a user intervenes.
	WhenMissingWait WhenMissing = "Wait"
	// WhenMissingRecreate creates a new VM from the image after one minute. Data on the disks of the previous VM is
	// lost.
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

// VirtualMachineSpec is the desired state of a VirtualMachine. Exactly one of className, instancetype, and inline cpu
// and memory must define the size.
type VirtualMachineSpec struct {
	// className is the name of a VirtualMachineClass in the same namespace that defines the size. Mutually exclusive
	// with instancetype and with inline cpu and memory.
	// +optional
	ClassName string `json:"className,omitempty" protobuf:"bytes,1,opt,name=className"`
	// instancetype refers to the instance type that defines the size. Mutually exclusive with className and with inline
	// cpu and memory.
	// +optional
	Instancetype *InstancetypeMatcher `json:"instancetype,omitempty" protobuf:"bytes,2,opt,name=instancetype"`
	// cpu defines the virtual CPUs inline.
	// +optional
	CPU *VirtualMachineCPU `json:"cpu,omitempty" protobuf:"bytes,3,opt,name=cpu"`
	// memory defines the memory inline.
	// +optional
	Memory *VirtualMachineMemory `json:"memory,omitempty" protobuf:"bytes,4,opt,name=memory"`
	// preference refers to a preference, which provides values that are set neither in this spec nor in the instance
	// type.
	// +optional
	Preference *PreferenceMatcher `json:"preference,omitempty" protobuf:"bytes,5,opt,name=preference"`

	// image is the image that the virtual machine is created from. Immutable
	// once set.
	// +optional
	Image *VirtualMachineImageRef `json:"image,omitempty" protobuf:"bytes,6,opt,name=image"`
	// storageClass is the name of the StorageClass for the disks that are created for the virtual machine.
	// +optional
	StorageClass string `json:"storageClass,omitempty" protobuf:"bytes,7,opt,name=storageClass"`

	// powerState is the desired power state. Defaults to PoweredOn if groupName is not set. If groupName is set and
	// powerState is not, the group's power state applies.
	// +optional
	PowerState PowerState `json:"powerState,omitempty" protobuf:"bytes,8,opt,name=powerState,casttype=PowerState"`
	// powerOffMode defines how the virtual machine is powered off. Defaults to TrySoft.
	// +optional
	PowerOffMode PowerOpMode `json:"powerOffMode,omitempty" protobuf:"bytes,9,opt,name=powerOffMode,casttype=PowerOpMode"`
	// suspendMode defines how the virtual machine is suspended. Defaults to TrySoft.
	// +optional
	SuspendMode PowerOpMode `json:"suspendMode,omitempty" protobuf:"bytes,10,opt,name=suspendMode,casttype=PowerOpMode"`
	// restartMode defines how the virtual machine is restarted. Defaults to TrySoft.
	// +optional
	RestartMode PowerOpMode `json:"restartMode,omitempty" protobuf:"bytes,11,opt,name=restartMode,casttype=PowerOpMode"`
	// nextRestartTime requests one restart. The value is "now", which the server replaces with the current time, or a
	// time in RFC 3339 format. A time that is not later than status.lastRestartTime has no effect.
	// +optional
	NextRestartTime string `json:"nextRestartTime,omitempty" protobuf:"bytes,12,opt,name=nextRestartTime"`

	// network configures the network interfaces and the guest's network.
	// +optional
	Network *VirtualMachineNetworkSpec `json:"network,omitempty" protobuf:"bytes,13,opt,name=network"`
	// volumes are the disks and CD-ROM drives in addition to the disks of the image.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchMergeKey=name
	// +patchStrategy=merge
	Volumes []VirtualMachineVolume `json:"volumes,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,14,rep,name=volumes"`
	// bootstrap configures the guest at its first boot.
	// +optional
	Bootstrap *VirtualMachineBootstrap `json:"bootstrap,omitempty" protobuf:"bytes,15,opt,name=bootstrap"`
	// firmware configures the BIOS or EFI firmware.
	// +optional
	Firmware *VirtualMachineFirmware `json:"firmware,omitempty" protobuf:"bytes,16,opt,name=firmware"`
	// devices are the devices other than disks and network interfaces.
	// +optional
	Devices *VirtualMachineDevices `json:"devices,omitempty" protobuf:"bytes,17,opt,name=devices"`
	// readinessProbe is a check that must succeed, in addition to the power state, before the Ready condition is True.
	// +optional
	ReadinessProbe *VirtualMachineReadinessProbe `json:"readinessProbe,omitempty" protobuf:"bytes,18,opt,name=readinessProbe"`

	// promoteDisksMode defines when the disks of a linked clone are promoted to independent disks. Defaults to Online.
	// +optional
	PromoteDisksMode PromoteDisksMode `json:"promoteDisksMode,omitempty" protobuf:"bytes,19,opt,name=promoteDisksMode,casttype=PromoteDisksMode"`
	// minHardwareVersion is the minimum virtual hardware version, for example 19 for vmx-19. Allowed: 13 to 22.
	// +optional
	MinHardwareVersion int32 `json:"minHardwareVersion,omitempty" protobuf:"varint,20,opt,name=minHardwareVersion"`
	// guestID is the vSphere identifier of the guest operating system, for example ubuntu64Guest.
	// +optional
	GuestID string `json:"guestID,omitempty" protobuf:"bytes,21,opt,name=guestID"`
	// groupName is the name of a VirtualMachineGroup in the same namespace. The virtual machine is a member if the group
	// also lists it.
	// +optional
	GroupName string `json:"groupName,omitempty" protobuf:"bytes,22,opt,name=groupName"`
	// currentSnapshotName requests a revert to the VirtualMachineSnapshot of this name. The revert restores the virtual
	// machine and the labels, annotations and spec of the object, which clears this field. Later changes are lost.
	// +optional
	CurrentSnapshotName string `json:"currentSnapshotName,omitempty" protobuf:"bytes,23,opt,name=currentSnapshotName"`
	// updateStrategy defines how changes of the effective spec are applied to a running VM. Defaults to LiveUpdate.
	// +optional
	UpdateStrategy UpdateStrategy `json:"updateStrategy,omitempty" protobuf:"bytes,24,opt,name=updateStrategy,casttype=UpdateStrategy"`
	// instanceUUID adopts the vSphere VM with this instance UUID instead of creating one. If unset, the object's UID is
	// used; it is not written to this field. Immutable.
	// +optional
	InstanceUUID string `json:"instanceUUID,omitempty" protobuf:"bytes,25,opt,name=instanceUUID"`
	// providerID is the node provider ID in the format of Cluster API: vsphere:// followed by the BIOS UUID. It
	// identifies the VM but, unlike instanceUUID, does not adopt one. The server sets it when the BIOS UUID is known,
	// usually at creation. Immutable once set.
	// +optional
	ProviderID string `json:"providerID,omitempty" protobuf:"bytes,26,opt,name=providerID"`
	// whenMissing defines what happens when vSphere no longer reports the VM, for example because it was unregistered or
	// deleted, its host was removed, or a permission is missing. Wait waits. Recreate creates a new VM from the image;
	// data on the previous disks is lost. Defaults to Wait.
	// +optional
	WhenMissing WhenMissing `json:"whenMissing,omitempty" protobuf:"bytes,27,opt,name=whenMissing,casttype=WhenMissing"`
	// terminationGracePeriodSeconds is the time that a power off with mode TrySoft waits for the guest before it falls
	// back to Hard, in seconds. Minimum 0. Defaults to the value of the preference.
	// +optional
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty" protobuf:"varint,28,opt,name=terminationGracePeriodSeconds"`

	// zone is the name of the Zone in which the virtual machine is placed. The label topology.kubernetes.io/zone has the
	// same effect. If neither is set, the server chooses a zone and reports it in status.zone. Immutable once the
	// virtual machine has a zone.
	// +optional
	Zone string `json:"zone,omitempty" protobuf:"bytes,29,opt,name=zone"`
	// bootDisk configures the first disk of the image.
	// +optional
	BootDisk *VirtualMachineBootDisk `json:"bootDisk,omitempty" protobuf:"bytes,30,opt,name=bootDisk"`
	// bootOrder lists the devices that the firmware tries to boot from, in order. At most 16 entries. If unset, the
	// firmware decides.
	// +optional
	// +listType=atomic
	BootOrder []VirtualMachineBootDevice `json:"bootOrder,omitempty" protobuf:"bytes,31,rep,name=bootOrder"`
	// deletion defines how the VM is powered off when the object is deleted.
	// +optional
	Deletion *VirtualMachineDeletion `json:"deletion,omitempty" protobuf:"bytes,32,opt,name=deletion"`
	// powerPolicy defines when a VM that powered off unexpectedly is powered on again. Always powers it on, with delays
	// from 10 seconds to 5 minutes if this repeats. OnFailure does so unless the guest or vSphere shut it down in an
	// orderly way. Manual powers it on only when powerState changes to PoweredOn or a start is requested. Defaults to
	// Always.
	// +optional
	PowerPolicy *PowerPolicy `json:"powerPolicy,omitempty" protobuf:"bytes,33,opt,name=powerPolicy,casttype=PowerPolicy"`
	// acceptEULA accepts the license agreements of the image. A virtual machine is not created from an image that has
	// license agreements while this field is false. It has no effect after creation. Defaults to false.
	// +optional
	AcceptEULA bool `json:"acceptEULA,omitempty" protobuf:"varint,34,opt,name=acceptEULA"`
}

// VirtualMachineDeletion defines how a virtual machine is powered off when it is deleted.
type VirtualMachineDeletion struct {
	// powerOffMode defines how the virtual machine is powered off. Soft has the same effect as TrySoft. Defaults to
	// spec.powerOffMode.
	// +optional
	PowerOffMode PowerOpMode `json:"powerOffMode,omitempty" protobuf:"bytes,1,opt,name=powerOffMode,casttype=PowerOpMode"`
	// timeoutSeconds is the time to wait for the guest before a hard power off, in seconds. Allowed: 1 to 86400.
	// Defaults to terminationGracePeriodSeconds.
	// +optional
	TimeoutSeconds int64 `json:"timeoutSeconds,omitempty" protobuf:"varint,2,opt,name=timeoutSeconds"`
}

// VirtualMachineImageRef refers to an image.
type VirtualMachineImageRef struct {
	// kind of the image. Allowed: VirtualMachineImage, ClusterVirtualMachineImage, and VirtualMachine for a clone.
	// Defaults to VirtualMachineImage.
	// +optional
	Kind string `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind"`
	// name of the image. A VirtualMachineImage or VirtualMachine must be in the same namespace.
	// +required
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
	// snapshot is the name of the vSphere snapshot of the VirtualMachine that is cloned. If unset, the current state is
	// cloned, and the source must be powered off.
	// +optional
	Snapshot string `json:"snapshot,omitempty" protobuf:"bytes,3,opt,name=snapshot"`
}
