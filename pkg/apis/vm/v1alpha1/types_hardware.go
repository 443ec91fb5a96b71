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
	// level is Low, Normal, High or Custom.
	// +required
	Level SharesLevel `json:"level" protobuf:"bytes,1,opt,name=level,casttype=SharesLevel"`
	// shares is the number of shares; required when level is Custom, otherwise
	// not allowed. Range 1 to 1000000.
	// +optional
	Shares *int32 `json:"shares,omitempty" protobuf:"varint,2,opt,name=shares"`
}

// VirtualMachineCPU describes the virtual CPUs. The number of vCPUs is
// sockets × cores × threads, each taken as 1 when unset.
type VirtualMachineCPU struct {
	// sockets is the number of virtual sockets.
	// +optional
	Sockets int32 `json:"sockets,omitempty" protobuf:"varint,1,opt,name=sockets"`
	// cores is the number of cores per socket.
	// +optional
	Cores int32 `json:"cores,omitempty" protobuf:"varint,2,opt,name=cores"`
	// threads is the number of threads per core.
	// +optional
	Threads int32 `json:"threads,omitempty" protobuf:"varint,3,opt,name=threads"`
	// maxSockets is the ceiling to which sockets can be added to a running VM.
	// +optional
	MaxSockets *int32 `json:"maxSockets,omitempty" protobuf:"varint,4,opt,name=maxSockets"`
	// hotAddEnabled lets vCPUs be added to a running VM. It is set while the VM
	// is powered off. Defaults, in the effective spec, to true when maxSockets
	// exceeds sockets.
	// +optional
	HotAddEnabled *bool `json:"hotAddEnabled,omitempty" protobuf:"varint,5,opt,name=hotAddEnabled"`
	// model asks for a CPU model. It has no meaning on vSphere, where EVC
	// decides, and is kept with a warning.
	// +optional
	Model string `json:"model,omitempty" protobuf:"bytes,6,opt,name=model"`
	// dedicatedCPUPlacement reserves all CPU cycles and sets high latency sensitivity.
	// +optional
	DedicatedCPUPlacement *bool `json:"dedicatedCPUPlacement,omitempty" protobuf:"varint,7,opt,name=dedicatedCPUPlacement"`
	// latencySensitivity is Normal or High.
	// +optional
	LatencySensitivity LatencySensitivity `json:"latencySensitivity,omitempty" protobuf:"bytes,8,opt,name=latencySensitivity,casttype=LatencySensitivity"`
	// exposeVNUMA keeps the vNUMA topology visible to the guest.
	// +optional
	ExposeVNUMA *bool `json:"exposeVNUMA,omitempty" protobuf:"varint,9,opt,name=exposeVNUMA"`
	// reservation is the guaranteed CPU in hertz, for example 2G for 2 GHz;
	// whole megahertz.
	// +optional
	Reservation *resource.Quantity `json:"reservation,omitempty" protobuf:"bytes,10,opt,name=reservation"`
	// limit is the most CPU in hertz; whole megahertz.
	// +optional
	Limit *resource.Quantity `json:"limit,omitempty" protobuf:"bytes,11,opt,name=limit"`
	// shares is the weight under contention.
	// +optional
	Shares *Shares `json:"shares,omitempty" protobuf:"bytes,12,opt,name=shares"`
}

// VirtualMachineMemory describes the memory.
type VirtualMachineMemory struct {
	// guest is the memory that the guest sees; a multiple of 4Mi.
	// +optional
	Guest *resource.Quantity `json:"guest,omitempty" protobuf:"bytes,1,opt,name=guest"`
	// maxGuest is the ceiling to which memory can be added to a running VM.
	// +optional
	MaxGuest *resource.Quantity `json:"maxGuest,omitempty" protobuf:"bytes,2,opt,name=maxGuest"`
	// hotAddEnabled lets memory be added to a running VM. It is set while the
	// VM is powered off. Defaults, in the effective spec, to true when maxGuest
	// exceeds guest.
	// +optional
	HotAddEnabled *bool `json:"hotAddEnabled,omitempty" protobuf:"varint,3,opt,name=hotAddEnabled"`
	// hugePageSize backs the guest with large pages: 2Mi or 1Gi. 1Gi needs a
	// full memory reservation.
	// +optional
	HugePageSize string `json:"hugePageSize,omitempty" protobuf:"bytes,4,opt,name=hugePageSize"`
	// reservation is the guaranteed memory; whole mebibytes.
	// +optional
	Reservation *resource.Quantity `json:"reservation,omitempty" protobuf:"bytes,5,opt,name=reservation"`
	// limit is the most memory; whole mebibytes.
	// +optional
	Limit *resource.Quantity `json:"limit,omitempty" protobuf:"bytes,6,opt,name=limit"`
	// shares is the weight under contention.
	// +optional
	Shares *Shares `json:"shares,omitempty" protobuf:"bytes,7,opt,name=shares"`
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
	// bootloader is BIOS or EFI. The image decides when unset.
	// +optional
	Bootloader Bootloader `json:"bootloader,omitempty" protobuf:"bytes,1,opt,name=bootloader,casttype=Bootloader"`
	// secureBoot turns UEFI secure boot on; needs EFI.
	// +optional
	SecureBoot *bool `json:"secureBoot,omitempty" protobuf:"varint,2,opt,name=secureBoot"`
	// uuid is the BIOS UUID. The server fills it at creation. Immutable once set.
	// +optional
	UUID string `json:"uuid,omitempty" protobuf:"bytes,3,opt,name=uuid"`
}

// VirtualMachineDevices lists devices besides disks and network interfaces.
type VirtualMachineDevices struct {
	// gpus are the vGPU profiles or pass-through GPUs.
	// +optional
	// +listType=atomic
	GPUs []VirtualMachineDevice `json:"gpus,omitempty" protobuf:"bytes,1,rep,name=gpus"`
	// hostDevices are the pass-through PCI devices (Dynamic DirectPath I/O).
	// +optional
	// +listType=atomic
	HostDevices []VirtualMachineDevice `json:"hostDevices,omitempty" protobuf:"bytes,2,rep,name=hostDevices"`
	// tpm is the virtual trusted platform module; needs EFI.
	// +optional
	TPM *VirtualMachineTPM `json:"tpm,omitempty" protobuf:"bytes,3,opt,name=tpm"`
	// video configures the video card.
	// +optional
	Video *VirtualMachineVideo `json:"video,omitempty" protobuf:"bytes,4,opt,name=video"`
	// disableHotplug turns hot-add of devices off.
	// +optional
	DisableHotplug *bool `json:"disableHotplug,omitempty" protobuf:"varint,5,opt,name=disableHotplug"`
	// autoattachGraphicsDevice adds the video card. Unset, it is added.
	// +optional
	AutoattachGraphicsDevice *bool `json:"autoattachGraphicsDevice,omitempty" protobuf:"varint,6,opt,name=autoattachGraphicsDevice"`
	// autoattachSerialConsole adds a serial port.
	// +optional
	AutoattachSerialConsole *bool `json:"autoattachSerialConsole,omitempty" protobuf:"varint,7,opt,name=autoattachSerialConsole"`
}

// VirtualMachineDevice is a device of the host given to the virtual machine.
type VirtualMachineDevice struct {
	// name of the device in this list.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// deviceName is the vGPU profile, for example grid_a100-10c, or
	// vendor:device in hexadecimal.
	// +required
	DeviceName string `json:"deviceName" protobuf:"bytes,2,opt,name=deviceName"`
}

// VirtualMachineTPM configures the virtual TPM.
type VirtualMachineTPM struct {
	// enabled adds the device. Unset, it is added.
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`
	// persistent keeps its state over power cycles; on vSphere it always does.
	// +optional
	Persistent *bool `json:"persistent,omitempty" protobuf:"varint,2,opt,name=persistent"`
}

// VirtualMachineVideo configures the video card.
type VirtualMachineVideo struct {
	// type of the video card; vSphere has one (svga), other values are kept
	// with a warning.
	// +optional
	Type string `json:"type,omitempty" protobuf:"bytes,1,opt,name=type"`
}
