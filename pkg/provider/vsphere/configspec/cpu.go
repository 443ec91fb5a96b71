// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
)

func (c *comparison) cpu() {
	cpu := c.want.Effective.CPU
	c.topology(cpu)
	hotAdd := isTrue(c.have.CpuHotAddEnabled)
	want := isTrue(cpu.HotAddEnabled) || cpu.HotAddEnabled == nil && !isTrue(cpu.ExposeVNUMA) && cpu.MaxSockets != nil && *cpu.MaxSockets > max(cpu.Sockets, 1)
	c.add(Difference{Path: hardware.CPUHotAdd, Running: c.told(hardware.Flag(hotAdd)), Desired: hardware.Flag(want),
		set: func(s *types.VirtualMachineConfigSpec) { s.CpuHotAddEnabled = &want }})
	c.latency()
}

// topology compares the vCPUs and how they are spread over sockets. A new VM is
// told the cores per socket in any case: those of its image must not stay, and
// from hardware version 20 on vSphere chooses them when nobody does.
func (c *comparison) topology(cpu *vmv1alpha1.VirtualMachineCPU) {
	vcpus, cores := CPUs(cpu)
	asked := cpu.Cores > 0 || cpu.Threads > 0
	hw := c.have.Hardware
	haveCores := int32(1)
	if hw.NumCoresPerSocket != nil {
		haveCores = max(*hw.NumCoresPerSocket, 1)
	}
	hotAdd := isTrue(c.have.CpuHotAddEnabled) && vcpus > hw.NumCPU
	if c.vm.Config != nil && c.leavesCores(asked, cores) {
		live := hotAdd && vcpus%haveCores == 0
		c.cpuWaits = vcpus != hw.NumCPU && !live
		c.vcpus(hw.NumCPU, vcpus, live, func(s *types.VirtualMachineConfigSpec) {
			if s.NumCPUs = vcpus; vcpus%haveCores != 0 {
				s.NumCoresPerSocket = coresOf(asked, cores)
			}
		})
		return
	}
	running := c.told(hardware.Count(haveCores))
	if isTrue(hw.AutoCoresPerSocket) && c.off() {
		running = "" // vSphere chooses it at the next power on.
	}
	live := hotAdd && cores == haveCores
	c.cpuWaits = vcpus != hw.NumCPU && !live
	c.add(Difference{Path: hardware.CPUCores, Running: running, Desired: hardware.Count(cores),
		set: func(s *types.VirtualMachineConfigSpec) { s.NumCoresPerSocket = coresOf(asked, cores) }})
	c.vcpus(hw.NumCPU/haveCores, vcpus/cores, live, func(s *types.VirtualMachineConfigSpec) { s.NumCPUs = vcpus })
	if hw.NumCPU != vcpus && hw.NumCPU/haveCores == vcpus/cores {
		// The number of sockets is the same, that of CPUs is not: the cores differ, or
		// sockets are not full.
		c.add(Difference{Path: hardware.CPUCores, Running: hardware.Count(hw.NumCPU) + " vCPUs", Desired: hardware.Count(vcpus) + " vCPUs",
			set: func(s *types.VirtualMachineConfigSpec) { s.NumCPUs = vcpus }})
	}
}

// leavesCores is true when the cores per socket of the VM are not to be changed:
// the spec does not name them, or names one, which is its default, and vSphere or
// an administrator has chosen others. What vSphere has chosen for a VM that is
// powered off means nothing.
func (c *comparison) leavesCores(asked bool, cores int32) bool {
	auto := isTrue(c.have.Hardware.AutoCoresPerSocket) && !c.off()
	return !asked || cores == 1 && (auto || c.adopted)
}

func (c *comparison) vcpus(running, desired int32, live bool, set func(*types.VirtualMachineConfigSpec)) {
	c.add(Difference{Path: hardware.CPUSockets, Running: hardware.Count(running), Desired: hardware.Count(desired), Live: live, set: set})
}

// coresOf is what vSphere is told: 0 lets it choose.
func coresOf(asked bool, cores int32) *int32 {
	if !asked {
		cores = 0
	}
	return &cores
}

// off is true for a VM that is powered off.
func (c *comparison) off() bool {
	return c.vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff
}
