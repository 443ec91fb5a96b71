// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const (
	live    = vmv1alpha1.RefreshEffectLive
	restart = vmv1alpha1.RefreshEffectRestart
	none    = vmv1alpha1.RefreshEffectNone
)

// effect says when a running virtual machine takes a change of one field.
type effect func(running, desired *Spec) vmv1alpha1.RefreshEffect

func always(e vmv1alpha1.RefreshEffect) effect {
	return func(_, _ *Spec) vmv1alpha1.RefreshEffect { return e }
}

// restartIf is for what changes with a power cycle if the desired spec asks for it,
// and otherwise stays as it is.
func restartIf(asks func(desired *Spec) bool) effect {
	return func(_, desired *Spec) vmv1alpha1.RefreshEffect {
		if asks(desired) {
			return restart
		}
		return none
	}
}

func liveIf(ok bool) vmv1alpha1.RefreshEffect {
	if ok {
		return live
	}
	return restart
}

// liveOrStays is for what changes live if the desired spec asks for it, and otherwise
// stays as it is.
func liveOrStays(asks func(desired *Spec) bool) effect {
	return func(_, desired *Spec) vmv1alpha1.RefreshEffect {
		if asks(desired) {
			return live
		}
		return none
	}
}

// bootDiskEffect: a disk grows, on everything but IDE, and never shrinks.
func bootDiskEffect(running, desired *Spec) vmv1alpha1.RefreshEffect {
	if bytesOf(desired.BootDisk.Capacity) <= bytesOf(running.BootDisk.Capacity) {
		return none
	}
	return live
}

// coresPerSocket is the shape of a socket; vSphere counts a thread as a core.
func coresPerSocket(cpu *vmv1alpha1.VirtualMachineCPU) int32 {
	return max(cpu.Cores, 1) * max(cpu.Threads, 1)
}

// shapeEffect: another shape of the sockets is another processor.
func shapeEffect(running, desired *Spec) vmv1alpha1.RefreshEffect {
	if coresPerSocket(running.CPU) == coresPerSocket(desired.CPU) {
		return none
	}
	return restart
}

// ownCores reports whether every vCPU has a core of its own.
func ownCores(s *Spec) bool {
	return isTrue(s.CPU.DedicatedCPUPlacement) || s.CPU.LatencySensitivity == vmv1alpha1.LatencySensitivityHigh
}

// placementEffect: both fields ask for one setting, which is on or off.
func placementEffect(running, desired *Spec) vmv1alpha1.RefreshEffect {
	if ownCores(running) == ownCores(desired) {
		return none
	}
	return restart
}

// pagesEffect: only pages of 1 GiB are a setting.
func pagesEffect(running, desired *Spec) vmv1alpha1.RefreshEffect {
	if (running.Memory.HugePageSize == "1Gi") == (desired.Memory.HugePageSize == "1Gi") {
		return none
	}
	return restart
}

// socketsEffect: vCPUs can be added up to the ceiling, never removed, while the
// shape of a socket stays as it is.
func socketsEffect(running, desired *Spec) vmv1alpha1.RefreshEffect {
	have, want := running.CPU, desired.CPU
	return liveIf(want.Sockets > have.Sockets && coresPerSocket(want) == coresPerSocket(have) &&
		isTrue(have.HotAddEnabled) && (want.MaxSockets == nil || want.Sockets <= *want.MaxSockets))
}

// guestEffect: memory can be added up to the ceiling, never removed.
func guestEffect(running, desired *Spec) vmv1alpha1.RefreshEffect {
	have, want := running.Memory, desired.Memory
	return liveIf(have.Guest != nil && want.Guest != nil && want.Guest.Cmp(*have.Guest) > 0 &&
		isTrue(have.HotAddEnabled) && (want.MaxGuest == nil || want.Guest.Cmp(*want.MaxGuest) <= 0))
}

// vcpusOf is the number of vCPUs.
func vcpusOf(s *Spec) int32 { return max(s.CPU.Sockets, 1) * coresPerSocket(s.CPU) }

// cpuReservationEffect: any time, but vSphere refuses to give up a reservation
// that latency sensitivity needs, and one for vCPUs that are not there yet.
func cpuReservationEffect(running, desired *Spec) vmv1alpha1.RefreshEffect {
	before, after := bytesOf(running.CPU.Reservation), bytesOf(desired.CPU.Reservation)
	waits := vcpusOf(running) != vcpusOf(desired) && socketsEffect(running, desired) == restart
	return liveIf(!(ownCores(running) && after < before) && !(waits && after > before))
}

// Pinned reports whether vSphere demands that all memory is reserved.
func Pinned(s *Spec) bool {
	return ownCores(s) || s.Memory.HugePageSize == "1Gi" || usesSRIOV(s) ||
		s.Devices != nil && len(s.Devices.GPUs)+len(s.Devices.HostDevices) > 0
}

// memoryReservationEffect: any time, but not beyond the memory that is there,
// not apart from memory that is reserved as a whole, and not below what the
// running virtual machine is pinned by.
func memoryReservationEffect(running, desired *Spec) vmv1alpha1.RefreshEffect {
	before, after := bytesOf(running.Memory.Reservation), bytesOf(desired.Memory.Reservation)
	present := bytesOf(running.Memory.Guest)
	waits := present != bytesOf(desired.Memory.Guest) && guestEffect(running, desired) == restart
	return liveIf(!(Pinned(running) && after < before) &&
		!(waits && (Pinned(running) || Pinned(desired) || after > present)))
}

// memoryLockedEffect: any time, but not off what the running virtual machine is pinned
// by, and not for memory that waits.
func memoryLockedEffect(running, desired *Spec) vmv1alpha1.RefreshEffect {
	waits := bytesOf(running.Memory.Guest) != bytesOf(desired.Memory.Guest) && guestEffect(running, desired) == restart
	return liveIf(!Pinned(running) && !waits)
}

// hardwareVersionEffect: it only rises.
func hardwareVersionEffect(running, desired *Spec) vmv1alpha1.RefreshEffect {
	if desired.MinHardwareVersion > running.MinHardwareVersion {
		return restart
	}
	return none
}

// memoryLimitEffect: any time, but not below what is reserved.
func memoryLimitEffect(running, desired *Spec) vmv1alpha1.RefreshEffect {
	return liveIf(desired.Memory.Limit == nil || bytesOf(desired.Memory.Limit) >= bytesOf(running.Memory.Reservation))
}
