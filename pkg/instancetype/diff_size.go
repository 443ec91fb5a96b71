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
	// classify says when a change takes effect; nil is always a restart.
	classify func(running, desired *effectiveSpec) vmv1alpha1.RefreshEffect
	// assign copies a field that can change live.
	assign func(target, desired *effectiveSpec)
}

func (f *sizeField) effect(running, desired *effectiveSpec) vmv1alpha1.RefreshEffect {
	if f.classify == nil {
		return restart
	}
	return f.classify(running, desired)
}

// sizeFields are compared in this order.
var sizeFields = []sizeField{
	{path: "cpu.sockets",
		value:    func(s *effectiveSpec) string { return count(s.CPU.Sockets) },
		classify: socketsEffect,
		assign:   func(t, d *effectiveSpec) { t.CPU.Sockets = d.CPU.Sockets }},
	{path: "cpu.cores", value: func(s *effectiveSpec) string { return count(s.CPU.Cores) }, classify: shapeEffect},
	{path: "cpu.threads", value: func(s *effectiveSpec) string { return count(s.CPU.Threads) }, classify: shapeEffect},
	{path: "cpu.maxSockets",
		value:    func(s *effectiveSpec) string { return number(s.CPU.MaxSockets) },
		classify: always(live),
		assign:   func(t, d *effectiveSpec) { t.CPU.MaxSockets = copyNumber(d.CPU.MaxSockets) }},
	{path: "cpu.hotAddEnabled", value: func(s *effectiveSpec) string { return strconv.FormatBool(isTrue(s.CPU.HotAddEnabled)) }},
	{path: "cpu.dedicatedCPUPlacement",
		value:    func(s *effectiveSpec) string { return trueOnly(s.CPU.DedicatedCPUPlacement) },
		classify: placementEffect},
	{path: "cpu.latencySensitivity",
		value:    func(s *effectiveSpec) string { return latency(s.CPU.LatencySensitivity) },
		classify: placementEffect},
	// It takes effect by cpu.hotAddEnabled, which it excludes.
	{path: "cpu.exposeVNUMA", value: func(s *effectiveSpec) string { return trueOnly(s.CPU.ExposeVNUMA) }, classify: always(none)},
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
	{path: "memory.maxGuest",
		value:    func(s *effectiveSpec) string { return quantity(s.Memory.MaxGuest) },
		classify: always(live),
		assign:   func(t, d *effectiveSpec) { t.Memory.MaxGuest = copyQuantity(d.Memory.MaxGuest) }},
	{path: "memory.hotAddEnabled", value: func(s *effectiveSpec) string { return strconv.FormatBool(isTrue(s.Memory.HotAddEnabled)) }},
	{path: "memory.hugePageSize", value: func(s *effectiveSpec) string { return s.Memory.HugePageSize }, classify: pagesEffect},
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

func isTrue(b *bool) bool { return b != nil && *b }

func value(q *resource.Quantity) int64 {
	if q == nil {
		return 0
	}
	return q.Value()
}

func copyNumber(n *int32) *int32 {
	if n == nil {
		return nil
	}
	out := *n
	return &out
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
