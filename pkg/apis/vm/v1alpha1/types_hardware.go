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
	// LatencySensitivityHigh gives each vCPU exclusive access to a physical core. It requires full CPU and memory
	// reservations.
	LatencySensitivityHigh LatencySensitivity = "High"
)

// SharesLevel is vSphere's level of relative weight under contention.
// +enum
type SharesLevel string

const (
	// SharesLow is half the number of shares of Normal.
	SharesLow SharesLevel = "Low"
	// SharesNormal is the default.
	SharesNormal SharesLevel = "Normal"
	// SharesHigh is twice the number of shares of Normal.
	SharesHigh SharesLevel = "High"
	// SharesCustom uses the given number of shares.
	SharesCustom SharesLevel = "Custom"
)

// Shares is the relative weight of a virtual machine under contention.
type Shares struct {
	// level is Low, Normal, High or Custom.
	// +required
	Level SharesLevel `json:"level" protobuf:"bytes,1,opt,name=level,casttype=SharesLevel"`
	// shares is the number of shares. Allowed: 1 to 1000000. Required if level is Custom, otherwise not allowed.
	// +optional
	Shares *int32 `json:"shares,omitempty" protobuf:"varint,2,opt,name=shares"`
}

// VirtualMachineCPU describes the virtual CPUs. The number of vCPUs is sockets × cores × threads. Each counts as 1 if
// unset.
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
	// maxSockets is the maximum number of sockets that hot-add can reach on a running VM.
	// +optional
	MaxSockets *int32 `json:"maxSockets,omitempty" protobuf:"varint,4,opt,name=maxSockets"`
	// hotAddEnabled allows adding vCPUs to a running VM. A change takes effect while the VM is powered off. Defaults, in
	// the effective spec, to true if maxSockets is greater than sockets.
	// +optional
	HotAddEnabled *bool `json:"hotAddEnabled,omitempty" protobuf:"varint,5,opt,name=hotAddEnabled"`
	// model requests a CPU model. vSphere ignores it, because EVC determines the CPU model. The value is stored and
	// causes a warning.
	// +optional
	Model string `json:"model,omitempty" protobuf:"bytes,6,opt,name=model"`
	// dedicatedCPUPlacement reserves all CPU cycles and sets high latency sensitivity.
	// +optional
	DedicatedCPUPlacement *bool `json:"dedicatedCPUPlacement,omitempty" protobuf:"varint,7,opt,name=dedicatedCPUPlacement"`
	// latencySensitivity is Normal or High.
	// +optional
	LatencySensitivity LatencySensitivity `json:"latencySensitivity,omitempty" protobuf:"bytes,8,opt,name=latencySensitivity,casttype=LatencySensitivity"`
	// exposeVNUMA makes the vNUMA topology visible to the guest.
	// +optional
	ExposeVNUMA *bool `json:"exposeVNUMA,omitempty" protobuf:"varint,9,opt,name=exposeVNUMA"`
	// reservation is the guaranteed CPU in hertz, for example 2G for 2 GHz. Must be whole megahertz.
	// +optional
	Reservation *resource.Quantity `json:"reservation,omitempty" protobuf:"bytes,10,opt,name=reservation"`
	// limit is the maximum CPU in hertz. Must be whole megahertz.
	// +optional
	Limit *resource.Quantity `json:"limit,omitempty" protobuf:"bytes,11,opt,name=limit"`
	// shares is the relative weight under contention.
	// +optional
	Shares *Shares `json:"shares,omitempty" protobuf:"bytes,12,opt,name=shares"`
}

// VirtualMachineMemory describes the memory.
type VirtualMachineMemory struct {
	// guest is the amount of memory that the guest sees. Must be a multiple of 4Mi.
	// +optional
	Guest *resource.Quantity `json:"guest,omitempty" protobuf:"bytes,1,opt,name=guest"`
	// maxGuest is the maximum memory that hot-add can reach on a running VM.
	// +optional
	MaxGuest *resource.Quantity `json:"maxGuest,omitempty" protobuf:"bytes,2,opt,name=maxGuest"`
	// hotAddEnabled allows adding memory to a running VM. A change takes effect while the VM is powered off. Defaults,
	// in the effective spec, to true if maxGuest is greater than guest.
	// +optional
	HotAddEnabled *bool `json:"hotAddEnabled,omitempty" protobuf:"varint,3,opt,name=hotAddEnabled"`
	// hugePageSize backs the guest memory with large pages. Allowed: 2Mi, 1Gi. 1Gi requires a full memory reservation.
	// +optional
	HugePageSize string `json:"hugePageSize,omitempty" protobuf:"bytes,4,opt,name=hugePageSize"`
	// reservation is the guaranteed memory. Must be whole mebibytes.
	// +optional
	Reservation *resource.Quantity `json:"reservation,omitempty" protobuf:"bytes,5,opt,name=reservation"`
	// limit is the maximum host memory. Must be whole mebibytes.
	// +optional
	Limit *resource.Quantity `json:"limit,omitempty" protobuf:"bytes,6,opt,name=limit"`
	// shares is the relative weight under contention.
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
	// bootloader is BIOS or EFI. If unset, the image decides.
	// +optional
	Bootloader Bootloader `json:"bootloader,omitempty" protobuf:"bytes,1,opt,name=bootloader,casttype=Bootloader"`
	// secureBoot enables UEFI secure boot. Requires EFI.
	// +optional
	SecureBoot *bool `json:"secureBoot,omitempty" protobuf:"varint,2,opt,name=secureBoot"`
	// uuid is the BIOS UUID. The server sets it at creation if unset. Immutable once set.
	// +optional
	UUID string `json:"uuid,omitempty" protobuf:"bytes,3,opt,name=uuid"`
}

// VirtualMachineDevices lists the devices other than disks and network interfaces.
type VirtualMachineDevices struct {
	// gpus are the vGPU profiles and pass-through GPUs.
	// +optional
	// +listType=atomic
	GPUs []VirtualMachineDevice `json:"gpus,omitempty" protobuf:"bytes,1,rep,name=gpus"`
	// hostDevices are the pass-through PCI devices (Dynamic DirectPath I/O).
	// +optional
	// +listType=atomic
	HostDevices []VirtualMachineDevice `json:"hostDevices,omitempty" protobuf:"bytes,2,rep,name=hostDevices"`
	// tpm is the virtual trusted platform module. Requires EFI.
	// +optional
	TPM *VirtualMachineTPM `json:"tpm,omitempty" protobuf:"bytes,3,opt,name=tpm"`
	// video configures the video card.
	// +optional
	Video *VirtualMachineVideo `json:"video,omitempty" protobuf:"bytes,4,opt,name=video"`
	// disableHotplug disables hot-add of devices.
	// +optional
	DisableHotplug *bool `json:"disableHotplug,omitempty" protobuf:"varint,5,opt,name=disableHotplug"`
	// autoattachGraphicsDevice adds a video card. Defaults to true.
	// +optional
	AutoattachGraphicsDevice *bool `json:"autoattachGraphicsDevice,omitempty" protobuf:"varint,6,opt,name=autoattachGraphicsDevice"`
	// autoattachSerialConsole adds a serial port.
	// +optional
	AutoattachSerialConsole *bool `json:"autoattachSerialConsole,omitempty" protobuf:"varint,7,opt,name=autoattachSerialConsole"`
}

// VirtualMachineDevice is a host device that is assigned to the virtual machine.
type VirtualMachineDevice struct {
	// name of the device in this list.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// deviceName is the vGPU profile, for example grid_a100-10c, or the PCI vendor and device ID as vendor:device in
	// hexadecimal.
	// +required
	DeviceName string `json:"deviceName" protobuf:"bytes,2,opt,name=deviceName"`
}

// VirtualMachineTPM configures the virtual TPM.
type VirtualMachineTPM struct {
	// enabled adds the TPM. Defaults to true.
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`
	// persistent preserves the TPM state across power cycles. vSphere always does this.
	// +optional
	Persistent *bool `json:"persistent,omitempty" protobuf:"varint,2,opt,name=persistent"`
}

// VirtualMachineVideo configures the video card.
type VirtualMachineVideo struct {
	// type of the video card. vSphere supports only svga. Other values are stored and cause a warning.
	// +optional
	Type string `json:"type,omitempty" protobuf:"bytes,1,opt,name=type"`
}
