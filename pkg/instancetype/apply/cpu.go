// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// applyCPU sets cpu to the vCPUs of the instance type. cpu has the values of the virtual machine's spec. own is the
// original spec, or nil.
func applyCPU(
	cpu, own *vmv1alpha1.VirtualMachineCPU,
	it *itv1alpha1.VirtualMachineInstancetypeSpec,
	pref *itv1alpha1.VirtualMachinePreferenceSpec,
	found *problems,
) {
	cpuConflicts(own, &it.CPU, found)
	topology, err := Arrange(it.CPU.Guest, pref)
	if err != nil {
		found.add(InvalidProblem, "spec.instancetype", err.Error())
	}
	cpu.Sockets, cpu.Cores, cpu.Threads = topology.Sockets, topology.Cores, topology.Threads
	if it.CPU.MaxSockets != nil {
		if topology.Sockets > *it.CPU.MaxSockets {
			found.add(InvalidProblem, "spec.instancetype", "cpu.maxSockets of the instance type is less than the number of sockets for its vCPUs")
		}
		maxSockets := *it.CPU.MaxSockets
		cpu.MaxSockets = &maxSockets
	}
	if it.CPU.Model != nil {
		cpu.Model = *it.CPU.Model
	}
	if it.CPU.DedicatedCPUPlacement != nil {
		dedicated := *it.CPU.DedicatedCPUPlacement
		cpu.DedicatedCPUPlacement = &dedicated
	}
	if it.CPU.Realtime != nil {
		cpu.LatencySensitivity = vmv1alpha1.LatencySensitivityHigh
	}
	if exposesVNUMA(&it.CPU) {
		expose := true
		cpu.ExposeVNUMA = &expose
	}
}

// cpuConflicts reports the fields that both the virtual machine and the instance type set.
func cpuConflicts(own *vmv1alpha1.VirtualMachineCPU, it *itv1alpha1.CPUInstancetype, found *problems) {
	if own == nil {
		return
	}
	dedicated := it.DedicatedCPUPlacement != nil && *it.DedicatedCPUPlacement
	for _, c := range []struct {
		path string
		both bool
	}{
		{"spec.cpu.sockets", own.Sockets != 0},
		{"spec.cpu.cores", own.Cores != 0},
		{"spec.cpu.threads", own.Threads != 0},
		{"spec.cpu.maxSockets", own.MaxSockets != nil && it.MaxSockets != nil},
		{"spec.cpu.model", own.Model != "" && it.Model != nil},
		{"spec.cpu.dedicatedCPUPlacement", own.DedicatedCPUPlacement != nil && it.DedicatedCPUPlacement != nil},
		{"spec.cpu.exposeVNUMA", own.ExposeVNUMA != nil && exposesVNUMA(it)},
		{"spec.cpu.latencySensitivity", own.LatencySensitivity != "" && (it.Realtime != nil || dedicated)},
	} {
		if c.both {
			found.conflict(c.path, sourceInstancetype)
		}
	}
	if own.Reservation != nil {
		found.excluded("spec.cpu.reservation")
	}
	if own.Limit != nil {
		found.excluded("spec.cpu.limit")
	}
}

func exposesVNUMA(it *itv1alpha1.CPUInstancetype) bool {
	return it.NUMA != nil && it.NUMA.GuestMappingPassthrough != nil
}
