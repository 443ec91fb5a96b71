// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// LatencySensitivity is vSphere's latency sensitivity level.
// +enum
type LatencySensitivity string

const (
	// LatencySensitivityNormal is vSphere's default scheduling.
	LatencySensitivityNormal LatencySensitivity = "Normal"
	// LatencySensitivityHigh gives each vCPU exclusive access to a core; it
	// needs full CPU and memory reservations.
	LatencySensitivityHigh LatencySensitivity = "High"
)

// SharesLevel is vSphere's level of relative weight under contention.
// +enum
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
	Level SharesLevel `json:"level"`
	// Shares is the number of shares; required when level is Custom, otherwise
	// not allowed. Range 1 to 1000000.
	// +optional
	Shares *int32 `json:"shares,omitempty"`
}

// VirtualMachineCPU describes the virtual CPUs. The number of vCPUs is
// sockets × cores × threads, each taken as 1 when unset.
type VirtualMachineCPU struct {
	// Sockets is the number of virtual sockets.
	// +optional
	Sockets int32 `json:"sockets,omitempty"`
	// Cores is the number of cores per socket.
	// +optional
	Cores int32 `json:"cores,omitempty"`
	// Threads is the number of threads per core.
	// +optional
	Threads int32 `json:"threads,omitempty"`
	// MaxSockets is the ceiling to which sockets can be added to a running VM.
	// +optional
	MaxSockets *int32 `json:"maxSockets,omitempty"`
	// HotAddEnabled lets vCPUs be added to a running VM. It is set while the VM
	// is powered off. Defaults, in the effective spec, to true when maxSockets
	// exceeds sockets.
	// +optional
	HotAddEnabled *bool `json:"hotAddEnabled,omitempty"`
	// Model asks for a CPU model. It has no meaning on vSphere, where EVC
	// decides, and is kept with a warning.
	// +optional
	Model string `json:"model,omitempty"`
	// DedicatedCPUPlacement reserves all CPU cycles and sets high latency sensitivity.
	// +optional
	DedicatedCPUPlacement *bool `json:"dedicatedCPUPlacement,omitempty"`
	// LatencySensitivity is Normal or High.
	// +optional
	LatencySensitivity LatencySensitivity `json:"latencySensitivity,omitempty"`
	// ExposeVNUMA keeps the vNUMA topology visible to the guest.
	// +optional
	ExposeVNUMA *bool `json:"exposeVNUMA,omitempty"`
	// Reservation is the guaranteed CPU in hertz, for example 2G for 2 GHz;
	// whole megahertz.
	// +optional
	Reservation *resource.Quantity `json:"reservation,omitempty"`
	// Limit is the most CPU in hertz; whole megahertz.
	// +optional
	Limit *resource.Quantity `json:"limit,omitempty"`
	// Shares is the weight under contention.
	// +optional
	Shares *Shares `json:"shares,omitempty"`
}

// VirtualMachineMemory describes the memory.
type VirtualMachineMemory struct {
	// Guest is the memory that the guest sees; a multiple of 4Mi.
	// +optional
	Guest *resource.Quantity `json:"guest,omitempty"`
	// MaxGuest is the ceiling to which memory can be added to a running VM.
	// +optional
	MaxGuest *resource.Quantity `json:"maxGuest,omitempty"`
	// HotAddEnabled lets memory be added to a running VM. It is set while the
	// VM is powered off. Defaults, in the effective spec, to true when maxGuest
	// exceeds guest.
	// +optional
	HotAddEnabled *bool `json:"hotAddEnabled,omitempty"`
	// HugePageSize backs the guest with large pages: 2Mi or 1Gi. 1Gi needs a
	// full memory reservation.
	// +optional
	HugePageSize string `json:"hugePageSize,omitempty"`
	// Reservation is the guaranteed memory; whole mebibytes.
	// +optional
	Reservation *resource.Quantity `json:"reservation,omitempty"`
	// Limit is the most memory; whole mebibytes.
	// +optional
	Limit *resource.Quantity `json:"limit,omitempty"`
	// Shares is the weight under contention.
	// +optional
	Shares *Shares `json:"shares,omitempty"`
}

// Bootloader is the firmware that starts the guest.
// +enum
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
	// +optional
	Bootloader Bootloader `json:"bootloader,omitempty"`
	// SecureBoot turns UEFI secure boot on; needs EFI.
	// +optional
	SecureBoot *bool `json:"secureBoot,omitempty"`
	// UUID is the BIOS UUID. The server fills it at creation. Immutable once set.
	// +optional
	UUID string `json:"uuid,omitempty"`
}

// VirtualMachineDevices lists devices besides disks and network interfaces.
type VirtualMachineDevices struct {
	// GPUs are the vGPU profiles or pass-through GPUs.
	// +optional
	// +listType=atomic
	GPUs []VirtualMachineDevice `json:"gpus,omitempty"`
	// HostDevices are the pass-through PCI devices (Dynamic DirectPath I/O).
	// +optional
	// +listType=atomic
	HostDevices []VirtualMachineDevice `json:"hostDevices,omitempty"`
	// TPM is the virtual trusted platform module; needs EFI.
	// +optional
	TPM *VirtualMachineTPM `json:"tpm,omitempty"`
	// Video configures the video card.
	// +optional
	Video *VirtualMachineVideo `json:"video,omitempty"`
	// DisableHotplug turns hot-add of devices off.
	// +optional
	DisableHotplug *bool `json:"disableHotplug,omitempty"`
	// AutoattachGraphicsDevice adds the video card. Unset, it is added.
	// +optional
	AutoattachGraphicsDevice *bool `json:"autoattachGraphicsDevice,omitempty"`
	// AutoattachSerialConsole adds a serial port.
	// +optional
	AutoattachSerialConsole *bool `json:"autoattachSerialConsole,omitempty"`
}

// VirtualMachineDevice is a device of the host given to the virtual machine.
type VirtualMachineDevice struct {
	// Name of the device in this list.
	Name string `json:"name"`
	// DeviceName is the vGPU profile, for example grid_a100-10c, or
	// vendor:device in hexadecimal.
	DeviceName string `json:"deviceName"`
}

// VirtualMachineTPM configures the virtual TPM.
type VirtualMachineTPM struct {
	// Enabled adds the device. Unset, it is added.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Persistent keeps its state over power cycles; on vSphere it always does.
	// +optional
	Persistent *bool `json:"persistent,omitempty"`
}

// VirtualMachineVideo configures the video card.
type VirtualMachineVideo struct {
	// Type of the video card; vSphere has one (svga), other values are kept
	// with a warning.
	// +optional
	Type string `json:"type,omitempty"`
}
