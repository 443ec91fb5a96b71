// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"strings"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
)

// unlimited is vSphere's value for no limit.
const unlimited = int64(-1)

// allocation is reservation, limit and shares of one resource.
type allocation struct {
	reservation, limit int64
	shares             string
	info               *types.SharesInfo
}

// allocations compares reservations, limits and shares. vSphere changes them on
// a running VM as far as they fit the size that it has.
func (c *comparison) allocations() {
	if c.want.Effective.CPU != nil {
		c.cpuAllocation()
	}
	if c.want.Effective.Memory != nil {
		c.memoryAllocation()
	}
}

// cpuAllocation reserves whole cores where latency sensitivity needs them.
func (c *comparison) cpuAllocation() {
	cpu := c.want.Effective.CPU
	have := running(c.have.CpuAllocation)
	want := wanted(cpu.Reservation, cpu.Limit, cpu.Shares, megahertz)
	if fullCPU(cpu) && cpu.Reservation == nil && c.want.HostMHz > 0 {
		vcpus, _ := CPUs(cpu)
		want.reservation = int64(vcpus) * c.want.HostMHz
	}
	c.leave(&want, have, [3]bool{cpu.Reservation != nil || fullCPU(cpu), cpu.Limit != nil, cpu.Shares != nil})
	c.allocation(cpuAllocationFields, have, want, limits{
		reservation: !(c.latencyHigh() && want.reservation < have.reservation) && !(c.cpuWaits && want.reservation > have.reservation),
		limit:       true,
	}, func(s *types.VirtualMachineConfigSpec) **types.ResourceAllocationInfo { return &s.CpuAllocation })
}

// memoryAllocation reserves all memory where vSphere demands it. A reservation
// for memory that is not there yet waits with it, and one that pins the running
// VM stays until that is over.
func (c *comparison) memoryAllocation() {
	mem := c.want.Effective.Memory
	have := running(c.have.MemoryAllocation)
	want := wanted(mem.Reservation, mem.Limit, mem.Shares, mebibytes)
	havePassthrough, wantPassthrough := c.hasPassthrough()
	lock := mem.HugePageSize == "1Gi" || wantPassthrough || c.want.Effective.CPU != nil && fullCPU(c.want.Effective.CPU)
	if lock && mem.Guest != nil {
		want.reservation = mebibytes(mem.Guest)
	}
	c.leave(&want, have, [3]bool{mem.Reservation != nil || lock, mem.Limit != nil, mem.Shares != nil})
	haveLock, present := isTrue(c.have.MemoryReservationLockedToMax), int64(c.have.Hardware.MemoryMB)
	if c.adopted && !lock {
		lock = haveLock
	}
	pinned := haveLock && (c.latencyHigh() || havePassthrough || strings.EqualFold(extra(c, hugePageKey), "TRUE"))
	c.allocation(memoryAllocationFields, have, want, limits{
		reservation: !(c.memoryWaits && (lock || haveLock || want.reservation > present)) && !(pinned && want.reservation < have.reservation),
		limit:       want.limit == unlimited || want.limit >= have.reservation,
	}, func(s *types.VirtualMachineConfigSpec) **types.ResourceAllocationInfo { return &s.MemoryAllocation })
	c.add(Difference{Path: hardware.MemoryLocked, Live: !pinned && !c.memoryWaits,
		Running: hardware.Flag(haveLock), Desired: hardware.Flag(lock),
		set: func(s *types.VirtualMachineConfigSpec) { s.MemoryReservationLockedToMax = &lock }})
}

// fullCPU is true when each vCPU has a core of its own.
func fullCPU(cpu *vmv1alpha1.VirtualMachineCPU) bool {
	return isTrue(cpu.DedicatedCPUPlacement) || cpu.LatencySensitivity == vmv1alpha1.LatencySensitivityHigh
}

// latencyHigh is true when the VM has high latency sensitivity now.
func (c *comparison) latencyHigh() bool {
	return c.have.LatencySensitivity != nil && c.have.LatencySensitivity.Level == types.LatencySensitivitySensitivityLevelHigh
}

// allocationFields are the paths of an allocation, and how its amounts are printed.
type allocationFields struct {
	reservation, limit, shares string
	unit                       func(int64) string
}

var (
	cpuAllocationFields = allocationFields{hardware.CPUReservation, hardware.CPULimit, hardware.CPUShares,
		func(mhz int64) string { return hardware.Hertz(mhz * 1_000_000) }}
	memoryAllocationFields = allocationFields{hardware.MemoryReservation, hardware.MemoryLimit, hardware.MemoryShares, mi}
)

// print prints an amount; no limit is unset.
func (f allocationFields) print(amount int64) string {
	if amount == unlimited {
		return ""
	}
	return f.unit(amount)
}

// limits say what of an allocation a running VM takes.
type limits struct{ reservation, limit bool }

func (c *comparison) allocation(f allocationFields, have, want allocation, live limits, in func(*types.VirtualMachineConfigSpec) **types.ResourceAllocationInfo) {
	target := func(s *types.VirtualMachineConfigSpec) *types.ResourceAllocationInfo {
		p := in(s)
		if *p == nil {
			*p = &types.ResourceAllocationInfo{}
		}
		return *p
	}
	c.add(Difference{Path: f.reservation, Live: live.reservation, Running: f.print(have.reservation), Desired: f.print(want.reservation),
		set: func(s *types.VirtualMachineConfigSpec) { target(s).Reservation = &want.reservation }})
	c.add(Difference{Path: f.limit, Live: live.limit, Running: f.print(have.limit), Desired: f.print(want.limit),
		set: func(s *types.VirtualMachineConfigSpec) { target(s).Limit = &want.limit }})
	c.add(Difference{Path: f.shares, Live: true, Running: have.shares, Desired: want.shares,
		set: func(s *types.VirtualMachineConfigSpec) { target(s).Shares = want.info }})
}

// running reads an allocation; what vSphere does not report is its default.
func running(a *types.ResourceAllocationInfo) allocation {
	out := allocation{limit: unlimited, shares: string(vmv1alpha1.SharesNormal)}
	if a == nil {
		return out
	}
	if a.Reservation != nil {
		out.reservation = *a.Reservation
	}
	if a.Limit != nil {
		out.limit = *a.Limit
	}
	if s := a.Shares; s != nil {
		out.shares = hardware.Shares(vmv1alpha1.SharesLevel(title(string(s.Level))), s.Shares)
	}
	return out
}

func wanted(reservation, limit *resource.Quantity, shares *vmv1alpha1.Shares, unit func(*resource.Quantity) int64) allocation {
	out := allocation{limit: unlimited, shares: string(vmv1alpha1.SharesNormal), info: &types.SharesInfo{Level: types.SharesLevelNormal}}
	if reservation != nil {
		out.reservation = unit(reservation)
	}
	if limit != nil {
		out.limit = unit(limit)
	}
	if shares != nil {
		out.info = &types.SharesInfo{Level: types.SharesLevel(lower(string(shares.Level)))}
		if shares.Level == vmv1alpha1.SharesCustom && shares.Shares != nil {
			out.info.Shares = *shares.Shares
		}
		out.shares = hardware.Shares(shares.Level, out.info.Shares)
	}
	return out
}

func (c *comparison) latency() {
	cpu := c.want.Effective.CPU
	want := types.LatencySensitivitySensitivityLevelNormal
	switch {
	case fullCPU(cpu):
		want = types.LatencySensitivitySensitivityLevelHigh
	case c.adopted:
		return
	}
	level := types.LatencySensitivitySensitivityLevelNormal
	if l := c.have.LatencySensitivity; l != nil && l.Level != "" {
		level = l.Level
	}
	c.add(Difference{Path: hardware.CPULatency, Running: title(string(level)), Desired: title(string(want)),
		set: func(s *types.VirtualMachineConfigSpec) { s.LatencySensitivity = &types.LatencySensitivity{Level: want} }})
}
