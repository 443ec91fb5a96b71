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
	// CPUCores is the number of cores per socket. vSphere counts a thread as a core.
	CPUCores = "cpu.cores"
	// CPUThreads is the number of threads per core.
	CPUThreads = "cpu.threads"
	// CPUMaxSockets is the maximum of CPUSockets. It has no vSphere property.
	CPUMaxSockets = "cpu.maxSockets"
	// CPUHotAdd enables adding vCPUs to a running virtual machine.
	CPUHotAdd = "cpu.hotAddEnabled"
	// CPUDedicated requires CPULatency high and a reservation of whole cores.
	CPUDedicated = "cpu.dedicatedCPUPlacement"
	// CPULatency is the latency sensitivity.
	CPULatency = "cpu.latencySensitivity"
	// CPUExposeVNUMA disables CPUHotAdd, and has no other effect.
	CPUExposeVNUMA = "cpu.exposeVNUMA"
	// CPUReservation is the guaranteed CPU in hertz.
	CPUReservation = "cpu.reservation"
	// CPULimit is the maximum CPU in hertz.
	CPULimit = "cpu.limit"
	// CPUShares is the weight under contention.
	CPUShares = "cpu.shares"

	// MemoryGuest is the memory size in bytes.
	MemoryGuest = "memory.guest"
	// MemoryMaxGuest is the maximum of MemoryGuest. It has no vSphere property.
	MemoryMaxGuest = "memory.maxGuest"
	// MemoryHotAdd enables adding memory to a running virtual machine.
	MemoryHotAdd = "memory.hotAddEnabled"
	// MemoryHugePages is the size of the pages of the guest's memory.
	MemoryHugePages = "memory.hugePageSize"
	// MemoryReservation is the guaranteed memory in bytes.
	MemoryReservation = "memory.reservation"
	// MemoryLocked reserves all memory regardless of its size. It is derived from other fields.
	MemoryLocked = "memory.reservationLocked"
	// MemoryLimit is the maximum memory in bytes.
	MemoryLimit = "memory.limit"
	// MemoryShares is the weight under contention.
	MemoryShares = "memory.shares"

	// Bootloader is the firmware of the guest.
	Bootloader = "firmware.bootloader"
	// SecureBoot allows only signed code to boot.
	SecureBoot = "firmware.secureBoot"
	// BIOSUUID is the hardware UUID that the guest sees.
	BIOSUUID = "firmware.uuid"
	// HardwareVersion is the minimum virtual hardware version.
	HardwareVersion = "minHardwareVersion"
	// GuestID is the guest operating system.
	GuestID = "guestID"

	// StorageClass determines the storage policy of the virtual machine's files, except for disks with their own class.
	StorageClass = "storageClass"
	// BootDiskSize is the capacity of the boot disk in bytes.
	BootDiskSize = "bootDisk.size"
	// BootDiskStorageClass is the storage class of the boot disk.
	BootDiskStorageClass = "bootDisk.storageClass"
	// BootOrder is the order of boot devices.
	BootOrder = "bootOrder"

	// Interfaces are the network adapters without an interface in the spec. Interface returns the path of one
	// interface.
	Interfaces = "network.interfaces"

	// GPUs are the vGPUs and passed-through GPUs.
	GPUs = "devices.gpus"
	// HostDevices are other passed-through devices.
	HostDevices = "devices.hostDevices"
	// TPM is the virtual TPM.
	TPM = "devices.tpm"
	// VideoType is the type of the video card. vSphere has only one.
	VideoType = "devices.video.type"
	// DisableHotplug prevents devices from being added or removed live.
	DisableHotplug = "devices.disableHotplug"
	// GraphicsDevice is the video card. It exists unless it is disabled.
	GraphicsDevice = "devices.autoattachGraphicsDevice"
	// SerialConsole is a serial port.
	SerialConsole = "devices.autoattachSerialConsole"

	// NodeSelector restricts the hosts. vSphere ignores it.
	NodeSelector = "nodeSelector"
	// Annotations are the annotations of the instance type and the preference.
	Annotations = "annotations"
	// TerminationGracePeriod is the time limit of a soft power off in seconds.
	TerminationGracePeriod = "terminationGracePeriodSeconds"
)

// Spec is an effective spec.
type Spec = vmv1alpha1.VirtualMachineInstanceSpec

// State is the actual or desired state of a virtual machine: an effective spec in which no part is nil, and values that
// a spec does not include.
type State struct {
	Spec
	// MemoryLocked is true if all memory is reserved regardless of its size.
	MemoryLocked bool
	// CoresPerSocket is the number of vCPUs that are added at a time.
	CoresPerSocket int32
}

// Field is one row of the table.
type Field struct {
	// Path is the path of the field.
	Path string
	// Property is the property of vSphere's VirtualMachine that has the value. It is empty if vSphere has no such
	// property, or if the property belongs to another path.
	Property string
	// MinVersion is the virtual hardware version that the field needs. It is 0 if all versions that a spec may have
	// (limits.MinHardwareVersion) support it.
	MinVersion int32

	// value determines how the field is printed and copied.
	value
	// unset is the value that an unset field is compared as.
	unset string
	// effect returns when a change takes effect. If it is nil, a change needs a power cycle if the desired state sets
	// the field.
	effect effect
}

// value determines how a field is printed and copied.
type value struct {
	// print returns an empty string for an unset field.
	print func(*State) string
	copy  func(to, from *State)
}

// fieldValue returns the value of a field of type T.
func fieldValue[T any](field func(*State) *T, print func(T) string) value {
	return value{
		print: func(s *State) string { return print(*field(s)) },
		copy:  func(to, from *State) { *field(to) = *field(from) },
	}
}

// Value returns the value of the field for comparisons. It is f.unset if the field is not set.
func (f *Field) Value(s *State) string {
	if printed := f.print(s); printed != "" {
		return printed
	}
	return f.unset
}

// IsSet reports whether a state sets the field.
func (f *Field) IsSet(s *State) bool { return f.print(s) != "" }

// Copy copies the value of the field.
func (f *Field) Copy(to, from *State) { f.copy(to, from) }

// Effect returns when the desired value of the field takes effect on a running virtual machine.
func (f *Field) Effect(running, desired *State) vmv1alpha1.RefreshEffect {
	switch {
	case f.effect != nil:
		return f.effect(running, desired)
	case f.IsSet(desired):
		return restart
	}
	return none
}

// Fields are all fields except interfaces and volumes, in the order in which they are compared and printed.
var Fields = slices.Concat(cpuFields, memoryFields, otherFields)

var cpuFields = []Field{
	{Path: CPUSockets, Property: "config.hardware", value: fieldValue(func(s *State) *int32 { return &s.CPU.Sockets }, dimension), effect: socketsEffect},
	{Path: CPUCores, Property: "config.hardware", value: fieldValue(func(s *State) *int32 { return &s.CPU.Cores }, dimension), effect: shapeEffect},
	{Path: CPUThreads, value: fieldValue(func(s *State) *int32 { return &s.CPU.Threads }, dimension), effect: shapeEffect},
	{Path: CPUMaxSockets, value: fieldValue(func(s *State) **int32 { return &s.CPU.MaxSockets }, optional), effect: always(live)},
	{Path: CPUHotAdd, Property: "config.cpuHotAddEnabled", value: fieldValue(func(s *State) **bool { return &s.CPU.HotAddEnabled }, flag), unset: "false", effect: always(restart)},
	{Path: CPUDedicated, value: fieldValue(func(s *State) **bool { return &s.CPU.DedicatedCPUPlacement }, flag), unset: "false", effect: placementEffect},
	{Path: CPULatency, Property: "config.latencySensitivity", value: fieldValue(func(s *State) *vmv1alpha1.LatencySensitivity { return &s.CPU.LatencySensitivity }, text),
		unset: string(vmv1alpha1.LatencySensitivityNormal), effect: placementEffect},
	{Path: CPUExposeVNUMA, value: fieldValue(func(s *State) **bool { return &s.CPU.ExposeVNUMA }, flag), unset: "false", effect: always(none)},
	{Path: CPUReservation, Property: "config.cpuAllocation", value: fieldValue(func(s *State) **resource.Quantity { return &s.CPU.Reservation }, cpuOrZero), effect: cpuReservationEffect},
	{Path: CPULimit, Property: "config.cpuAllocation", value: fieldValue(func(s *State) **resource.Quantity { return &s.CPU.Limit }, cpu), effect: always(live)},
	{Path: CPUShares, Property: "config.cpuAllocation", value: fieldValue(func(s *State) **vmv1alpha1.Shares { return &s.CPU.Shares }, shares),
		unset: string(vmv1alpha1.SharesNormal), effect: always(live)},
}

var memoryFields = []Field{
	{Path: MemoryGuest, Property: "config.hardware", value: fieldValue(func(s *State) **resource.Quantity { return &s.Memory.Guest }, memory), effect: guestEffect},
	{Path: MemoryMaxGuest, value: fieldValue(func(s *State) **resource.Quantity { return &s.Memory.MaxGuest }, memory), effect: always(live)},
	{Path: MemoryHotAdd, Property: "config.memoryHotAddEnabled", value: fieldValue(func(s *State) **bool { return &s.Memory.HotAddEnabled }, flag), unset: "false", effect: always(restart)},
	{Path: MemoryHugePages, Property: "config.extraConfig", value: fieldValue(func(s *State) *string { return &s.Memory.HugePageSize }, text), effect: pagesEffect},
	{Path: MemoryReservation, Property: "config.memoryAllocation", value: fieldValue(func(s *State) **resource.Quantity { return &s.Memory.Reservation }, memoryOrZero),
		effect: memoryReservationEffect},
	{Path: MemoryLocked, Property: "config.memoryReservationLockedToMax", value: fieldValue(func(s *State) *bool { return &s.MemoryLocked }, Flag), effect: memoryLockedEffect},
	{Path: MemoryLimit, Property: "config.memoryAllocation", value: fieldValue(func(s *State) **resource.Quantity { return &s.Memory.Limit }, memory), effect: memoryLimitEffect},
	{Path: MemoryShares, Property: "config.memoryAllocation", value: fieldValue(func(s *State) **vmv1alpha1.Shares { return &s.Memory.Shares }, shares),
		unset: string(vmv1alpha1.SharesNormal), effect: always(live)},
}

// otherFields are fields that are not changed on a virtual machine if the spec does not set them.
var otherFields = []Field{
	{Path: Bootloader, Property: "config.firmware", value: fieldValue(func(s *State) *vmv1alpha1.Bootloader { return &s.Firmware.Bootloader }, text)},
	{Path: SecureBoot, Property: "config.bootOptions", value: fieldValue(func(s *State) **bool { return &s.Firmware.SecureBoot }, flag), unset: "false"},
	{Path: BIOSUUID, Property: "config.uuid", value: fieldValue(func(s *State) *string { return &s.Firmware.UUID }, strings.ToLower)},
	{Path: HardwareVersion, Property: "config.version", value: fieldValue(func(s *State) *int32 { return &s.MinHardwareVersion }, Count), unset: "0", effect: hardwareVersionEffect},
	{Path: GuestID, Property: "config.guestId", value: fieldValue(func(s *State) *string { return &s.GuestID }, text)},
	{Path: StorageClass, Property: "config.extraConfig", value: fieldValue(func(s *State) *string { return &s.StorageClass }, text),
		effect: ifSet(live, func(s *State) bool { return s.StorageClass != "" })},
	{Path: BootDiskSize, Property: "config.hardware", value: fieldValue(func(s *State) **resource.Quantity { return &s.BootDisk.Capacity }, memory), effect: bootDiskEffect},
	{Path: BootDiskStorageClass, Property: "config.extraConfig", value: fieldValue(func(s *State) *string { return &s.BootDisk.StorageClass }, text),
		effect: ifSet(live, func(s *State) bool { return s.BootDisk.StorageClass != "" })},
	{Path: BootOrder, Property: "config.bootOptions", value: fieldValue(func(s *State) *[]vmv1alpha1.VirtualMachineBootDevice { return &s.BootOrder }, bootOrder)},
	{Path: GPUs, Property: "config.hardware", value: fieldValue(func(s *State) *[]vmv1alpha1.VirtualMachineDevice { return &s.Devices.GPUs }, deviceNames), effect: always(restart)},
	// The versions are from VMware's documents: "Add a PCI Device to a Virtual Machine" (vSphere 7.0 Host Client) for
	// Dynamic DirectPath I/O, and "Virtual Trusted Platform Module" for the TPM.
	{Path: HostDevices, Property: "config.hardware", MinVersion: 17, value: fieldValue(func(s *State) *[]vmv1alpha1.VirtualMachineDevice { return &s.Devices.HostDevices }, deviceNames), effect: always(restart)},
	{Path: TPM, Property: "config.hardware", MinVersion: 14, value: fieldValue(func(s *State) **vmv1alpha1.VirtualMachineTPM { return &s.Devices.TPM }, tpm),
		effect: ifSet(restart, func(s *State) bool { return s.Devices.TPM != nil })},
	{Path: VideoType, value: fieldValue(func(s *State) **vmv1alpha1.VirtualMachineVideo { return &s.Devices.Video }, video), effect: always(none)},
	{Path: DisableHotplug, Property: "config.extraConfig", value: fieldValue(func(s *State) **bool { return &s.Devices.DisableHotplug }, flag), unset: "false"},
	{Path: GraphicsDevice, Property: "config.extraConfig", value: fieldValue(func(s *State) **bool { return &s.Devices.AutoattachGraphicsDevice }, flag), unset: "true"},
	// A serial port is never removed.
	{Path: SerialConsole, Property: "config.hardware", value: fieldValue(func(s *State) **bool { return &s.Devices.AutoattachSerialConsole }, flag), unset: "false",
		effect: ifSet(restart, func(s *State) bool { return isTrue(s.Devices.AutoattachSerialConsole) })},
	{Path: NodeSelector, value: fieldValue(func(s *State) *map[string]string { return &s.NodeSelector }, labels), effect: always(none)},
	{Path: Annotations, value: fieldValue(func(s *State) *map[string]string { return &s.Annotations }, labels), effect: always(live)},
	{Path: TerminationGracePeriod, value: fieldValue(func(s *State) **int64 { return &s.TerminationGracePeriodSeconds }, seconds), effect: always(live)},
}

// Properties returns the distinct properties of vSphere's VirtualMachine that have values of the fields.
func Properties() []string {
	var out []string
	for i := range Fields {
		if p := Fields[i].Property; p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// Known reports whether path is in the table, or is the path of an interface or a volume.
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

// StateOf returns the state that a spec describes. It may share parts with the spec.
func StateOf(spec *Spec) *State {
	s := &State{}
	if spec != nil {
		s.Spec = *spec
	}
	createPart(&s.CPU)
	createPart(&s.Memory)
	createPart(&s.Firmware)
	createPart(&s.Devices)
	createPart(&s.Network)
	createPart(&s.BootDisk)
	s.MemoryLocked = NeedsFullReservation(&s.Spec)
	_, s.CoresPerSocket = CPUs(s.CPU)
	return s
}

// withoutEmptyParts returns the spec of a state. Empty parts that are nil in spec are removed.
func (s *State) withoutEmptyParts(spec *Spec) *Spec {
	out := s.Spec
	dropEmptyPart(&out.Firmware, spec.Firmware)
	dropEmptyPart(&out.Devices, spec.Devices)
	dropEmptyPart(&out.Network, spec.Network)
	dropEmptyPart(&out.BootDisk, spec.BootDisk)
	return &out
}

// createPart creates a part that is nil.
func createPart[T any](part **T) {
	if *part == nil {
		*part = new(T)
	}
}

// dropEmptyPart removes a part that createPart has created and that is still empty.
func dropEmptyPart[T any](part **T, before *T) {
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
