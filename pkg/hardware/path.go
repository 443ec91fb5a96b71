// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import "strings"

// Paths of the fields, as in the effective spec.
const (
	// CPUSockets is the number of virtual sockets.
	CPUSockets = "cpu.sockets"
	// CPUCores is the number of cores per socket; on vSphere a thread counts as one.
	CPUCores = "cpu.cores"
	// CPUThreads is the number of threads per core.
	CPUThreads = "cpu.threads"
	// CPUMaxSockets is the ceiling of CPUSockets, which vSphere does not have.
	CPUMaxSockets = "cpu.maxSockets"
	// CPUHotAdd tells whether a running virtual machine takes more vCPUs.
	CPUHotAdd = "cpu.hotAddEnabled"
	// CPUDedicated asks for CPULatency high and a reservation of whole cores.
	CPUDedicated = "cpu.dedicatedCPUPlacement"
	// CPULatency is the latency sensitivity.
	CPULatency = "cpu.latencySensitivity"
	// CPUExposeVNUMA excludes CPUHotAdd, and takes effect by it.
	CPUExposeVNUMA = "cpu.exposeVNUMA"
	// CPUReservation is what is guaranteed, in hertz.
	CPUReservation = "cpu.reservation"
	// CPULimit is the most, in hertz.
	CPULimit = "cpu.limit"
	// CPUShares is the weight under contention.
	CPUShares = "cpu.shares"

	// MemoryGuest is what the guest sees, in bytes.
	MemoryGuest = "memory.guest"
	// MemoryMaxGuest is the ceiling of MemoryGuest, which vSphere does not have.
	MemoryMaxGuest = "memory.maxGuest"
	// MemoryHotAdd tells whether a running virtual machine takes more memory.
	MemoryHotAdd = "memory.hotAddEnabled"
	// MemoryHugePages is the size of the pages behind the guest's memory.
	MemoryHugePages = "memory.hugePageSize"
	// MemoryReservation is what is guaranteed, in bytes.
	MemoryReservation = "memory.reservation"
	// MemoryLocked tells whether all memory is reserved whatever its size; it follows
	// from other fields.
	MemoryLocked = "memory.reservationLocked"
	// MemoryLimit is the most, in bytes.
	MemoryLimit = "memory.limit"
	// MemoryShares is the weight under contention.
	MemoryShares = "memory.shares"

	// Bootloader starts the guest.
	Bootloader = "firmware.bootloader"
	// SecureBoot lets only signed code boot.
	SecureBoot = "firmware.secureBoot"
	// BIOSUUID is what the guest reads as the identity of the hardware.
	BIOSUUID = "firmware.uuid"
	// HardwareVersion is the least virtual hardware version.
	HardwareVersion = "minHardwareVersion"
	// GuestID is the guest operating system.
	GuestID = "guestID"

	// StorageClass says by which storage policy the files of a virtual machine are kept,
	// but for those of disks that name a class of their own.
	StorageClass = "storageClass"
	// BootDiskSize is the capacity of the disk that the image boots from, in bytes.
	BootDiskSize = "bootDisk.size"
	// BootDiskStorageClass is the class of that disk.
	BootDiskStorageClass = "bootDisk.storageClass"
	// BootOrder is what the firmware tries to boot from.
	BootOrder = "bootOrder"

	// Interfaces are the network adapters that belong to no interface; Interface is that
	// of one.
	Interfaces = "network.interfaces"

	// GPUs are the vGPUs and passed-through GPUs.
	GPUs = "devices.gpus"
	// HostDevices are other passed-through devices.
	HostDevices = "devices.hostDevices"
	// TPM is the virtual TPM.
	TPM = "devices.tpm"
	// VideoType is the kind of video card, of which vSphere has one.
	VideoType = "devices.video.type"
	// DisableHotplug keeps devices from being plugged.
	DisableHotplug = "devices.disableHotplug"
	// GraphicsDevice is the video card, which is there unless it is turned off.
	GraphicsDevice = "devices.autoattachGraphicsDevice"
	// SerialConsole is a serial port.
	SerialConsole = "devices.autoattachSerialConsole"

	// NodeSelector restricts the host, which vSphere chooses all the same.
	NodeSelector = "nodeSelector"
	// Annotations are those of instance type and preference.
	Annotations = "annotations"
	// TerminationGracePeriod bounds a soft power off, in seconds.
	TerminationGracePeriod = "terminationGracePeriodSeconds"
)

const (
	volumesPrefix    = "volumes["
	interfacesPrefix = Interfaces + "["
)

// Volume is the path of the volume called name.
func Volume(name string) string { return volumesPrefix + name + "]" }

// volumeOf is the name of the volume that a path is about.
func volumeOf(path string) (name string, ok bool) {
	name, ok = strings.CutPrefix(path, volumesPrefix)
	return strings.TrimSuffix(name, "]"), ok
}

// Interface is the path of the network adapter of the interface called name.
func Interface(name string) string { return interfacesPrefix + name + "]" }
