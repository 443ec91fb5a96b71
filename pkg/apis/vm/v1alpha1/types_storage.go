// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// VirtualMachineVolume is a disk or a CD-ROM drive. Exactly one source must be set.
type VirtualMachineVolume struct {
	// name of the volume in this list.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// persistentVolumeClaim attaches the disk of a PersistentVolumeClaim in the same namespace.
	// +optional
	PersistentVolumeClaim *PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty" protobuf:"bytes,2,opt,name=persistentVolumeClaim"`
	// disk creates an empty disk that is deleted with the virtual machine.
	// +optional
	Disk *DiskVolumeSource `json:"disk,omitempty" protobuf:"bytes,3,opt,name=disk"`
	// bus is the type of the disk controller. Allowed: pvscsi, lsilogic, lsilogicsas, sata, nvme, ide, and scsi or
	// virtio, which both mean pvscsi. Defaults to the value of the preference or else to pvscsi.
	// +optional
	Bus string `json:"bus,omitempty" protobuf:"bytes,4,opt,name=bus"`
	// cdrom is a CD-ROM drive.
	// +optional
	CDROM *CDROMVolumeSource `json:"cdrom,omitempty" protobuf:"bytes,5,opt,name=cdrom"`
	// reclaimPolicy defines what happens to a disk that is removed from this list. If unset, the disk is detached and
	// its file is kept.
	// +optional
	ReclaimPolicy VolumeReclaimPolicy `json:"reclaimPolicy,omitempty" protobuf:"bytes,6,opt,name=reclaimPolicy,casttype=VolumeReclaimPolicy"`
	// controllerBusNumber is the number of the controller on the bus. Allowed: 0 to 3 for pvscsi, lsilogic, lsilogicsas,
	// sata and nvme; 0 to 1 for ide. Chosen by the server if unset. Immutable.
	// +optional
	ControllerBusNumber *int32 `json:"controllerBusNumber,omitempty" protobuf:"varint,7,opt,name=controllerBusNumber"`
	// unitNumber is the unit number on the controller, starting at 0. Unit 7 of a SCSI controller is reserved for the
	// controller. Chosen by the server if unset. Immutable.
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
	// size of the disk, in whole mebibytes.
	// +required
	Capacity *resource.Quantity `json:"size" protobuf:"bytes,1,opt,name=size"`
	// storageClass of this disk. Defaults to spec.storageClass.
	// +optional
	StorageClass string `json:"storageClass,omitempty" protobuf:"bytes,2,opt,name=storageClass"`
	// provisioning of the disk. If unset, the datastore decides. Immutable.
	// +optional
	Provisioning DiskProvisioning `json:"provisioning,omitempty" protobuf:"bytes,3,opt,name=provisioning,casttype=DiskProvisioning"`
}

// VolumeReclaimPolicy defines what happens to a disk that is removed from the spec of its virtual machine.
// +enum
type VolumeReclaimPolicy string

const (
	// VolumeReclaimDetach detaches the disk and keeps its file.
	VolumeReclaimDetach VolumeReclaimPolicy = "Detach"
	// VolumeReclaimDelete deletes the disk.
	VolumeReclaimDelete VolumeReclaimPolicy = "Delete"
)

// DiskProvisioning defines when the space of a disk is allocated.
// +enum
type DiskProvisioning string

const (
	// DiskProvisioningThin allocates space when the guest writes.
	DiskProvisioningThin DiskProvisioning = "Thin"
	// DiskProvisioningThick allocates all space at creation and zeroes it on first write.
	DiskProvisioningThick DiskProvisioning = "Thick"
	// DiskProvisioningThickEagerZero allocates and zeroes all space at creation.
	DiskProvisioningThickEagerZero DiskProvisioning = "ThickEagerZero"
)

// CDROMVolumeSource is a CD-ROM drive with an ISO image.
type CDROMVolumeSource struct {
	// image is the ISO image. If unset, the drive is empty.
	// +optional
	Image *VirtualMachineImageRef `json:"image,omitempty" protobuf:"bytes,1,opt,name=image"`
	// connected defines whether the medium is connected. Defaults to true.
	// +optional
	Connected *bool `json:"connected,omitempty" protobuf:"varint,2,opt,name=connected"`
}

// VirtualMachineBootDisk configures the first disk of the image.
type VirtualMachineBootDisk struct {
	// size of the disk, in whole mebibytes. It must not be smaller than the current size. It can be increased at any
	// time.
	// +optional
	Capacity *resource.Quantity `json:"size,omitempty" protobuf:"bytes,1,opt,name=size"`
	// storageClass of this disk. Defaults to spec.storageClass.
	// +optional
	StorageClass string `json:"storageClass,omitempty" protobuf:"bytes,2,opt,name=storageClass"`
	// provisioning of the disk. If unset, the image and the datastore decide. Immutable.
	// +optional
	Provisioning DiskProvisioning `json:"provisioning,omitempty" protobuf:"bytes,3,opt,name=provisioning,casttype=DiskProvisioning"`
}

// BootDeviceType is the type of a device that the firmware boots from.
// +enum
type BootDeviceType string

const (
	// BootDeviceDisk is a disk.
	BootDeviceDisk BootDeviceType = "Disk"
	// BootDeviceCDROM is the first CD-ROM drive with a bootable medium.
	BootDeviceCDROM BootDeviceType = "CDROM"
	// BootDeviceNetwork is a network interface.
	BootDeviceNetwork BootDeviceType = "Network"
)

// VirtualMachineBootDevice is a device that the firmware tries to boot from.
type VirtualMachineBootDevice struct {
	// type of the device.
	// +required
	Type BootDeviceType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=BootDeviceType"`
	// name of the volume or interface. A disk without a name is the boot disk of the image. Not allowed for a CD-ROM
	// drive, because vSphere cannot distinguish between drives here.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,2,opt,name=name"`
}

// VirtualMachineStorageStatus is the storage that a virtual machine uses.
type VirtualMachineStorageStatus struct {
	// committed is the space in use on datastores.
	// +optional
	Committed *resource.Quantity `json:"committed,omitempty" protobuf:"bytes,1,opt,name=committed"`
	// provisioned is the maximum space that the VM can use, including the committed space.
	// +optional
	Provisioned *resource.Quantity `json:"provisioned,omitempty" protobuf:"bytes,2,opt,name=provisioned"`
	// compliance of the VM's home directory with its storage policy, from the last check by vSphere.
	// +optional
	Compliance string `json:"compliance,omitempty" protobuf:"bytes,3,opt,name=compliance"`
	// bootDisk is the state of the first disk of the image.
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
	// compliance of the disk with its storage policy, from the last check by vSphere: compliant, nonCompliant, unknown,
	// notApplicable or outOfDate.
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
	// attached is true if the disk is attached.
	// +optional
	Attached bool `json:"attached,omitempty" protobuf:"varint,2,opt,name=attached"`
	// diskUUID is the UUID that the guest sees.
	// +optional
	DiskUUID string `json:"diskUUID,omitempty" protobuf:"bytes,3,opt,name=diskUUID"`
	// capacity of the disk.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty" protobuf:"bytes,4,opt,name=capacity"`
	// error is the reason why the volume is not attached.
	// +optional
	Error string `json:"error,omitempty" protobuf:"bytes,5,opt,name=error"`
	// storageClass that the disk was created with.
	// +optional
	StorageClass string `json:"storageClass,omitempty" protobuf:"bytes,6,opt,name=storageClass"`
	// compliance of the disk with its storage policy, from the last check by vSphere: compliant, nonCompliant, unknown,
	// notApplicable or outOfDate.
	// +optional
	Compliance string `json:"compliance,omitempty" protobuf:"bytes,7,opt,name=compliance"`
	// claimName is the name of the PersistentVolumeClaim that the disk belongs to.
	// +optional
	ClaimName string `json:"claimName,omitempty" protobuf:"bytes,8,opt,name=claimName"`
	// volumeID is the vSphere identifier of the claim's disk.
	// +optional
	VolumeID string `json:"volumeID,omitempty" protobuf:"bytes,9,opt,name=volumeID"`
	// deviceKey is the vSphere device key.
	// +optional
	DeviceKey int32 `json:"deviceKey,omitempty" protobuf:"varint,10,opt,name=deviceKey"`
}
