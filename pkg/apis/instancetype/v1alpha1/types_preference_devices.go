// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// DevicePreferences are the preferred virtual devices.
type DevicePreferences struct {
	// preferredAutoattachGraphicsDevice defines whether a graphics device is added.
	// +optional
	PreferredAutoattachGraphicsDevice *bool `json:"preferredAutoattachGraphicsDevice,omitempty" protobuf:"varint,1,opt,name=preferredAutoattachGraphicsDevice"`

	// preferredAutoattachMemBalloon defines whether a memory balloon driver can reclaim memory. It is stored for
	// compatibility and has no effect on vSphere.
	// +optional
	PreferredAutoattachMemBalloon *bool `json:"preferredAutoattachMemBalloon,omitempty" protobuf:"varint,2,opt,name=preferredAutoattachMemBalloon"`

	// preferredAutoattachPodInterface defines whether a network interface is added if the virtual machine does not
	// specify one.
	// +optional
	PreferredAutoattachPodInterface *bool `json:"preferredAutoattachPodInterface,omitempty" protobuf:"varint,3,opt,name=preferredAutoattachPodInterface"`

	// preferredAutoattachSerialConsole defines whether a serial console is added.
	// +optional
	PreferredAutoattachSerialConsole *bool `json:"preferredAutoattachSerialConsole,omitempty" protobuf:"varint,4,opt,name=preferredAutoattachSerialConsole"`

	// preferredAutoattachInputDevice defines whether an input device is added. It is stored for compatibility and has no
	// effect on vSphere.
	// +optional
	PreferredAutoattachInputDevice *bool `json:"preferredAutoattachInputDevice,omitempty" protobuf:"varint,5,opt,name=preferredAutoattachInputDevice"`

	// preferredDisableHotplug disables hot-add of devices.
	// +optional
	PreferredDisableHotplug *bool `json:"preferredDisableHotplug,omitempty" protobuf:"varint,6,opt,name=preferredDisableHotplug"`

	// preferredVirtualGPUOptions are the settings of shared GPUs. They are stored for compatibility and have no effect
	// on vSphere.
	// +optional
	PreferredVirtualGPUOptions *VGPUOptions `json:"preferredVirtualGPUOptions,omitempty" protobuf:"bytes,7,opt,name=preferredVirtualGPUOptions"`

	// preferredSoundModel is the model of a sound device, for example ich9. It is stored for compatibility and has no
	// effect on vSphere.
	// +optional
	PreferredSoundModel string `json:"preferredSoundModel,omitempty" protobuf:"bytes,8,opt,name=preferredSoundModel"`

	// preferredUseVirtioTransitional requests transitional virtio devices. It is stored for compatibility and has no
	// effect on vSphere.
	// +optional
	PreferredUseVirtioTransitional *bool `json:"preferredUseVirtioTransitional,omitempty" protobuf:"varint,9,opt,name=preferredUseVirtioTransitional"`

	// preferredInputBus is the bus of input devices: virtio or usb. It is stored for compatibility and has no effect on
	// vSphere.
	// +optional
	PreferredInputBus InputBus `json:"preferredInputBus,omitempty" protobuf:"bytes,10,opt,name=preferredInputBus,casttype=InputBus"`

	// preferredInputType is the type of input devices: tablet or keyboard. It is stored for compatibility and has no
	// effect on vSphere.
	// +optional
	PreferredInputType InputType `json:"preferredInputType,omitempty" protobuf:"bytes,11,opt,name=preferredInputType,casttype=InputType"`

	// preferredDiskBus is the bus of disks that do not specify one: scsi, sata, virtio, usb, nvme, pvscsi, lsilogic,
	// lsilogicsas or ide. virtio means the paravirtual SCSI adapter. usb is stored and has no effect on vSphere.
	// +optional
	PreferredDiskBus DiskBus `json:"preferredDiskBus,omitempty" protobuf:"bytes,12,opt,name=preferredDiskBus,casttype=DiskBus"`

	// preferredLunBus is the bus of raw devices that do not specify one. It is stored for compatibility and has no
	// effect on vSphere.
	// +optional
	PreferredLunBus DiskBus `json:"preferredLunBus,omitempty" protobuf:"bytes,13,opt,name=preferredLunBus,casttype=DiskBus"`

	// preferredCdromBus is the bus of CD-ROM drives that do not specify one: sata or ide. Other values are stored and
	// have no effect on vSphere.
	// +optional
	PreferredCdromBus DiskBus `json:"preferredCdromBus,omitempty" protobuf:"bytes,14,opt,name=preferredCdromBus,casttype=DiskBus"`

	// preferredDiskDedicatedIoThread gives each virtio disk an I/O thread. It is stored for compatibility and has no
	// effect on vSphere.
	// +optional
	PreferredDiskDedicatedIoThread *bool `json:"preferredDiskDedicatedIoThread,omitempty" protobuf:"varint,15,opt,name=preferredDiskDedicatedIoThread"`

	// preferredDiskCache is the cache mode of disks: none, writethrough or writeback. It is stored for compatibility and
	// has no effect on vSphere.
	// +optional
	PreferredDiskCache DriverCache `json:"preferredDiskCache,omitempty" protobuf:"bytes,16,opt,name=preferredDiskCache,casttype=DriverCache"`

	// preferredDiskIO is the I/O mode of disks: default, native or threads. It is stored for compatibility and has no
	// effect on vSphere.
	// +optional
	PreferredDiskIO DriverIO `json:"preferredDiskIO,omitempty" protobuf:"bytes,17,opt,name=preferredDiskIO,casttype=DriverIO"`

	// preferredDiskBlockSize is the block size of disks. It is stored for compatibility and has no effect on vSphere.
	// +optional
	PreferredDiskBlockSize *BlockSize `json:"preferredDiskBlockSize,omitempty" protobuf:"bytes,18,opt,name=preferredDiskBlockSize"`

	// preferredInterfaceModel is the model of network interfaces that do not specify one: vmxnet3, e1000e, e1000, sriov,
	// or virtio, which means vmxnet3. Other models of KubeVirt are stored and have no effect on vSphere.
	// +optional
	PreferredInterfaceModel string `json:"preferredInterfaceModel,omitempty" protobuf:"bytes,19,opt,name=preferredInterfaceModel"`

	// preferredRng adds a source of random numbers. It is stored for compatibility and has no effect on vSphere.
	// +optional
	PreferredRng *Rng `json:"preferredRng,omitempty" protobuf:"bytes,20,opt,name=preferredRng"`

	// preferredBlockMultiQueue gives disks one queue per vCPU. It is stored for compatibility and has no effect on
	// vSphere.
	// +optional
	PreferredBlockMultiQueue *bool `json:"preferredBlockMultiQueue,omitempty" protobuf:"varint,21,opt,name=preferredBlockMultiQueue"`

	// preferredNetworkInterfaceMultiQueue gives network interfaces one queue per vCPU. It is stored for compatibility
	// and has no effect on vSphere.
	// +optional
	PreferredNetworkInterfaceMultiQueue *bool `json:"preferredNetworkInterfaceMultiQueue,omitempty" protobuf:"varint,22,opt,name=preferredNetworkInterfaceMultiQueue"`

	// preferredTPM configures the TPM if the virtual machine does not.
	// +optional
	PreferredTPM *TPMDevice `json:"preferredTPM,omitempty" protobuf:"bytes,23,opt,name=preferredTPM"`

	// preferredInterfaceMasquerade hides the guest behind the address of the pod. It is stored for compatibility and has
	// no effect on vSphere.
	// +optional
	PreferredInterfaceMasquerade *InterfaceMasquerade `json:"preferredInterfaceMasquerade,omitempty" protobuf:"bytes,24,opt,name=preferredInterfaceMasquerade"`

	// preferredPanicDeviceModel adds a device with which the guest reports a crash: hyperv, isa or pvpanic. It is stored
	// for compatibility and has no effect on vSphere.
	// +optional
	PreferredPanicDeviceModel *PanicDeviceModel `json:"preferredPanicDeviceModel,omitempty" protobuf:"bytes,25,opt,name=preferredPanicDeviceModel,casttype=PanicDeviceModel"`

	// preferredVideoType is the type of the video card. vSphere supports only svga. Other values are stored and cause a
	// warning.
	// +optional
	PreferredVideoType string `json:"preferredVideoType,omitempty" protobuf:"bytes,26,opt,name=preferredVideoType"`
}

// InputBus is the bus of an input device.
type InputBus string

const (
	// InputBusUSB is the USB bus.
	InputBusUSB InputBus = "usb"
	// InputBusVirtio is the virtio bus.
	InputBusVirtio InputBus = "virtio"
)

// InputType is the type of an input device.
type InputType string

const (
	// InputTypeTablet is a pointing device with absolute coordinates.
	InputTypeTablet InputType = "tablet"
	// InputTypeKeyboard is a keyboard.
	InputTypeKeyboard InputType = "keyboard"
)

// DiskBus is the bus of a disk.
type DiskBus string

const (
	// DiskBusSCSI is the SCSI bus.
	DiskBusSCSI DiskBus = "scsi"
	// DiskBusSATA is the SATA bus.
	DiskBusSATA DiskBus = "sata"
	// DiskBusVirtio is the virtio bus.
	DiskBusVirtio DiskBus = "virtio"
	// DiskBusUSB is the USB bus.
	DiskBusUSB DiskBus = "usb"
	// DiskBusNVME is the NVMe bus.
	DiskBusNVME DiskBus = "nvme"
)

// DriverCache is the cache mode of a disk.
type DriverCache string

const (
	// CacheNone passes every access to the storage.
	CacheNone DriverCache = "none"
	// CacheWriteThrough caches reads.
	CacheWriteThrough DriverCache = "writethrough"
	// CacheWriteBack caches reads and writes.
	CacheWriteBack DriverCache = "writeback"
)

// DriverIO is the I/O mode of a disk.
type DriverIO string

const (
	// IODefault lets the platform choose the mode.
	IODefault DriverIO = "default"
	// IONative uses the asynchronous I/O of the kernel.
	IONative DriverIO = "native"
	// IOThreads uses threads.
	IOThreads DriverIO = "threads"
)

// PanicDeviceModel is the model of the device with which a guest reports a crash.
type PanicDeviceModel string

const (
	// PanicDeviceModelHyperv reports through Hyper-V registers.
	PanicDeviceModelHyperv PanicDeviceModel = "hyperv"
	// PanicDeviceModelISA reports through an ISA device.
	PanicDeviceModelISA PanicDeviceModel = "isa"
	// PanicDeviceModelPvpanic reports through a PCI device.
	PanicDeviceModelPvpanic PanicDeviceModel = "pvpanic"
)

// BlockSize is the block size of a disk. At most one field can be set.
type BlockSize struct {
	// custom defines the sizes.
	// +optional
	Custom *CustomBlockSize `json:"custom,omitempty" protobuf:"bytes,1,opt,name=custom"`

	// matchVolume uses the block sizes of the volume.
	// +optional
	MatchVolume *FeatureState `json:"matchVolume,omitempty" protobuf:"bytes,2,opt,name=matchVolume"`
}

// CustomBlockSize are block sizes in bytes.
type CustomBlockSize struct {
	// logical is the smallest unit of access in bytes. Allowed: 512 to 2097152 (2 MiB).
	// +required
	Logical int64 `json:"logical" protobuf:"varint,1,opt,name=logical"`

	// physical is the block size of the storage in bytes. It must not be less than logical.
	// +required
	Physical int64 `json:"physical" protobuf:"varint,2,opt,name=physical"`

	// discardGranularity is the unit of discard operations in bytes. It must be a multiple of logical.
	// +optional
	DiscardGranularity *int64 `json:"discardGranularity,omitempty" protobuf:"varint,3,opt,name=discardGranularity"`
}

// Rng is a source of random numbers. It has no settings.
type Rng struct{}

// TPMDevice is a Trusted Platform Module.
type TPMDevice struct {
	// enabled defines whether the virtual machine has a TPM. Defaults, when used, to true.
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`

	// persistent preserves the TPM state across power cycles. vSphere always does this.
	// +optional
	Persistent *bool `json:"persistent,omitempty" protobuf:"varint,2,opt,name=persistent"`
}

// InterfaceMasquerade hides a guest behind the address of the pod. It has no
// settings.
type InterfaceMasquerade struct{}
