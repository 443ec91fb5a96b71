// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// VirtualMachineVolume is a disk. Exactly one source is set.
type VirtualMachineVolume struct {
	// Name of the volume in this list.
	Name string
	// PersistentVolumeClaim attaches the disk of a claim of the same namespace.
	PersistentVolumeClaim *PersistentVolumeClaimVolumeSource
	// Disk makes an empty disk that lives and dies with the virtual machine.
	Disk *DiskVolumeSource
	// Bus is the controller: pvscsi, lsilogic, lsilogicsas, sata, nvme, ide,
	// scsi or virtio (both mean pvscsi). A preference or pvscsi when unset.
	Bus string
}

// PersistentVolumeClaimVolumeSource refers to a claim.
type PersistentVolumeClaimVolumeSource struct {
	// ClaimName is the name of the claim.
	ClaimName string
	// ReadOnly attaches the disk read-only.
	ReadOnly bool
}

// DiskVolumeSource describes an empty disk.
type DiskVolumeSource struct {
	// Capacity of the disk; whole mebibytes.
	Capacity *resource.Quantity
	// StorageClass of this disk; spec.storageClass when unset.
	StorageClass string
}

// VirtualMachineStorageStatus is the storage that a virtual machine uses.
type VirtualMachineStorageStatus struct {
	// Committed is the space in use on datastores.
	Committed *resource.Quantity
	// Provisioned is the space that may come into use, the committed included.
	Provisioned *resource.Quantity
}

// VirtualMachineVolumeStatus is the observed state of a volume.
type VirtualMachineVolumeStatus struct {
	// Name of the volume.
	Name string
	// Attached is true when the disk is attached.
	Attached bool
	// DiskUUID is the UUID that the guest sees.
	DiskUUID string
	// Capacity of the disk.
	Capacity *resource.Quantity
	// Error says why the volume is not attached.
	Error string
}
