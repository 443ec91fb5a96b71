// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

// DevicePreferences are the preferred virtual devices.
type DevicePreferences struct {
	// preferredAutoattachGraphicsDevice is whether a graphics device is added.
	PreferredAutoattachGraphicsDevice *bool

	// preferredAutoattachMemBalloon is whether memory can be reclaimed by a
	// balloon driver.
	PreferredAutoattachMemBalloon *bool

	// preferredAutoattachPodInterface is whether a network interface is added
	// when the virtual machine names none.
	PreferredAutoattachPodInterface *bool

	// preferredAutoattachSerialConsole is whether a serial console is added.
	PreferredAutoattachSerialConsole *bool

	// preferredAutoattachInputDevice is whether an input device is added.
	PreferredAutoattachInputDevice *bool

	// preferredDisableHotplug is whether adding devices at run time is off.
	PreferredDisableHotplug *bool

	// preferredVirtualGPUOptions are settings of shared GPUs.
	PreferredVirtualGPUOptions *VGPUOptions

	// preferredSoundModel is the model of a sound device, for example ich9.
	PreferredSoundModel string

	// preferredUseVirtioTransitional asks for virtio devices of the older kind.
	// It is stored for compatibility and has no meaning on vSphere.
	PreferredUseVirtioTransitional *bool

	// preferredInputBus is the bus of input devices: virtio or usb.
	PreferredInputBus InputBus

	// preferredInputType is the type of input devices: tablet or keyboard.
	PreferredInputType InputType

	// preferredDiskBus is the bus of disks that name none: scsi, sata, virtio,
	// usb, and here also nvme. virtio stands for the paravirtual SCSI adapter.
	PreferredDiskBus DiskBus

	// preferredLunBus is the bus of raw devices that name none.
	PreferredLunBus DiskBus

	// preferredCdromBus is the bus of CD-ROM drives that name none.
	PreferredCdromBus DiskBus

	// preferredDiskDedicatedIoThread gives each virtio disk an I/O thread. It is
	// stored for compatibility and has no meaning on vSphere.
	PreferredDiskDedicatedIoThread *bool

	// preferredDiskCache is the cache mode of disks: none, writethrough or
	// writeback. It is stored for compatibility and has no meaning on vSphere.
	PreferredDiskCache DriverCache

	// preferredDiskIO is the I/O mode of disks: default, native or threads. It is
	// stored for compatibility and has no meaning on vSphere.
	PreferredDiskIO DriverIO

	// preferredDiskBlockSize is the block size of disks. It is stored for
	// compatibility and has no meaning on vSphere.
	PreferredDiskBlockSize *BlockSize

	// preferredInterfaceModel is the model of network interfaces that name none:
	// vmxnet3, e1000e or e1000. virtio stands for vmxnet3.
	PreferredInterfaceModel string

	// preferredRng adds a source of random numbers.
	PreferredRng *Rng

	// preferredBlockMultiQueue gives disks a queue per vCPU.
	PreferredBlockMultiQueue *bool

	// preferredNetworkInterfaceMultiQueue gives network interfaces a queue per
	// vCPU.
	PreferredNetworkInterfaceMultiQueue *bool

	// preferredTPM adds a TPM where the virtual machine says nothing about it.
	PreferredTPM *TPMDevice

	// preferredInterfaceMasquerade hides the guest behind the address of the
	// pod. It is stored for compatibility and has no meaning on vSphere.
	PreferredInterfaceMasquerade *InterfaceMasquerade

	// preferredPanicDeviceModel adds a device by which the guest reports a crash:
	// hyperv, isa or pvpanic. It is stored for compatibility and has no meaning
	// on vSphere.
	PreferredPanicDeviceModel *PanicDeviceModel

	// preferredVideoType is the type of the graphics device, for example vga.
	PreferredVideoType string
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
	// InputTypeTablet is a pointer with absolute positions.
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
	// IODefault leaves the mode to the platform.
	IODefault DriverIO = "default"
	// IONative uses the asynchronous I/O of the kernel.
	IONative DriverIO = "native"
	// IOThreads uses threads.
	IOThreads DriverIO = "threads"
)

// PanicDeviceModel is the model of the device by which a guest reports a crash.
type PanicDeviceModel string

const (
	// PanicDeviceModelHyperv reports through Hyper-V registers.
	PanicDeviceModelHyperv PanicDeviceModel = "hyperv"
	// PanicDeviceModelISA reports through an ISA device.
	PanicDeviceModelISA PanicDeviceModel = "isa"
	// PanicDeviceModelPvpanic reports through a PCI device.
	PanicDeviceModelPvpanic PanicDeviceModel = "pvpanic"
)

// BlockSize is the block size of a disk. At most one of its fields may be set.
type BlockSize struct {
	// custom gives the sizes.
	Custom *CustomBlockSize

	// matchVolume takes the sizes from the volume.
	MatchVolume *FeatureState
}

// CustomBlockSize are block sizes in bytes.
type CustomBlockSize struct {
	// logical is the smallest unit of access in bytes, from 512 to 2 MiB.
	Logical int64

	// physical is the unit of the storage in bytes, at least logical.
	Physical int64

	// discardGranularity is the unit of discarding in bytes, a multiple of
	// logical.
	DiscardGranularity *int64
}

// Rng is a source of random numbers. It has no settings.
type Rng struct{}

// TPMDevice is a Trusted Platform Module.
type TPMDevice struct {
	// enabled is whether the virtual machine has a TPM. Unset stands for true.
	Enabled *bool

	// persistent keeps the state when the virtual machine is powered off, as
	// vSphere always does.
	Persistent *bool
}

// InterfaceMasquerade hides a guest behind the address of the pod. It has no
// settings.
type InterfaceMasquerade struct{}
