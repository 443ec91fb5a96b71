// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

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

// Spec is an effective spec.
type Spec = vmv1alpha1.VirtualMachineInstanceSpec

// State is what a virtual machine has, or shall have: an effective spec in which no part is nil,
// and what a spec does not name.
type State struct {
	Spec
	// MemoryLocked is true when all memory is reserved, whatever its size.
	MemoryLocked bool
	// CoresPerSocket is the number of vCPUs that can be added at a time.
	CoresPerSocket int32
}

// Field is one row of the table.
type Field struct {
	// Path names the field.
	Path string
	// Property is the property of vSphere's VirtualMachine that has the value. It is empty for a field that
	// vSphere does not have, or has under another path.
	Property string
	// MinVersion is the virtual hardware version that the field needs. It is 0 if all versions that a spec can name
	// (limits.MinHardwareVersion) have it.
	MinVersion int32

	// value is the type of the field: how it is printed and copied.
	value
	// unset is the value that unset means; for comparing only.
	unset string
	// effect says when a running virtual machine takes a change; nil is a restart if the
	// desired state sets the field.
	effect effect
}

// value is how a field is printed and copied.
type value struct {
	// print returns the empty string for an unset field.
	print func(*State) string
	copy  func(to, from *State)
}

// at is the value of a field of type T.
func at[T any](field func(*State) *T, print func(T) string) value {
	return value{
		print: func(s *State) string { return print(*field(s)) },
		copy:  func(to, from *State) { *field(to) = *field(from) },
	}
}

// Value prints the value of the field; unset has a meaning too.
func (f *Field) Value(s *State) string {
	if printed := f.print(s); printed != "" {
		return printed
	}
	return f.unset
}

// IsSet reports whether a state sets the field.
func (f *Field) IsSet(s *State) bool { return f.print(s) != "" }

// Copy gives the field in one state the value that it has in another.
func (f *Field) Copy(to, from *State) { f.copy(to, from) }

// Effect returns when a running virtual machine takes the desired value of the field.
func (f *Field) Effect(running, desired *State) vmv1alpha1.RefreshEffect {
	switch {
	case f.effect != nil:
		return f.effect(running, desired)
	case f.IsSet(desired):
		return restart
	}
	return none
}

// Fields are all fields but those of interfaces and volumes, in the order in which they are compared
// and printed.
var Fields = slices.Concat(cpuFields, memoryFields, otherFields)

var cpuFields = []Field{
	{Path: CPUSockets, Property: "config.hardware", value: at(func(s *State) *int32 { return &s.CPU.Sockets }, dimension), effect: socketsEffect},
	{Path: CPUCores, Property: "config.hardware", value: at(func(s *State) *int32 { return &s.CPU.Cores }, dimension), effect: shapeEffect},
	{Path: CPUThreads, value: at(func(s *State) *int32 { return &s.CPU.Threads }, dimension), effect: shapeEffect},
	{Path: CPUMaxSockets, value: at(func(s *State) **int32 { return &s.CPU.MaxSockets }, optional), effect: always(live)},
	{Path: CPUHotAdd, Property: "config.cpuHotAddEnabled", value: at(func(s *State) **bool { return &s.CPU.HotAddEnabled }, flag), unset: "false", effect: always(restart)},
	{Path: CPUDedicated, value: at(func(s *State) **bool { return &s.CPU.DedicatedCPUPlacement }, flag), unset: "false", effect: placementEffect},
	{Path: CPULatency, Property: "config.latencySensitivity", value: at(func(s *State) *vmv1alpha1.LatencySensitivity { return &s.CPU.LatencySensitivity }, text),
		unset: string(vmv1alpha1.LatencySensitivityNormal), effect: placementEffect},
	{Path: CPUExposeVNUMA, value: at(func(s *State) **bool { return &s.CPU.ExposeVNUMA }, flag), unset: "false", effect: always(none)},
	{Path: CPUReservation, Property: "config.cpuAllocation", value: at(func(s *State) **resource.Quantity { return &s.CPU.Reservation }, cpuOrZero), effect: cpuReservationEffect},
	{Path: CPULimit, Property: "config.cpuAllocation", value: at(func(s *State) **resource.Quantity { return &s.CPU.Limit }, cpu), effect: always(live)},
	{Path: CPUShares, Property: "config.cpuAllocation", value: at(func(s *State) **vmv1alpha1.Shares { return &s.CPU.Shares }, shares),
		unset: string(vmv1alpha1.SharesNormal), effect: always(live)},
}

var memoryFields = []Field{
	{Path: MemoryGuest, Property: "config.hardware", value: at(func(s *State) **resource.Quantity { return &s.Memory.Guest }, memory), effect: guestEffect},
	{Path: MemoryMaxGuest, value: at(func(s *State) **resource.Quantity { return &s.Memory.MaxGuest }, memory), effect: always(live)},
	{Path: MemoryHotAdd, Property: "config.memoryHotAddEnabled", value: at(func(s *State) **bool { return &s.Memory.HotAddEnabled }, flag), unset: "false", effect: always(restart)},
	{Path: MemoryHugePages, Property: "config.extraConfig", value: at(func(s *State) *string { return &s.Memory.HugePageSize }, text), effect: pagesEffect},
	{Path: MemoryReservation, Property: "config.memoryAllocation", value: at(func(s *State) **resource.Quantity { return &s.Memory.Reservation }, memoryOrZero),
		effect: memoryReservationEffect},
	{Path: MemoryLocked, Property: "config.memoryReservationLockedToMax", value: at(func(s *State) *bool { return &s.MemoryLocked }, Flag), effect: memoryLockedEffect},
	{Path: MemoryLimit, Property: "config.memoryAllocation", value: at(func(s *State) **resource.Quantity { return &s.Memory.Limit }, memory), effect: memoryLimitEffect},
	{Path: MemoryShares, Property: "config.memoryAllocation", value: at(func(s *State) **vmv1alpha1.Shares { return &s.Memory.Shares }, shares),
		unset: string(vmv1alpha1.SharesNormal), effect: always(live)},
}

// otherFields: a field that a spec leaves unset stays on a virtual machine as it is.
var otherFields = []Field{
	{Path: Bootloader, Property: "config.firmware", value: at(func(s *State) *vmv1alpha1.Bootloader { return &s.Firmware.Bootloader }, text)},
	{Path: SecureBoot, Property: "config.bootOptions", value: at(func(s *State) **bool { return &s.Firmware.SecureBoot }, flag), unset: "false"},
	{Path: BIOSUUID, Property: "config.uuid", value: at(func(s *State) *string { return &s.Firmware.UUID }, strings.ToLower)},
	{Path: HardwareVersion, Property: "config.version", value: at(func(s *State) *int32 { return &s.MinHardwareVersion }, Count), unset: "0", effect: hardwareVersionEffect},
	{Path: GuestID, Property: "config.guestId", value: at(func(s *State) *string { return &s.GuestID }, text)},
	{Path: StorageClass, Property: "config.extraConfig", value: at(func(s *State) *string { return &s.StorageClass }, text),
		effect: whenSet(live, func(s *State) bool { return s.StorageClass != "" })},
	{Path: BootDiskSize, Property: "config.hardware", value: at(func(s *State) **resource.Quantity { return &s.BootDisk.Capacity }, memory), effect: bootDiskEffect},
	{Path: BootDiskStorageClass, Property: "config.extraConfig", value: at(func(s *State) *string { return &s.BootDisk.StorageClass }, text),
		effect: whenSet(live, func(s *State) bool { return s.BootDisk.StorageClass != "" })},
	{Path: BootOrder, Property: "config.bootOptions", value: at(func(s *State) *[]vmv1alpha1.VirtualMachineBootDevice { return &s.BootOrder }, bootOrder)},
	{Path: GPUs, Property: "config.hardware", value: at(func(s *State) *[]vmv1alpha1.VirtualMachineDevice { return &s.Devices.GPUs }, deviceNames), effect: always(restart)},
	// The versions are those of VMware's documents: "Add a PCI Device to a Virtual Machine" (vSphere 7.0 Host Client) for
	// Dynamic DirectPath I/O, and "Virtual Trusted Platform Module" for the TPM.
	{Path: HostDevices, Property: "config.hardware", MinVersion: 17, value: at(func(s *State) *[]vmv1alpha1.VirtualMachineDevice { return &s.Devices.HostDevices }, deviceNames), effect: always(restart)},
	{Path: TPM, Property: "config.hardware", MinVersion: 14, value: at(func(s *State) **vmv1alpha1.VirtualMachineTPM { return &s.Devices.TPM }, tpm),
		effect: whenSet(restart, func(s *State) bool { return s.Devices.TPM != nil })},
	{Path: VideoType, value: at(func(s *State) **vmv1alpha1.VirtualMachineVideo { return &s.Devices.Video }, video), effect: always(none)},
	{Path: DisableHotplug, Property: "config.extraConfig", value: at(func(s *State) **bool { return &s.Devices.DisableHotplug }, flag), unset: "false"},
	{Path: GraphicsDevice, Property: "config.extraConfig", value: at(func(s *State) **bool { return &s.Devices.AutoattachGraphicsDevice }, flag), unset: "true"},
	// A serial port is never removed.
	{Path: SerialConsole, Property: "config.hardware", value: at(func(s *State) **bool { return &s.Devices.AutoattachSerialConsole }, flag), unset: "false",
		effect: whenSet(restart, func(s *State) bool { return isTrue(s.Devices.AutoattachSerialConsole) })},
	{Path: NodeSelector, value: at(func(s *State) *map[string]string { return &s.NodeSelector }, labels), effect: always(none)},
	{Path: Annotations, value: at(func(s *State) *map[string]string { return &s.Annotations }, labels), effect: always(live)},
	{Path: TerminationGracePeriod, value: at(func(s *State) **int64 { return &s.TerminationGracePeriodSeconds }, seconds), effect: always(live)},
}

// Properties returns the properties of vSphere's VirtualMachine that have values of the fields, each once.
func Properties() []string {
	var out []string
	for i := range Fields {
		if p := Fields[i].Property; p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// Known reports whether path is one of the table, of an interface or of a volume.
func Known(path string) bool {
	if strings.HasPrefix(path, volumesPrefix) || strings.HasPrefix(path, Interfaces) {
		return true
	}
	return fieldOf(path) != nil
}

func fieldOf(path string) *Field {
	for i := range Fields {
		if Fields[i].Path == path {
			return &Fields[i]
		}
	}
	return nil
}

// StateOf returns the state that a spec asks for. Its parts may be shared with the spec.
func StateOf(spec *Spec) *State {
	s := &State{}
	if spec != nil {
		s.Spec = *spec
	}
	fill(&s.CPU)
	fill(&s.Memory)
	fill(&s.Firmware)
	fill(&s.Devices)
	fill(&s.Network)
	fill(&s.BootDisk)
	s.MemoryLocked = Pinned(&s.Spec)
	_, s.CoresPerSocket = CPUs(s.CPU)
	return s
}

// without returns the spec of a state without the parts that spec lacks and that are still empty.
func (s *State) without(spec *Spec) *Spec {
	out := s.Spec
	drop(&out.Firmware, spec.Firmware)
	drop(&out.Devices, spec.Devices)
	drop(&out.Network, spec.Network)
	drop(&out.BootDisk, spec.BootDisk)
	return &out
}

// fill creates a part that is nil.
func fill[T any](part **T) {
	if *part == nil {
		*part = new(T)
	}
}

// drop removes a part that fill has created and that is still empty.
func drop[T any](part **T, before *T) {
	if before == nil && equality.Semantic.DeepEqual(*part, new(T)) {
		*part = nil
	}
}

func isTrue(b *bool) bool { return b != nil && *b }

func bytesOf(q *resource.Quantity) int64 {
	if q == nil {
		return 0
	}
	return q.Value()
}
