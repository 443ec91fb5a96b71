// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Spec is an effective spec.
type Spec = vmv1alpha1.VirtualMachineInstanceSpec

// Field is one field of the table.
type Field struct {
	// Path names it.
	Path string
	// SlipwayOnly is true for what vSphere does not have, or has under another path.
	SlipwayOnly bool

	// print gives the value in a spec that complete has made; empty when it is unset.
	print func(*Spec) string
	// unset is the value that unset means; for comparing only.
	unset string
	// effect says when a change takes effect; nil is always a restart.
	effect effect
	// assign copies a field that can change live.
	assign func(target, desired *Spec)
}

// Fields are all fields but those of interfaces and volumes, in the order in which they are compared
// and printed.
var Fields = slices.Concat(cpuFields, memoryFields, otherFields)

var cpuFields = []Field{
	{Path: CPUSockets, print: func(s *Spec) string { return dimension(s.CPU.Sockets) }, effect: socketsEffect,
		assign: func(t, d *Spec) { t.CPU.Sockets = d.CPU.Sockets }},
	{Path: CPUCores, print: func(s *Spec) string { return dimension(s.CPU.Cores) }, effect: shapeEffect},
	{Path: CPUThreads, SlipwayOnly: true, print: func(s *Spec) string { return dimension(s.CPU.Threads) }, effect: shapeEffect},
	{Path: CPUMaxSockets, SlipwayOnly: true, print: func(s *Spec) string { return optional(s.CPU.MaxSockets) }, effect: always(live),
		assign: func(t, d *Spec) { t.CPU.MaxSockets = copyOf(d.CPU.MaxSockets) }},
	{Path: CPUHotAdd, print: func(s *Spec) string { return flag(s.CPU.HotAddEnabled) }, unset: "false"},
	{Path: CPUDedicated, SlipwayOnly: true, print: func(s *Spec) string { return flag(s.CPU.DedicatedCPUPlacement) }, unset: "false", effect: placementEffect},
	{Path: CPULatency, print: func(s *Spec) string { return string(s.CPU.LatencySensitivity) }, unset: string(vmv1alpha1.LatencySensitivityNormal), effect: placementEffect},
	{Path: CPUExposeVNUMA, SlipwayOnly: true, print: func(s *Spec) string { return flag(s.CPU.ExposeVNUMA) }, unset: "false", effect: always(none)},
	{Path: CPUReservation, print: func(s *Spec) string { return orZero(cpu(s.CPU.Reservation)) }, effect: cpuReservationEffect,
		assign: func(t, d *Spec) { t.CPU.Reservation = copyQuantity(d.CPU.Reservation) }},
	{Path: CPULimit, print: func(s *Spec) string { return cpu(s.CPU.Limit) }, effect: always(live),
		assign: func(t, d *Spec) { t.CPU.Limit = copyQuantity(d.CPU.Limit) }},
	{Path: CPUShares, print: func(s *Spec) string { return shares(s.CPU.Shares) }, unset: string(vmv1alpha1.SharesNormal), effect: always(live),
		assign: func(t, d *Spec) { t.CPU.Shares = d.CPU.Shares.DeepCopy() }},
}

var memoryFields = []Field{
	{Path: MemoryGuest, print: func(s *Spec) string { return memory(s.Memory.Guest) }, effect: guestEffect,
		assign: func(t, d *Spec) { t.Memory.Guest = copyQuantity(d.Memory.Guest) }},
	{Path: MemoryMaxGuest, SlipwayOnly: true, print: func(s *Spec) string { return memory(s.Memory.MaxGuest) }, effect: always(live),
		assign: func(t, d *Spec) { t.Memory.MaxGuest = copyQuantity(d.Memory.MaxGuest) }},
	{Path: MemoryHotAdd, print: func(s *Spec) string { return flag(s.Memory.HotAddEnabled) }, unset: "false"},
	{Path: MemoryHugePages, print: func(s *Spec) string { return s.Memory.HugePageSize }, effect: pagesEffect},
	{Path: MemoryReservation, print: func(s *Spec) string { return orZero(memory(s.Memory.Reservation)) }, effect: memoryReservationEffect,
		assign: func(t, d *Spec) { t.Memory.Reservation = copyQuantity(d.Memory.Reservation) }},
	{Path: MemoryLocked, print: func(s *Spec) string { return Flag(Pinned(s)) }, effect: memoryLockedEffect},
	{Path: MemoryLimit, print: func(s *Spec) string { return memory(s.Memory.Limit) }, effect: memoryLimitEffect,
		assign: func(t, d *Spec) { t.Memory.Limit = copyQuantity(d.Memory.Limit) }},
	{Path: MemoryShares, print: func(s *Spec) string { return shares(s.Memory.Shares) }, unset: string(vmv1alpha1.SharesNormal), effect: always(live),
		assign: func(t, d *Spec) { t.Memory.Shares = d.Memory.Shares.DeepCopy() }},
}

// otherFields: what a spec leaves unset stays on a virtual machine as it is.
var otherFields = []Field{
	{Path: Bootloader, print: func(s *Spec) string { return string(s.Firmware.Bootloader) },
		effect: restartIf(func(s *Spec) bool { return s.Firmware.Bootloader != "" })},
	{Path: SecureBoot, print: func(s *Spec) string { return flag(s.Firmware.SecureBoot) }, unset: "false",
		effect: restartIf(func(s *Spec) bool { return s.Firmware.SecureBoot != nil })},
	{Path: BIOSUUID, print: func(s *Spec) string { return strings.ToLower(s.Firmware.UUID) },
		effect: restartIf(func(s *Spec) bool { return s.Firmware.UUID != "" })},
	{Path: HardwareVersion, print: func(s *Spec) string { return Count(s.MinHardwareVersion) }, unset: "0", effect: hardwareVersionEffect},
	{Path: GuestID, print: func(s *Spec) string { return s.GuestID }, effect: restartIf(func(s *Spec) bool { return s.GuestID != "" })},
	{Path: StorageClass, print: func(s *Spec) string { return s.StorageClass }, effect: liveOrStays(func(s *Spec) bool { return s.StorageClass != "" }),
		assign: func(t, d *Spec) { t.StorageClass = d.StorageClass }},
	{Path: BootDiskSize, print: func(s *Spec) string { return memory(s.BootDisk.Capacity) }, effect: bootDiskEffect,
		assign: func(t, d *Spec) { bootDisk(t).Capacity = copyQuantity(d.BootDisk.Capacity) }},
	{Path: BootDiskStorageClass, print: func(s *Spec) string { return s.BootDisk.StorageClass }, effect: liveOrStays(func(s *Spec) bool { return s.BootDisk.StorageClass != "" }),
		assign: func(t, d *Spec) { bootDisk(t).StorageClass = d.BootDisk.StorageClass }},
	{Path: BootOrder, print: bootOrder, effect: restartIf(func(s *Spec) bool { return len(s.BootOrder) > 0 })},
	{Path: GPUs, print: func(s *Spec) string { return deviceNames(s.Devices.GPUs) }},
	{Path: HostDevices, print: func(s *Spec) string { return deviceNames(s.Devices.HostDevices) }},
	{Path: TPM, print: func(s *Spec) string { return tpm(s.Devices.TPM) }, effect: restartIf(func(s *Spec) bool { return s.Devices.TPM != nil })},
	{Path: VideoType, SlipwayOnly: true, print: videoType, effect: always(none)},
	{Path: DisableHotplug, print: func(s *Spec) string { return flag(s.Devices.DisableHotplug) }, unset: "false",
		effect: restartIf(func(s *Spec) bool { return s.Devices.DisableHotplug != nil })},
	{Path: GraphicsDevice, print: func(s *Spec) string { return flag(s.Devices.AutoattachGraphicsDevice) }, unset: "true",
		effect: restartIf(func(s *Spec) bool { return s.Devices.AutoattachGraphicsDevice != nil })},
	// A serial port is never removed.
	{Path: SerialConsole, print: func(s *Spec) string { return flag(s.Devices.AutoattachSerialConsole) }, unset: "false",
		effect: restartIf(func(s *Spec) bool { return isTrue(s.Devices.AutoattachSerialConsole) })},
	{Path: NodeSelector, SlipwayOnly: true, print: func(s *Spec) string { return labels(s.NodeSelector) }, effect: always(none)},
	{Path: Annotations, SlipwayOnly: true, print: func(s *Spec) string { return labels(s.Annotations) }, effect: always(live),
		assign: func(t, d *Spec) { t.Annotations = maps.Clone(d.Annotations) }},
	{Path: TerminationGracePeriod, SlipwayOnly: true, print: func(s *Spec) string { return seconds(s.TerminationGracePeriodSeconds) }, effect: always(live),
		assign: func(t, d *Spec) { t.TerminationGracePeriodSeconds = copyOf(d.TerminationGracePeriodSeconds) }},
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

// complete returns spec with the parts that are looked into present; they may be
// shared with it.
func complete(spec *Spec) *Spec {
	var out Spec
	if spec != nil {
		out = *spec
	}
	if out.CPU == nil {
		out.CPU = &vmv1alpha1.VirtualMachineCPU{}
	}
	if out.Memory == nil {
		out.Memory = &vmv1alpha1.VirtualMachineMemory{}
	}
	if out.Firmware == nil {
		out.Firmware = &vmv1alpha1.VirtualMachineFirmware{}
	}
	if out.Devices == nil {
		out.Devices = &vmv1alpha1.VirtualMachineDevices{}
	}
	if out.Network == nil {
		out.Network = &vmv1alpha1.VirtualMachineNetworkSpec{}
	}
	if out.BootDisk == nil {
		out.BootDisk = &vmv1alpha1.VirtualMachineBootDisk{}
	}
	return &out
}

func isTrue(b *bool) bool { return b != nil && *b }

func bytesOf(q *resource.Quantity) int64 {
	if q == nil {
		return 0
	}
	return q.Value()
}

func copyOf[T any](v *T) *T {
	if v == nil {
		return nil
	}
	out := *v
	return &out
}

func copyQuantity(q *resource.Quantity) *resource.Quantity {
	if q == nil {
		return nil
	}
	out := q.DeepCopy()
	return &out
}
