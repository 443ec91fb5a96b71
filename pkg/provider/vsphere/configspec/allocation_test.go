// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// latencyHigh gives a running VM high latency sensitivity.
func latencyHigh(w *Desired, vm *mo.VirtualMachine) {
	locked(w, vm)
	vm.Config.LatencySensitivity = &types.LatencySensitivity{Level: types.LatencySensitivitySensitivityLevelHigh}
	vm.Config.CpuAllocation = &types.ResourceAllocationInfo{Reservation: ptr(int64(4000))}
	w.HostMHz = 2000
}

// A running VM of 2Gi and 2 CPUs gets no reservation that exceeds its size.
func TestDifferences_ReservationsFitTheRunningSize(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Desired, *mo.VirtualMachine)
		want   []Difference
	}{
		{"a reservation within the memory", func(w *Desired, _ *mo.VirtualMachine) { w.Effective.Memory.Reservation = quantity("2Gi") },
			[]Difference{{Path: "memory.reservation", Running: "0", Desired: "2Gi", Live: true}}},
		{"a reservation for memory that waits for a restart", func(w *Desired, _ *mo.VirtualMachine) {
			w.Effective.Memory.Guest, w.Effective.Memory.Reservation = quantity("4Gi"), quantity("4Gi")
		}, []Difference{{Path: "memory.guest", Running: "2Gi", Desired: "4Gi"}, {Path: "memory.reservation", Running: "0", Desired: "4Gi"}}},
		{"a reservation for memory that is added live", func(w *Desired, vm *mo.VirtualMachine) {
			w.Effective.Memory.Guest, w.Effective.Memory.Reservation = quantity("4Gi"), quantity("4Gi")
			w.Effective.Memory.HotAddEnabled, vm.Config.MemoryHotAddEnabled = ptr(true), ptr(true)
		}, []Difference{{Path: "memory.guest", Running: "2Gi", Desired: "4Gi", Live: true}, {Path: "memory.reservation", Running: "0", Desired: "4Gi", Live: true}}},
		{"a reservation for CPUs that wait for a restart", func(w *Desired, vm *mo.VirtualMachine) {
			latencyHigh(w, vm)
			w.Effective.CPU.Sockets, w.Effective.CPU.DedicatedCPUPlacement = 4, ptr(true)
		}, []Difference{{Path: "cpu.sockets", Running: "2", Desired: "4"}, {Path: "cpu.reservation", Running: "4G", Desired: "8G"}}},
		{"dedicated CPUs", func(w *Desired, _ *mo.VirtualMachine) {
			w.HostMHz, w.Effective.CPU.DedicatedCPUPlacement = 2100, ptr(true)
		}, []Difference{{Path: "cpu.latencySensitivity", Running: "Normal", Desired: "High"},
			{Path: "cpu.reservation", Running: "0", Desired: "4200M", Live: true},
			{Path: "memory.reservation", Running: "0", Desired: "2Gi", Live: true},
			{Path: "memory.reservationLocked", Running: "false", Desired: "true", Live: true}}},
		{"dedicated CPUs and an explicit reservation", func(w *Desired, _ *mo.VirtualMachine) {
			w.HostMHz, w.Effective.CPU.LatencySensitivity, w.Effective.CPU.Reservation = 2100, vmv1alpha1.LatencySensitivityHigh, quantity("3G")
		}, []Difference{{Path: "cpu.latencySensitivity", Running: "Normal", Desired: "High"},
			{Path: "cpu.reservation", Running: "0", Desired: "3G", Live: true},
			{Path: "memory.reservation", Running: "0", Desired: "2Gi", Live: true},
			{Path: "memory.reservationLocked", Running: "false", Desired: "true", Live: true}}},
		{"high latency sensitivity and its reservation are removed together", func(w *Desired, vm *mo.VirtualMachine) { latencyHigh(w, vm) },
			[]Difference{{Path: "cpu.latencySensitivity", Running: "High", Desired: "Normal"},
				{Path: "cpu.reservation", Running: "4G", Desired: "0"},
				{Path: "memory.reservation", Running: "2Gi", Desired: "0"},
				{Path: "memory.reservationLocked", Running: "true", Desired: "false"}}},
		{"a device pins memory", func(w *Desired, vm *mo.VirtualMachine) {
			w.Effective.Devices = &devices{GPUs: []device{{Name: "g", DeviceName: "grid"}}}
			vm.Config.Hardware.Device = append(vm.Config.Hardware.Device, vgpu(13000, "grid"))
		}, []Difference{{Path: "memory.reservation", Running: "0", Desired: "2Gi", Live: true},
			{Path: "memory.reservationLocked", Running: "false", Desired: "true", Live: true}}},
		{"1Gi pages", func(w *Desired, _ *mo.VirtualMachine) { w.Effective.Memory.HugePageSize = "1Gi" },
			[]Difference{{Path: "memory.hugePageSize", Desired: "1Gi"},
				{Path: "memory.reservation", Running: "0", Desired: "2Gi", Live: true},
				{Path: "memory.reservationLocked", Running: "false", Desired: "true", Live: true}}},
		{"1Gi pages are removed", func(_ *Desired, vm *mo.VirtualMachine) {
			vm.Config.ExtraConfig = append(vm.Config.ExtraConfig, &types.OptionValue{Key: hugePageKey, Value: "TRUE"})
		}, []Difference{{Path: "memory.hugePageSize", Running: "1Gi"}}},
		{"a limit below the reservation waits for a restart", func(w *Desired, vm *mo.VirtualMachine) {
			vm.Config.MemoryAllocation = &types.ResourceAllocationInfo{Reservation: ptr(int64(2048))}
			w.Effective.Memory.Limit = quantity("1Gi")
		}, []Difference{{Path: "memory.reservation", Running: "2Gi", Desired: "0", Live: true}, {Path: "memory.limit", Desired: "1Gi"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, vm := want(), have()
			tc.change(&w, vm)
			if diff := cmp.Diff(tc.want, Differences(w, vm), cmpopts.IgnoreUnexported(Difference{})); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}
