// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VirtualMachineFinalizer keeps a VirtualMachine until its vSphere VM is gone.
// The create strategy sets it, the controller removes it.
const VirtualMachineFinalizer = "vm.slipway.dev/virtualmachine"

// PowerState is the power state of a virtual machine.
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
type UpdateStrategy string

const (
	// UpdateStrategyLiveUpdate applies at once what vSphere can change on a
	// running VM and lists the rest in status.restartRequired.
	UpdateStrategyLiveUpdate UpdateStrategy = "LiveUpdate"
	// UpdateStrategyStage defers every change to the next power cycle.
	UpdateStrategyStage UpdateStrategy = "Stage"
)

// PromoteDisksMode says when the disks of a linked clone are made independent.
type PromoteDisksMode string

const (
	// PromoteDisksModeOnline promotes while the VM runs.
	PromoteDisksModeOnline PromoteDisksMode = "Online"
	// PromoteDisksModeOffline promotes while the VM is powered off.
	PromoteDisksModeOffline PromoteDisksMode = "Offline"
	// PromoteDisksModeDisabled never promotes.
	PromoteDisksModeDisabled PromoteDisksMode = "Disabled"
)

// WhenMissing says what happens when vSphere had the VM and does not show it any
// more.
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
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachine struct {
	metav1.TypeMeta
	// Standard object metadata.
	metav1.ObjectMeta

	// Spec is the desired state, owned by users.
	Spec VirtualMachineSpec
	// Status is the observed state, owned by the controllers.
	Status VirtualMachineStatus
}

// VirtualMachineList is a list of VirtualMachines.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []VirtualMachine
}

// VirtualMachineSpec is the desired state of a VirtualMachine. Exactly one of
// className, instancetype, or inline cpu and memory gives its size.
type VirtualMachineSpec struct {
	// ClassName names a VirtualMachineClass of the same namespace that gives
	// the size. Mutually exclusive with instancetype and with inline cpu and memory.
	ClassName string
	// Instancetype refers to the instance type that gives the size. Mutually
	// exclusive with className and with inline cpu and memory.
	Instancetype *InstancetypeMatcher
	// CPU gives the virtual CPUs inline.
	CPU *VirtualMachineCPU
	// Memory gives the memory inline.
	Memory *VirtualMachineMemory
	// Preference refers to a preference that fills what this spec and the
	// instance type leave unset.
	Preference *PreferenceMatcher

	// Image is the image that the virtual machine is created from. Immutable
	// once set.
	Image *VirtualMachineImageRef
	// StorageClass names the StorageClass of the disks that are made for the
	// virtual machine.
	StorageClass string

	// PowerState is the desired power state. Defaults to PoweredOn.
	PowerState PowerState
	// PowerOffMode says how to power off. Defaults to TrySoft.
	PowerOffMode PowerOpMode
	// SuspendMode says how to suspend. Defaults to TrySoft.
	SuspendMode PowerOpMode
	// RestartMode says how to restart. Defaults to TrySoft.
	RestartMode PowerOpMode
	// NextRestartTime asks for one restart: "now", which the server replaces
	// with the current time, or an RFC 3339 time. A time that is not later
	// than status.lastRestartTime asks for nothing.
	NextRestartTime string

	// Network configures the network interfaces and the guest's network.
	Network *VirtualMachineNetworkSpec
	// Volumes are the disks beyond those of the image.
	Volumes []VirtualMachineVolume
	// Bootstrap configures the guest at its first start.
	Bootstrap *VirtualMachineBootstrap
	// Firmware configures BIOS or EFI.
	Firmware *VirtualMachineFirmware
	// Devices are the devices besides disks and network interfaces.
	Devices *VirtualMachineDevices
	// ReadinessProbe decides the Ready condition beyond the power state.
	ReadinessProbe *VirtualMachineReadinessProbe

	// PromoteDisksMode says when linked-clone disks are made independent.
	// Defaults to Online.
	PromoteDisksMode PromoteDisksMode
	// MinHardwareVersion is the lowest virtual hardware version, for example
	// 19 for vmx-19. Allowed: 13 to 22.
	MinHardwareVersion int32
	// GuestID is the vSphere guest operating system identifier, for example
	// ubuntu64Guest.
	GuestID string
	// GroupName names the VirtualMachineGroup that this virtual machine belongs to.
	GroupName string
	// CurrentSnapshotName names the VirtualMachineSnapshot to revert to.
	CurrentSnapshotName string
	// UpdateStrategy says what happens to a running VM when its effective spec
	// changes. Defaults to LiveUpdate.
	UpdateStrategy UpdateStrategy
	// InstanceUUID adopts the vSphere VM with this instance UUID instead of
	// creating one. Defaults to the UID of the object, without being written
	// here. Immutable.
	InstanceUUID string
	// ProviderID is the node provider ID of the virtual machine, as Cluster API
	// uses it: vsphere:// and the BIOS UUID, which is that of firmware. It says which
	// VM this is and takes none over, as instanceUUID does. Immutable once set.
	ProviderID string
	// WhenMissing says what happens when vSphere does not show the VM any more.
	WhenMissing WhenMissing
}

// VirtualMachineImageRef refers to an image.
type VirtualMachineImageRef struct {
	// Kind of the image. Allowed: VirtualMachineImage. Defaults to
	// VirtualMachineImage.
	Kind string
	// Name of the image, in the namespace of the virtual machine.
	Name string
}
