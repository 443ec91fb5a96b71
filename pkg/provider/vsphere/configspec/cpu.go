// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/hardware"
)

// coresPerSocket returns those that the VM has.
func coresPerSocket(in *input) int32 {
	if n := in.have.Hardware.NumCoresPerSocket; n != nil {
		return max(*n, 1)
	}
	return 1
}

// isAuto reports whether vSphere has chosen the cores per socket.
func isAuto(in *input) bool { return isTrue(in.have.Hardware.AutoCoresPerSocket) }

// isOff reports whether the VM is powered off.
func isOff(in *input) bool {
	return in.vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff
}

// namesCores reports whether the spec sets the cores per socket.
func namesCores(in *input) bool { return in.Effective.CPU.Cores > 0 || in.Effective.CPU.Threads > 0 }

// keepsCores reports whether the VM keeps its cores per socket: the spec does not set them, or sets one, which is
// the default, and vSphere or an administrator has chosen others. The choice of vSphere for a VM that is powered off
// has no meaning. Such a VM is compared by its vCPUs, as if it had one core per socket.
func keepsCores(in *input) bool {
	if !in.exists() || in.Effective.CPU == nil {
		return false
	}
	_, cores := hardware.CPUs(in.Effective.CPU)
	return !namesCores(in) || cores == 1 && (in.adopted || isAuto(in) && !isOff(in))
}

func readSockets(in *input, have *hardware.State) {
	have.CPU.Sockets = in.have.Hardware.NumCPU
	if !keepsCores(in) {
		have.CPU.Sockets /= coresPerSocket(in)
	}
}

func readCores(in *input, have *hardware.State) {
	have.CoresPerSocket, have.CPU.Cores = coresPerSocket(in), 1
	if !keepsCores(in) {
		have.CPU.Cores = have.CoresPerSocket
	}
}

// coresUnknown reports whether vSphere chooses the cores per socket at the next power on. A new VM gets those
// of its spec in any case: those of its image must not stay, and from hardware version 20 on vSphere chooses them
// if they are not set.
func coresUnknown(in *input) bool {
	return !keepsCores(in) && (!in.exists() || isAuto(in) && isOff(in))
}

func wantSockets(in *input, _, want *hardware.State) {
	vcpus, cores := hardware.CPUs(in.Effective.CPU)
	want.CPU.Sockets = vcpus
	if !keepsCores(in) {
		want.CPU.Sockets /= cores
	}
}

func wantCores(in *input, _, want *hardware.State) {
	want.CPU.Cores, want.CPU.Threads = 1, 1
	if !keepsCores(in) {
		_, want.CPU.Cores = hardware.CPUs(in.Effective.CPU)
	}
}

func setSockets(in *input, want *hardware.State, s *types.VirtualMachineConfigSpec) {
	vcpus, _ := hardware.CPUs(in.Effective.CPU)
	if s.NumCPUs = vcpus; keepsCores(in) && vcpus%coresPerSocket(in) != 0 {
		setCores(in, want, s)
	}
}

// setCores lets vSphere choose if the spec does not set the cores: 0 does that.
func setCores(in *input, _ *hardware.State, s *types.VirtualMachineConfigSpec) {
	cores := int32(0)
	if namesCores(in) {
		_, cores = hardware.CPUs(in.Effective.CPU)
	}
	s.NumCoresPerSocket = &cores
}

// compareVCPUs compares the number of vCPUs of a VM that has as many sockets as it should have: its cores differ, or
// its sockets are not full.
func compareVCPUs(in *input) []Difference {
	vcpus, cores := hardware.CPUs(in.Effective.CPU)
	have := in.have.Hardware.NumCPU
	if keepsCores(in) || have == vcpus || have/coresPerSocket(in) != vcpus/cores {
		return nil
	}
	return []Difference{{Path: hardware.CPUCores, Running: hardware.Count(have) + " vCPUs", Desired: hardware.Count(vcpus) + " vCPUs",
		set: func(s *types.VirtualMachineConfigSpec) { s.NumCPUs = vcpus }}}
}
