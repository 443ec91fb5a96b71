// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"
	"strconv"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// unlimited is vSphere's value for no limit.
const unlimited = int64(-1)

// allocation is reservation, limit and shares of one resource.
type allocation struct {
	reservation, limit int64
	shares             string
	info               *types.SharesInfo
}

// allocations compares reservations, limits and shares, all of which vSphere
// changes on a running VM.
func (c *comparison) allocations() {
	e := c.want.Effective
	if cpu := e.CPU; cpu != nil {
		want := wanted(cpu.Reservation, cpu.Limit, cpu.Shares, megahertz)
		c.allocation("cpu", running(c.have.CpuAllocation), want, func(s *types.VirtualMachineConfigSpec) **types.ResourceAllocationInfo {
			return &s.CpuAllocation
		})
	}
	mem := e.Memory
	if mem == nil {
		return
	}
	want := wanted(mem.Reservation, mem.Limit, mem.Shares, mebibytes)
	lock := mem.HugePageSize == "1Gi" || e.CPU != nil && (isTrue(e.CPU.DedicatedCPUPlacement) || e.CPU.LatencySensitivity == vmv1alpha1.LatencySensitivityHigh)
	if lock && mem.Guest != nil {
		want.reservation = mebibytes(mem.Guest)
	}
	c.allocation("memory", running(c.have.MemoryAllocation), want, func(s *types.VirtualMachineConfigSpec) **types.ResourceAllocationInfo {
		return &s.MemoryAllocation
	})
	c.add(Difference{Path: "memory.reservationLocked", Live: true,
		Running: strconv.FormatBool(isTrue(c.have.MemoryReservationLockedToMax)), Desired: strconv.FormatBool(lock),
		set: func(s *types.VirtualMachineConfigSpec) { s.MemoryReservationLockedToMax = &lock }})
}

func (c *comparison) allocation(path string, have, want allocation, in func(*types.VirtualMachineConfigSpec) **types.ResourceAllocationInfo) {
	target := func(s *types.VirtualMachineConfigSpec) *types.ResourceAllocationInfo {
		p := in(s)
		if *p == nil {
			*p = &types.ResourceAllocationInfo{}
		}
		return *p
	}
	c.add(Difference{Path: path + ".reservation", Live: true, Running: number(have.reservation), Desired: number(want.reservation),
		set: func(s *types.VirtualMachineConfigSpec) { target(s).Reservation = &want.reservation }})
	c.add(Difference{Path: path + ".limit", Live: true, Running: number(have.limit), Desired: number(want.limit),
		set: func(s *types.VirtualMachineConfigSpec) { target(s).Limit = &want.limit }})
	c.add(Difference{Path: path + ".shares", Live: true, Running: have.shares, Desired: want.shares,
		set: func(s *types.VirtualMachineConfigSpec) { target(s).Shares = want.info }})
}

// running reads an allocation; what vSphere does not report is its default.
func running(a *types.ResourceAllocationInfo) allocation {
	out := allocation{limit: unlimited, shares: "normal"}
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
		out.shares = string(s.Level)
		if s.Level == types.SharesLevelCustom {
			out.shares = fmt.Sprintf("custom %d", s.Shares)
		}
	}
	return out
}

func wanted(reservation, limit *resource.Quantity, shares *vmv1alpha1.Shares, unit func(*resource.Quantity) int64) allocation {
	out := allocation{limit: unlimited, shares: "normal", info: &types.SharesInfo{Level: types.SharesLevelNormal}}
	if reservation != nil {
		out.reservation = unit(reservation)
	}
	if limit != nil {
		out.limit = unit(limit)
	}
	if shares != nil {
		out.shares = lower(string(shares.Level))
		out.info = &types.SharesInfo{Level: types.SharesLevel(out.shares)}
		if shares.Level == vmv1alpha1.SharesCustom && shares.Shares != nil {
			out.info.Shares = *shares.Shares
			out.shares = fmt.Sprintf("custom %d", *shares.Shares)
		}
	}
	return out
}

func (c *comparison) latency() {
	cpu := c.want.Effective.CPU
	want := types.LatencySensitivitySensitivityLevelNormal
	if isTrue(cpu.DedicatedCPUPlacement) || cpu.LatencySensitivity == vmv1alpha1.LatencySensitivityHigh {
		want = types.LatencySensitivitySensitivityLevelHigh
	}
	level := types.LatencySensitivitySensitivityLevelNormal
	if l := c.have.LatencySensitivity; l != nil && l.Level != "" {
		level = l.Level
	}
	c.add(Difference{Path: "cpu.latencySensitivity", Running: string(level), Desired: string(want),
		set: func(s *types.VirtualMachineConfigSpec) { s.LatencySensitivity = &types.LatencySensitivity{Level: want} }})
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
