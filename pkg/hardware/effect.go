// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// LargePageSize is the page size that can be configured in vSphere.
const LargePageSize = "1Gi"

const (
	live    = vmv1alpha1.RefreshEffectLive
	restart = vmv1alpha1.RefreshEffectRestart
	none    = vmv1alpha1.RefreshEffectNone
)

// effect returns when a change of a field takes effect on a running virtual machine.
type effect func(running, desired *State) vmv1alpha1.RefreshEffect

func always(e vmv1alpha1.RefreshEffect) effect {
	return func(_, _ *State) vmv1alpha1.RefreshEffect { return e }
}

// ifSet is for fields that keep their value if the desired state does not set them.
func ifSet(e vmv1alpha1.RefreshEffect, set func(desired *State) bool) effect {
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

// bootDiskEffect returns the effect for the boot disk: it can grow except on IDE, and never shrinks.
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

// HasDedicatedCores reports whether every vCPU has a dedicated core.
func HasDedicatedCores(c *vmv1alpha1.VirtualMachineCPU) bool {
	return c != nil && (isTrue(c.DedicatedCPUPlacement) || c.LatencySensitivity == vmv1alpha1.LatencySensitivityHigh)
}

// NeedsFullReservation reports whether vSphere requires that all memory is reserved.
func NeedsFullReservation(s *Spec) bool {
	return HasDedicatedCores(s.CPU) || s.Memory != nil && s.Memory.HugePageSize == LargePageSize || usesSRIOV(s) ||
		s.Devices != nil && len(s.Devices.GPUs)+len(s.Devices.HostDevices) > 0
}

// shapeEffect returns the effect of a change of the cores per socket, which needs a power cycle.
func shapeEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	if hasSameShape(running, desired) {
		return none
	}
	return restart
}

func hasSameShape(running, desired *State) bool {
	_, before := CPUs(running.CPU)
	_, after := CPUs(desired.CPU)
	return before == after
}

// placementEffect returns the effect for two fields that map to the same setting.
func placementEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	if HasDedicatedCores(running.CPU) == HasDedicatedCores(desired.CPU) {
		return none
	}
	return restart
}

// pagesEffect returns the effect for the page size. Only 1 GiB pages can be configured.
func pagesEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	if (running.Memory.HugePageSize == LargePageSize) == (desired.Memory.HugePageSize == LargePageSize) {
		return none
	}
	return restart
}

// socketsEffect returns the effect for the number of sockets. Whole sockets can be added up to the maximum if the cores
// per socket do not change. They are never removed live.
func socketsEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	have, want := running.CPU, desired.CPU
	vcpus, _ := CPUs(want)
	return liveIf(want.Sockets > have.Sockets && hasSameShape(running, desired) && vcpus%running.CoresPerSocket == 0 &&
		isTrue(have.HotAddEnabled) && (want.MaxSockets == nil || want.Sockets <= *want.MaxSockets))
}

// guestEffect returns the effect for the memory size. Memory can be added up to the maximum and is never removed live.
func guestEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	have, want := running.Memory, desired.Memory
	return liveIf(have.Guest != nil && want.Guest != nil && want.Guest.Cmp(*have.Guest) > 0 &&
		isTrue(have.HotAddEnabled) && (want.MaxGuest == nil || want.Guest.Cmp(*want.MaxGuest) <= 0))
}

// cpuReservationEffect returns the effect for the CPU reservation. It can change at any time, with two exceptions: a
// reservation that latency sensitivity needs cannot be reduced, and it cannot be increased for vCPUs that wait for a
// power cycle.
func cpuReservationEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	before, after := bytesOf(running.CPU.Reservation), bytesOf(desired.CPU.Reservation)
	have, _ := CPUs(running.CPU)
	want, _ := CPUs(desired.CPU)
	waits := have != want && socketsEffect(running, desired) == restart
	return liveIf(!(HasDedicatedCores(running.CPU) && after < before) && !(waits && after > before))
}

// isMemoryPinned reports whether the full memory reservation cannot be removed while the virtual machine runs.
func isMemoryPinned(running *State) bool {
	return running.MemoryLocked && NeedsFullReservation(&running.Spec)
}

// memoryReservationEffect returns the effect for the memory reservation. It can change at any time, with these
// exceptions: it cannot exceed the current memory, it cannot differ from fully reserved memory, and it cannot be
// reduced while the running virtual machine is pinned.
func memoryReservationEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	before, after := bytesOf(running.Memory.Reservation), bytesOf(desired.Memory.Reservation)
	guest := bytesOf(running.Memory.Guest)
	return liveIf(!(isMemoryPinned(running) && after < before) &&
		!(memoryNeedsRestart(running, desired) && (running.MemoryLocked || desired.MemoryLocked || after > guest)))
}

// memoryLockedEffect returns the effect for the full memory reservation. It can change unless the running virtual
// machine is pinned or the memory size waits for a power cycle.
func memoryLockedEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	return liveIf(!isMemoryPinned(running) && !memoryNeedsRestart(running, desired))
}

// memoryNeedsRestart reports whether a change of the memory size needs a power cycle.
func memoryNeedsRestart(running, desired *State) bool {
	return bytesOf(running.Memory.Guest) != bytesOf(desired.Memory.Guest) && guestEffect(running, desired) == restart
}

// hardwareVersionEffect returns the effect for the hardware version. It is never lowered.
func hardwareVersionEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	if desired.MinHardwareVersion > running.MinHardwareVersion {
		return restart
	}
	return none
}

// memoryLimitEffect returns the effect for the memory limit. It must not be less than the reservation.
func memoryLimitEffect(running, desired *State) vmv1alpha1.RefreshEffect {
	return liveIf(desired.Memory.Limit == nil || bytesOf(desired.Memory.Limit) >= bytesOf(running.Memory.Reservation))
}
