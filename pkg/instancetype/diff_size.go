// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

type effectiveSpec = vmv1alpha1.VirtualMachineInstanceSpec

// sizeField is one compared field of cpu or memory.
type sizeField struct {
	path string
	// value prints the field; unset is empty, and what is unset is equal to its
	// default.
	value func(*effectiveSpec) string
	// effect classifies a change; nil is always a restart.
	classify func(running, desired *effectiveSpec) vmv1alpha1.RefreshEffect
	// assign copies a field that can change live.
	assign func(target, desired *effectiveSpec)
	// optional fields that the desired spec leaves unset match every value.
	optional bool
}

func (f *sizeField) effect(running, desired *effectiveSpec) vmv1alpha1.RefreshEffect {
	if f.classify == nil {
		return restart
	}
	return f.classify(running, desired)
}

func (f *sizeField) satisfied(_, desired *effectiveSpec) bool {
	return f.optional && f.value(desired) == ""
}

// sizeFields are compared in this order.
var sizeFields = []sizeField{
	{path: "cpu.sockets",
		value:    func(s *effectiveSpec) string { return count(s.CPU.Sockets) },
		classify: socketsEffect,
		assign:   func(t, d *effectiveSpec) { t.CPU.Sockets = d.CPU.Sockets }},
	{path: "cpu.cores", value: func(s *effectiveSpec) string { return count(s.CPU.Cores) }},
	{path: "cpu.threads", value: func(s *effectiveSpec) string { return count(s.CPU.Threads) }},
	{path: "cpu.maxSockets", value: func(s *effectiveSpec) string { return number(s.CPU.MaxSockets) }},
	{path: "cpu.hotAddEnabled", optional: true, value: func(s *effectiveSpec) string { return boolean(s.CPU.HotAddEnabled) }},
	{path: "cpu.dedicatedCPUPlacement", value: func(s *effectiveSpec) string { return trueOnly(s.CPU.DedicatedCPUPlacement) }},
	{path: "cpu.latencySensitivity", value: func(s *effectiveSpec) string { return latency(s.CPU.LatencySensitivity) }},
	{path: "cpu.exposeVNUMA", value: func(s *effectiveSpec) string { return boolean(s.CPU.ExposeVNUMA) }},
	{path: "cpu.reservation",
		value:    func(s *effectiveSpec) string { return quantity(s.CPU.Reservation) },
		classify: cpuReservationEffect,
		assign:   func(t, d *effectiveSpec) { t.CPU.Reservation = copyQuantity(d.CPU.Reservation) }},
	{path: "cpu.limit",
		value:    func(s *effectiveSpec) string { return quantity(s.CPU.Limit) },
		classify: always(live),
		assign:   func(t, d *effectiveSpec) { t.CPU.Limit = copyQuantity(d.CPU.Limit) }},
	{path: "cpu.shares",
		value:    func(s *effectiveSpec) string { return shares(s.CPU.Shares) },
		classify: always(live),
		assign:   func(t, d *effectiveSpec) { t.CPU.Shares = d.CPU.Shares.DeepCopy() }},
	{path: "memory.guest",
		value:    func(s *effectiveSpec) string { return quantity(s.Memory.Guest) },
		classify: guestEffect,
		assign:   func(t, d *effectiveSpec) { t.Memory.Guest = copyQuantity(d.Memory.Guest) }},
	{path: "memory.maxGuest", value: func(s *effectiveSpec) string { return quantity(s.Memory.MaxGuest) }},
	{path: "memory.hotAddEnabled", optional: true, value: func(s *effectiveSpec) string { return boolean(s.Memory.HotAddEnabled) }},
	{path: "memory.hugePageSize", value: func(s *effectiveSpec) string { return s.Memory.HugePageSize }},
	{path: "memory.reservation",
		value:    func(s *effectiveSpec) string { return quantity(s.Memory.Reservation) },
		classify: memoryReservationEffect,
		assign:   func(t, d *effectiveSpec) { t.Memory.Reservation = copyQuantity(d.Memory.Reservation) }},
	{path: "memory.limit",
		value:    func(s *effectiveSpec) string { return quantity(s.Memory.Limit) },
		classify: memoryLimitEffect,
		assign:   func(t, d *effectiveSpec) { t.Memory.Limit = copyQuantity(d.Memory.Limit) }},
	{path: "memory.shares",
		value:    func(s *effectiveSpec) string { return shares(s.Memory.Shares) },
		classify: always(live),
		assign:   func(t, d *effectiveSpec) { t.Memory.Shares = d.Memory.Shares.DeepCopy() }},
}

func always(e vmv1alpha1.RefreshEffect) func(_, _ *effectiveSpec) vmv1alpha1.RefreshEffect {
	return func(_, _ *effectiveSpec) vmv1alpha1.RefreshEffect { return e }
}

func liveIf(ok bool) vmv1alpha1.RefreshEffect {
	if ok {
		return live
	}
	return restart
}

// socketsEffect: vCPUs can be added, never removed, while the shape of a socket
// stays as it is.
func socketsEffect(running, desired *effectiveSpec) vmv1alpha1.RefreshEffect {
	have, want := running.CPU, desired.CPU
	return liveIf(want.Sockets > have.Sockets &&
		count(want.Cores) == count(have.Cores) && count(want.Threads) == count(have.Threads) &&
		isTrue(have.HotAddEnabled) && (have.MaxSockets == nil || want.Sockets <= *have.MaxSockets))
}

// guestEffect: memory can be added, never removed.
func guestEffect(running, desired *effectiveSpec) vmv1alpha1.RefreshEffect {
	have, want := running.Memory, desired.Memory
	return liveIf(have.Guest != nil && want.Guest != nil && want.Guest.Cmp(*have.Guest) > 0 &&
		isTrue(have.HotAddEnabled) && (have.MaxGuest == nil || want.Guest.Cmp(*have.MaxGuest) <= 0))
}

// cpuReservationEffect: any time, but vSphere refuses to give up a reservation
// that latency sensitivity needs, and one for vCPUs that are not there yet.
func cpuReservationEffect(running, desired *effectiveSpec) vmv1alpha1.RefreshEffect {
	if running.CPU.LatencySensitivity == vmv1alpha1.LatencySensitivityHigh {
		return restart
	}
	more := value(desired.CPU.Reservation) > value(running.CPU.Reservation)
	waiting := count(running.CPU.Sockets) != count(desired.CPU.Sockets) && socketsEffect(running, desired) == restart
	return liveIf(!more || !waiting)
}

// memoryReservationEffect: any time, but not beyond the memory that is there,
// and not below what the running virtual machine is pinned by.
func memoryReservationEffect(running, desired *effectiveSpec) vmv1alpha1.RefreshEffect {
	pinned := running.CPU.LatencySensitivity == vmv1alpha1.LatencySensitivityHigh ||
		running.Memory.HugePageSize == "1Gi" ||
		running.Devices != nil && len(running.Devices.GPUs)+len(running.Devices.HostDevices) > 0
	if pinned {
		return restart
	}
	return liveIf(value(desired.Memory.Reservation) <= memoryAfter(running, desired))
}

// memoryLimitEffect: any time, but a limit below the memory that is there was
// meant for less memory.
func memoryLimitEffect(running, desired *effectiveSpec) vmv1alpha1.RefreshEffect {
	limit := value(desired.Memory.Limit)
	return liveIf(limit == 0 || limit >= value(running.Memory.Guest) || guestEffect(running, desired) == live ||
		value(desired.Memory.Guest) == value(running.Memory.Guest))
}

// memoryAfter is the memory once all that can change live has changed.
func memoryAfter(running, desired *effectiveSpec) int64 {
	if guestEffect(running, desired) == live {
		return value(desired.Memory.Guest)
	}
	return value(running.Memory.Guest)
}

func isTrue(b *bool) bool { return b != nil && *b }

func value(q *resource.Quantity) int64 {
	if q == nil {
		return 0
	}
	return q.Value()
}

func copyQuantity(q *resource.Quantity) *resource.Quantity {
	if q == nil {
		return nil
	}
	out := q.DeepCopy()
	return &out
}

// count prints a dimension of the topology, of which 0 means 1.
func count(n int32) string { return strconv.Itoa(int(max(n, 1))) }
