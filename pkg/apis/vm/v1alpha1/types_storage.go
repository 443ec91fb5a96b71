// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// VirtualMachineVolume is a disk. Exactly one source is set.
type VirtualMachineVolume struct {
	// Name of the volume in this list.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// PersistentVolumeClaim attaches the disk of a claim of the same namespace.
	// +optional
	PersistentVolumeClaim *PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty" protobuf:"bytes,2,opt,name=persistentVolumeClaim"`
	// Disk makes an empty disk that lives and dies with the virtual machine.
	// +optional
	Disk *DiskVolumeSource `json:"disk,omitempty" protobuf:"bytes,3,opt,name=disk"`
	// Bus is the controller: pvscsi, lsilogic, lsilogicsas, sata, nvme, ide,
	// scsi or virtio (both mean pvscsi). A preference or pvscsi when unset.
	// +optional
	Bus string `json:"bus,omitempty" protobuf:"bytes,4,opt,name=bus"`
}

// PersistentVolumeClaimVolumeSource refers to a claim.
type PersistentVolumeClaimVolumeSource struct {
	// ClaimName is the name of the claim.
	ClaimName string `json:"claimName" protobuf:"bytes,1,opt,name=claimName"`
	// ReadOnly attaches the disk read-only.
	// +optional
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,2,opt,name=readOnly"`
}

// DiskVolumeSource describes an empty disk.
type DiskVolumeSource struct {
	// Capacity of the disk; whole mebibytes.
	Capacity *resource.Quantity `json:"size" protobuf:"bytes,1,opt,name=size"`
	// StorageClass of this disk; spec.storageClass when unset.
	// +optional
	StorageClass string `json:"storageClass,omitempty" protobuf:"bytes,2,opt,name=storageClass"`
}

// VirtualMachineStorageStatus is the storage that a virtual machine uses.
type VirtualMachineStorageStatus struct {
	// Committed is the space in use on datastores.
	// +optional
	Committed *resource.Quantity `json:"committed,omitempty" protobuf:"bytes,1,opt,name=committed"`
	// Provisioned is the space that may come into use, the committed included.
	// +optional
	Provisioned *resource.Quantity `json:"provisioned,omitempty" protobuf:"bytes,2,opt,name=provisioned"`
}

// VirtualMachineVolumeStatus is the observed state of a volume.
type VirtualMachineVolumeStatus struct {
	// Name of the volume.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// Attached is true when the disk is attached.
	// +optional
	Attached bool `json:"attached,omitempty" protobuf:"varint,2,opt,name=attached"`
	// DiskUUID is the UUID that the guest sees.
	// +optional
	DiskUUID string `json:"diskUUID,omitempty" protobuf:"bytes,3,opt,name=diskUUID"`
	// Capacity of the disk.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty" protobuf:"bytes,4,opt,name=capacity"`
	// Error says why the volume is not attached.
	// +optional
	Error string `json:"error,omitempty" protobuf:"bytes,5,opt,name=error"`
}
