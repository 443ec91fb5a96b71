// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func always(e vmv1alpha1.RefreshEffect) func(_, _ *effectiveSpec) vmv1alpha1.RefreshEffect {
	return func(_, _ *effectiveSpec) vmv1alpha1.RefreshEffect { return e }
}

func liveIf(ok bool) vmv1alpha1.RefreshEffect {
	if ok {
		return live
	}
	return restart
}

// coresPerSocket is the shape of a socket; vSphere counts a thread as a core.
func coresPerSocket(cpu *vmv1alpha1.VirtualMachineCPU) int32 {
	return max(cpu.Cores, 1) * max(cpu.Threads, 1)
}

// shapeEffect: another shape of the sockets is another processor.
func shapeEffect(running, desired *effectiveSpec) vmv1alpha1.RefreshEffect {
	if coresPerSocket(running.CPU) == coresPerSocket(desired.CPU) {
		return none
	}
	return restart
}

// ownCores reports whether every vCPU has a core of its own.
func ownCores(s *effectiveSpec) bool {
	return isTrue(s.CPU.DedicatedCPUPlacement) || s.CPU.LatencySensitivity == vmv1alpha1.LatencySensitivityHigh
}

// placementEffect: both fields ask for one setting, which is on or off.
func placementEffect(running, desired *effectiveSpec) vmv1alpha1.RefreshEffect {
	if ownCores(running) == ownCores(desired) {
		return none
	}
	return restart
}

// pagesEffect: only pages of 1 GiB are a setting.
func pagesEffect(running, desired *effectiveSpec) vmv1alpha1.RefreshEffect {
	if (running.Memory.HugePageSize == "1Gi") == (desired.Memory.HugePageSize == "1Gi") {
		return none
	}
	return restart
}

// socketsEffect: vCPUs can be added up to the ceiling, never removed, while the
// shape of a socket stays as it is.
func socketsEffect(running, desired *effectiveSpec) vmv1alpha1.RefreshEffect {
	have, want := running.CPU, desired.CPU
	return liveIf(want.Sockets > have.Sockets && coresPerSocket(want) == coresPerSocket(have) &&
		isTrue(have.HotAddEnabled) && (want.MaxSockets == nil || want.Sockets <= *want.MaxSockets))
}

// guestEffect: memory can be added up to the ceiling, never removed.
func guestEffect(running, desired *effectiveSpec) vmv1alpha1.RefreshEffect {
	have, want := running.Memory, desired.Memory
	return liveIf(have.Guest != nil && want.Guest != nil && want.Guest.Cmp(*have.Guest) > 0 &&
		isTrue(have.HotAddEnabled) && (want.MaxGuest == nil || want.Guest.Cmp(*want.MaxGuest) <= 0))
}

// vcpusOf is the number of vCPUs.
func vcpusOf(s *effectiveSpec) int32 { return max(s.CPU.Sockets, 1) * coresPerSocket(s.CPU) }

// cpuReservationEffect: any time, but vSphere refuses to give up a reservation
// that latency sensitivity needs, and one for vCPUs that are not there yet.
func cpuReservationEffect(running, desired *effectiveSpec) vmv1alpha1.RefreshEffect {
	before, after := value(running.CPU.Reservation), value(desired.CPU.Reservation)
	waits := vcpusOf(running) != vcpusOf(desired) && socketsEffect(running, desired) == restart
	return liveIf(!(ownCores(running) && after < before) && !(waits && after > before))
}

// pinnedMemory reports whether all memory has to be reserved.
func pinnedMemory(s *effectiveSpec) bool {
	return ownCores(s) || s.Memory.HugePageSize == "1Gi" ||
		s.Devices != nil && len(s.Devices.GPUs)+len(s.Devices.HostDevices) > 0
}

// memoryReservationEffect: any time, but not beyond the memory that is there,
// not apart from memory that is reserved as a whole, and not below what the
// running virtual machine is pinned by.
func memoryReservationEffect(running, desired *effectiveSpec) vmv1alpha1.RefreshEffect {
	before, after := value(running.Memory.Reservation), value(desired.Memory.Reservation)
	present := value(running.Memory.Guest)
	waits := present != value(desired.Memory.Guest) && guestEffect(running, desired) == restart
	return liveIf(!(pinnedMemory(running) && after < before) &&
		!(waits && (pinnedMemory(running) || pinnedMemory(desired) || after > present)))
}

// memoryLimitEffect: any time, but not below what is reserved.
func memoryLimitEffect(running, desired *effectiveSpec) vmv1alpha1.RefreshEffect {
	return liveIf(desired.Memory.Limit == nil || value(desired.Memory.Limit) >= value(running.Memory.Reservation))
}
