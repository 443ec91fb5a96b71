// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// LatencySensitivity is vSphere's latency sensitivity level.
type LatencySensitivity string

const (
	// LatencySensitivityNormal is vSphere's default scheduling.
	LatencySensitivityNormal LatencySensitivity = "Normal"
	// LatencySensitivityHigh gives each vCPU exclusive access to a core; it
	// needs full CPU and memory reservations.
	LatencySensitivityHigh LatencySensitivity = "High"
)

// SharesLevel is vSphere's level of relative weight under contention.
type SharesLevel string

const (
	// SharesLow is half of normal.
	SharesLow SharesLevel = "Low"
	// SharesNormal is the default.
	SharesNormal SharesLevel = "Normal"
	// SharesHigh is twice normal.
	SharesHigh SharesLevel = "High"
	// SharesCustom uses the number given.
	SharesCustom SharesLevel = "Custom"
)

// Shares is the relative weight of a virtual machine under contention.
type Shares struct {
	// Level is Low, Normal, High or Custom.
	Level SharesLevel
	// Shares is the number of shares; required when level is Custom, otherwise
	// not allowed. Range 1 to 1000000.
	Shares *int32
}

// VirtualMachineCPU describes the virtual CPUs. The number of vCPUs is
// sockets × cores × threads, each taken as 1 when unset.
type VirtualMachineCPU struct {
	// Sockets is the number of virtual sockets.
	Sockets int32
	// Cores is the number of cores per socket.
	Cores int32
	// Threads is the number of threads per core.
	Threads int32
	// MaxSockets is the ceiling to which sockets can be added to a running VM.
	MaxSockets *int32
	// HotAddEnabled lets vCPUs be added to a running VM. It is set while the VM
	// is powered off. Defaults, in the effective spec, to true when maxSockets
	// exceeds sockets.
	HotAddEnabled *bool
	// Model asks for a CPU model. It has no meaning on vSphere, where EVC
	// decides, and is kept with a warning.
	Model string
	// DedicatedCPUPlacement reserves all CPU cycles and sets high latency sensitivity.
	DedicatedCPUPlacement *bool
	// LatencySensitivity is Normal or High.
	LatencySensitivity LatencySensitivity
	// ExposeVNUMA keeps the vNUMA topology visible to the guest.
	ExposeVNUMA *bool
	// Reservation is the guaranteed CPU in hertz, for example 2G for 2 GHz;
	// whole megahertz.
	Reservation *resource.Quantity
	// Limit is the most CPU in hertz; whole megahertz.
	Limit *resource.Quantity
	// Shares is the weight under contention.
	Shares *Shares
}

// VirtualMachineMemory describes the memory.
type VirtualMachineMemory struct {
	// Guest is the memory that the guest sees; a multiple of 4Mi.
	Guest *resource.Quantity
	// MaxGuest is the ceiling to which memory can be added to a running VM.
	MaxGuest *resource.Quantity
	// HotAddEnabled lets memory be added to a running VM. It is set while the
	// VM is powered off. Defaults, in the effective spec, to true when maxGuest
	// exceeds guest.
	HotAddEnabled *bool
	// HugePageSize backs the guest with large pages: 2Mi or 1Gi. 1Gi needs a
	// full memory reservation.
	HugePageSize string
	// Reservation is the guaranteed memory; whole mebibytes.
	Reservation *resource.Quantity
	// Limit is the most memory; whole mebibytes.
	Limit *resource.Quantity
	// Shares is the weight under contention.
	Shares *Shares
}

// Bootloader is the firmware that starts the guest.
type Bootloader string

const (
	// BootloaderBIOS is legacy BIOS.
	BootloaderBIOS Bootloader = "BIOS"
	// BootloaderEFI is UEFI.
	BootloaderEFI Bootloader = "EFI"
)

// VirtualMachineFirmware configures the firmware.
type VirtualMachineFirmware struct {
	// Bootloader is BIOS or EFI. The image decides when unset.
	Bootloader Bootloader
	// SecureBoot turns UEFI secure boot on; needs EFI.
	SecureBoot *bool
	// UUID is the BIOS UUID. The server fills it at creation. Immutable once set.
	UUID string
}

// VirtualMachineDevices lists devices besides disks and network interfaces.
type VirtualMachineDevices struct {
	// GPUs are the vGPU profiles or pass-through GPUs.
	GPUs []VirtualMachineDevice
	// HostDevices are the pass-through PCI devices (Dynamic DirectPath I/O).
	HostDevices []VirtualMachineDevice
	// TPM is the virtual trusted platform module; needs EFI.
	TPM *VirtualMachineTPM
	// Video configures the video card.
	Video *VirtualMachineVideo
	// DisableHotplug turns hot-add of devices off.
	DisableHotplug *bool
	// AutoattachGraphicsDevice adds the video card. Unset, it is added.
	AutoattachGraphicsDevice *bool
	// AutoattachSerialConsole adds a serial port.
	AutoattachSerialConsole *bool
}

// VirtualMachineDevice is a device of the host given to the virtual machine.
type VirtualMachineDevice struct {
	// Name of the device in this list.
	Name string
	// DeviceName is the vGPU profile, for example grid_a100-10c, or
	// vendor:device in hexadecimal.
	DeviceName string
}

// VirtualMachineTPM configures the virtual TPM.
type VirtualMachineTPM struct {
	// Enabled adds the device. Unset, it is added.
	Enabled *bool
	// Persistent keeps its state over power cycles; on vSphere it always does.
	Persistent *bool
}

// VirtualMachineVideo configures the video card.
type VirtualMachineVideo struct {
	// Type of the video card; vSphere has one (svga), other values are kept
	// with a warning.
	Type string
}
