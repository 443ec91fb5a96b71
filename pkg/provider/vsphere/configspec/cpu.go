// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/hardware"
)

// coresPerSocket returns those that the VM has.
func coresPerSocket(in *input) int32 {
	if n := in.config.Hardware.NumCoresPerSocket; n != nil {
		return max(*n, 1)
	}
	return 1
}

// namesCores reports whether the spec sets the cores per socket.
func namesCores(in *input) bool { return in.Effective.CPU.Cores > 0 || in.Effective.CPU.Threads > 0 }

// choosesCores reports whether vSphere has chosen the cores per socket. For a VM that is powered off this has no
// meaning: it chooses them again at the next power on.
func choosesCores(in *input, off bool) bool {
	return isTrue(in.config.Hardware.AutoCoresPerSocket) && (in.vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff) == off
}

// keepsCores reports whether the VM keeps its cores per socket: the spec does not set them, or sets one, which is
// the default, and vSphere or an administrator has chosen others. Such a VM is compared by its vCPUs, as if it had
// one core per socket.
func keepsCores(in *input) bool {
	_, cores := hardware.CPUs(in.Effective.CPU)
	return in.exists() && (!namesCores(in) || cores == 1 && (in.adopted || choosesCores(in, false)))
}

// coresUnknown reports whether the cores per socket are set in any case. Those of a new VM are: those of its image
// must not stay, and from hardware version 20 on vSphere chooses them if they are not set.
func coresUnknown(in *input) bool {
	return !keepsCores(in) && (!in.exists() || choosesCores(in, true))
}

func readTopology(in *input) {
	in.running.CPU.Sockets, in.running.CPU.Cores, in.running.CoresPerSocket = in.config.Hardware.NumCPU, 1, coresPerSocket(in)
	if in.Effective.CPU == nil || !keepsCores(in) {
		in.running.CPU.Cores = in.running.CoresPerSocket
		in.running.CPU.Sockets /= in.running.CPU.Cores
	}
}

func adjustTopology(in *input) {
	vcpus, cores := hardware.CPUs(in.Effective.CPU)
	if keepsCores(in) {
		cores = 1
	}
	in.desired.CPU.Sockets, in.desired.CPU.Cores, in.desired.CPU.Threads = vcpus/cores, cores, 1
}

func setSockets(in *input, s *configSpec) {
	if s.NumCPUs, _ = hardware.CPUs(in.Effective.CPU); keepsCores(in) && s.NumCPUs%coresPerSocket(in) != 0 {
		setCores(in, s)
	}
}

// setCores lets vSphere choose if the spec does not set the cores: 0 does that.
func setCores(in *input, s *configSpec) {
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
	have := in.config.Hardware.NumCPU
	if keepsCores(in) || have == vcpus || have/coresPerSocket(in) != vcpus/cores {
		return nil
	}
	return []Difference{{Path: hardware.CPUCores, Running: hardware.Count(have) + " vCPUs", Desired: hardware.Count(vcpus) + " vCPUs",
		set: func(s *configSpec) { s.NumCPUs = vcpus }}}
}
