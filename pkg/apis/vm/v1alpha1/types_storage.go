// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// VirtualMachineVolume is a disk. Exactly one source is set.
type VirtualMachineVolume struct {
	// name of the volume in this list.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// persistentVolumeClaim attaches the disk of a claim of the same namespace.
	// +optional
	PersistentVolumeClaim *PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty" protobuf:"bytes,2,opt,name=persistentVolumeClaim"`
	// disk makes an empty disk that lives and dies with the virtual machine.
	// +optional
	Disk *DiskVolumeSource `json:"disk,omitempty" protobuf:"bytes,3,opt,name=disk"`
	// bus is the controller: pvscsi, lsilogic, lsilogicsas, sata, nvme, ide,
	// scsi or virtio (both mean pvscsi). A preference or pvscsi when unset.
	// +optional
	Bus string `json:"bus,omitempty" protobuf:"bytes,4,opt,name=bus"`
	// cdrom is a CD-ROM drive.
	// +optional
	CDROM *CDROMVolumeSource `json:"cdrom,omitempty" protobuf:"bytes,5,opt,name=cdrom"`
	// reclaimPolicy says what becomes of a disk that is removed from this list. Unset, it
	// is detached and its file is kept.
	// +optional
	ReclaimPolicy VolumeReclaimPolicy `json:"reclaimPolicy,omitempty" protobuf:"bytes,6,opt,name=reclaimPolicy,casttype=VolumeReclaimPolicy"`
	// controllerBusNumber is the number of the controller of the bus, from 0: up to 3 for
	// pvscsi, lsilogic, lsilogicsas, sata and nvme, up to 1 for ide. Chosen when unset.
	// Immutable.
	// +optional
	ControllerBusNumber *int32 `json:"controllerBusNumber,omitempty" protobuf:"varint,7,opt,name=controllerBusNumber"`
	// unitNumber is the place at the controller, from 0; a SCSI controller is its own
	// unit 7. Chosen when unset. Immutable.
	// +optional
	UnitNumber *int32 `json:"unitNumber,omitempty" protobuf:"varint,8,opt,name=unitNumber"`
}

// PersistentVolumeClaimVolumeSource refers to a claim.
type PersistentVolumeClaimVolumeSource struct {
	// claimName is the name of the claim.
	// +required
	ClaimName string `json:"claimName" protobuf:"bytes,1,opt,name=claimName"`
	// readOnly attaches the disk read-only.
	// +optional
	ReadOnly bool `json:"readOnly,omitempty" protobuf:"varint,2,opt,name=readOnly"`
}

// DiskVolumeSource describes an empty disk.
type DiskVolumeSource struct {
	// size of the disk; whole mebibytes.
	// +required
	Capacity *resource.Quantity `json:"size" protobuf:"bytes,1,opt,name=size"`
	// storageClass of this disk; spec.storageClass when unset.
	// +optional
	StorageClass string `json:"storageClass,omitempty" protobuf:"bytes,2,opt,name=storageClass"`
	// provisioning of the disk. The datastore decides when unset. Immutable.
	// +optional
	Provisioning DiskProvisioning `json:"provisioning,omitempty" protobuf:"bytes,3,opt,name=provisioning,casttype=DiskProvisioning"`
}

// VolumeReclaimPolicy says what becomes of a disk that its virtual machine's spec does not
// name any more.
// +enum
type VolumeReclaimPolicy string

const (
	// VolumeReclaimDetach detaches the disk and leaves its file.
	VolumeReclaimDetach VolumeReclaimPolicy = "Detach"
	// VolumeReclaimDelete deletes the disk.
	VolumeReclaimDelete VolumeReclaimPolicy = "Delete"
)

// DiskProvisioning says when the space of a disk is taken.
// +enum
type DiskProvisioning string

const (
	// DiskProvisioningThin takes space as it is written to.
	DiskProvisioningThin DiskProvisioning = "Thin"
	// DiskProvisioningThick takes all space at once and zeroes it as it is written to.
	DiskProvisioningThick DiskProvisioning = "Thick"
	// DiskProvisioningThickEagerZero takes all space at once and zeroes it.
	DiskProvisioningThickEagerZero DiskProvisioning = "ThickEagerZero"
)

// CDROMVolumeSource is a CD-ROM drive with an ISO image.
type CDROMVolumeSource struct {
	// image is the ISO image. The drive is empty when unset.
	// +optional
	Image *VirtualMachineImageRef `json:"image,omitempty" protobuf:"bytes,1,opt,name=image"`
	// connected says whether the medium is in the drive. Defaults to true.
	// +optional
	Connected *bool `json:"connected,omitempty" protobuf:"varint,2,opt,name=connected"`
}

// VirtualMachineBootDisk changes the first disk of the image.
type VirtualMachineBootDisk struct {
	// size of the disk; whole mebibytes, and no less than it has. It can grow at any
	// time, and never shrinks.
	// +optional
	Capacity *resource.Quantity `json:"size,omitempty" protobuf:"bytes,1,opt,name=size"`
	// storageClass of this disk; spec.storageClass when unset.
	// +optional
	StorageClass string `json:"storageClass,omitempty" protobuf:"bytes,2,opt,name=storageClass"`
	// provisioning of the disk. The image and the datastore decide when unset. Immutable.
	// +optional
	Provisioning DiskProvisioning `json:"provisioning,omitempty" protobuf:"bytes,3,opt,name=provisioning,casttype=DiskProvisioning"`
}

// BootDeviceType is what kind of device the firmware boots from.
// +enum
type BootDeviceType string

const (
	// BootDeviceDisk is a disk.
	BootDeviceDisk BootDeviceType = "Disk"
	// BootDeviceCDROM is the first CD-ROM drive that has a medium to boot from.
	BootDeviceCDROM BootDeviceType = "CDROM"
	// BootDeviceNetwork is a network interface.
	BootDeviceNetwork BootDeviceType = "Network"
)

// VirtualMachineBootDevice is a device that the firmware tries to boot from.
type VirtualMachineBootDevice struct {
	// type of the device.
	// +required
	Type BootDeviceType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=BootDeviceType"`
	// name of the volume or interface. A disk without is the boot disk of the image; a
	// CD-ROM drive has none, as vSphere does not tell them apart here.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,2,opt,name=name"`
}

// VirtualMachineStorageStatus is the storage that a virtual machine uses.
type VirtualMachineStorageStatus struct {
	// committed is the space in use on datastores.
	// +optional
	Committed *resource.Quantity `json:"committed,omitempty" protobuf:"bytes,1,opt,name=committed"`
	// provisioned is the space that may come into use, the committed included.
	// +optional
	Provisioned *resource.Quantity `json:"provisioned,omitempty" protobuf:"bytes,2,opt,name=provisioned"`
	// compliance of the home of the VM with its storage policy, as vSphere found it last.
	// +optional
	Compliance string `json:"compliance,omitempty" protobuf:"bytes,3,opt,name=compliance"`
	// bootDisk is the first disk of the image.
	// +optional
	BootDisk *VirtualMachineBootDiskStatus `json:"bootDisk,omitempty" protobuf:"bytes,4,opt,name=bootDisk"`
}

// VirtualMachineBootDiskStatus is the observed state of the boot disk.
type VirtualMachineBootDiskStatus struct {
	// capacity of the disk.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty" protobuf:"bytes,1,opt,name=capacity"`
	// diskUUID is the UUID that the guest sees.
	// +optional
	DiskUUID string `json:"diskUUID,omitempty" protobuf:"bytes,2,opt,name=diskUUID"`
	// compliance of the disk with its storage policy, as vSphere found it last: compliant,
	// nonCompliant, unknown, notApplicable or outOfDate.
	// +optional
	Compliance string `json:"compliance,omitempty" protobuf:"bytes,3,opt,name=compliance"`
	// deviceKey is the vSphere device key.
	// +optional
	DeviceKey int32 `json:"deviceKey,omitempty" protobuf:"varint,4,opt,name=deviceKey"`
}

// VirtualMachineVolumeStatus is the observed state of a volume.
type VirtualMachineVolumeStatus struct {
	// name of the volume.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// attached is true when the disk is attached.
	// +optional
	Attached bool `json:"attached,omitempty" protobuf:"varint,2,opt,name=attached"`
	// diskUUID is the UUID that the guest sees.
	// +optional
	DiskUUID string `json:"diskUUID,omitempty" protobuf:"bytes,3,opt,name=diskUUID"`
	// capacity of the disk.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty" protobuf:"bytes,4,opt,name=capacity"`
	// error says why the volume is not attached.
	// +optional
	Error string `json:"error,omitempty" protobuf:"bytes,5,opt,name=error"`
	// storageClass that the disk was made with.
	// +optional
	StorageClass string `json:"storageClass,omitempty" protobuf:"bytes,6,opt,name=storageClass"`
	// compliance of the disk with its storage policy, as vSphere found it last: compliant,
	// nonCompliant, unknown, notApplicable or outOfDate.
	// +optional
	Compliance string `json:"compliance,omitempty" protobuf:"bytes,7,opt,name=compliance"`
	// claimName is the PersistentVolumeClaim that the disk belongs to.
	// +optional
	ClaimName string `json:"claimName,omitempty" protobuf:"bytes,8,opt,name=claimName"`
	// volumeID is the identifier of the claim's disk in vSphere.
	// +optional
	VolumeID string `json:"volumeID,omitempty" protobuf:"bytes,9,opt,name=volumeID"`
	// deviceKey is the vSphere device key.
	// +optional
	DeviceKey int32 `json:"deviceKey,omitempty" protobuf:"varint,10,opt,name=deviceKey"`
}
