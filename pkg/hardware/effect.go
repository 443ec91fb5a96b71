// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// LargePages is the size of pages that vSphere has a switch for.
const LargePages = "1Gi"

const (
	live    = vmv1alpha1.RefreshEffectLive
	restart = vmv1alpha1.RefreshEffectRestart
	none    = vmv1alpha1.RefreshEffectNone
)

// effect says when a running virtual machine takes a change of one field.
type effect func(running, desired *State) vmv1alpha1.RefreshEffect

func always(e vmv1alpha1.RefreshEffect) effect {
	return func(_, _ *State) vmv1alpha1.RefreshEffect { return e }
}

// whenSet is for a field that keeps its value unless the desired state sets it.
func whenSet(e vmv1alpha1.RefreshEffect, set func(desired *State) bool) effect {
	return func(_, desired *State) vmv1alpha1.RefreshEffect {
		if set(desired) {
			return e
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

// bootDiskEffect: a disk grows, on everything but IDE, and never shrinks.
func bootDiskEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	if bytesOf(desired.BootDisk.Capacity) <= bytesOf(running.BootDisk.Capacity) {
		return none
	}
	return live
}

// CPUs returns the number of vCPUs and of cores per socket in vSphere, which counts a thread as a core.
func CPUs(c *vmv1alpha1.VirtualMachineCPU) (vcpus, coresPerSocket int32) {
	cores := max(c.Cores, 1) * max(c.Threads, 1)
	return max(c.Sockets, 1) * cores, cores
}

// OwnCores reports whether every vCPU has a core of its own.
func OwnCores(c *vmv1alpha1.VirtualMachineCPU) bool {
	return c != nil && (isTrue(c.DedicatedCPUPlacement) || c.LatencySensitivity == vmv1alpha1.LatencySensitivityHigh)
}

// Pinned reports whether vSphere demands that all memory is reserved.
func Pinned(s *Spec) bool {
	return OwnCores(s.CPU) || s.Memory != nil && s.Memory.HugePageSize == LargePages || usesSRIOV(s) ||
		s.Devices != nil && len(s.Devices.GPUs)+len(s.Devices.HostDevices) > 0
}

// shapeEffect: another shape of the sockets is another processor.
func shapeEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	if sameShape(running, desired) {
		return none
	}
	return restart
}

func sameShape(running, desired *State) bool {
	_, before := CPUs(running.CPU)
	_, after := CPUs(desired.CPU)
	return before == after
}

// placementEffect: both fields ask for one setting, which is on or off.
func placementEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	if OwnCores(running.CPU) == OwnCores(desired.CPU) {
		return none
	}
	return restart
}

// pagesEffect: only pages of 1 GiB are a setting.
func pagesEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	if (running.Memory.HugePageSize == LargePages) == (desired.Memory.HugePageSize == LargePages) {
		return none
	}
	return restart
}

// socketsEffect: whole sockets can be added up to the ceiling, never removed, while the
// shape of a socket stays as it is.
func socketsEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	have, want := running.CPU, desired.CPU
	vcpus, _ := CPUs(want)
	return liveIf(want.Sockets > have.Sockets && sameShape(running, desired) && vcpus%running.CoresPerSocket == 0 &&
		isTrue(have.HotAddEnabled) && (want.MaxSockets == nil || want.Sockets <= *want.MaxSockets))
}

// guestEffect: memory can be added up to the ceiling, never removed.
func guestEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	have, want := running.Memory, desired.Memory
	return liveIf(have.Guest != nil && want.Guest != nil && want.Guest.Cmp(*have.Guest) > 0 &&
		isTrue(have.HotAddEnabled) && (want.MaxGuest == nil || want.Guest.Cmp(*want.MaxGuest) <= 0))
}

// cpuReservationEffect: any time, but vSphere refuses to give up a reservation
// that latency sensitivity needs, and one for vCPUs that are not there yet.
func cpuReservationEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	before, after := bytesOf(running.CPU.Reservation), bytesOf(desired.CPU.Reservation)
	have, _ := CPUs(running.CPU)
	want, _ := CPUs(desired.CPU)
	waits := have != want && socketsEffect(running, desired) == restart
	return liveIf(!(OwnCores(running.CPU) && after < before) && !(waits && after > before))
}

// pinned reports whether the reservation of all memory cannot be given up while the virtual machine runs.
func pinned(running *State) bool { return running.MemoryLocked && Pinned(&running.Spec) }

// memoryReservationEffect: any time, but not beyond the memory that is there,
// not apart from memory that is reserved as a whole, and not below what the
// running virtual machine is pinned by.
func memoryReservationEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	before, after := bytesOf(running.Memory.Reservation), bytesOf(desired.Memory.Reservation)
	guest := bytesOf(running.Memory.Guest)
	return liveIf(!(pinned(running) && after < before) &&
		!(memoryWaits(running, desired) && (running.MemoryLocked || desired.MemoryLocked || after > guest)))
}

// memoryLockedEffect: any time, but not off what the running virtual machine is pinned
// by, and not for memory that waits.
func memoryLockedEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	return liveIf(!pinned(running) && !memoryWaits(running, desired))
}

// memoryWaits reports whether another amount of memory needs a power cycle.
func memoryWaits(running, desired *State) bool {
	return bytesOf(running.Memory.Guest) != bytesOf(desired.Memory.Guest) && guestEffect(running, desired) == restart
}

// hardwareVersionEffect: it only rises.
func hardwareVersionEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	if desired.MinHardwareVersion > running.MinHardwareVersion {
		return restart
	}
	return none
}

// memoryLimitEffect: any time, but not below what is reserved.
func memoryLimitEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	return liveIf(desired.Memory.Limit == nil || bytesOf(desired.Memory.Limit) >= bytesOf(running.Memory.Reservation))
}
