// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/hardware"
)

// coresPerSocket returns the VM's cores per socket.
func coresPerSocket(in *input) int32 {
	if n := in.config.Hardware.NumCoresPerSocket; n != nil {
		return max(*n, 1)
	}
	return 1
}

// setsCores reports whether the spec sets the cores per socket.
func setsCores(in *input) bool { return in.Effective.CPU.Cores > 0 || in.Effective.CPU.Threads > 0 }

// choosesCores reports whether vSphere has chosen the cores per socket of a VM in the given power state. For a VM
// that is powered off the value has no meaning, because vSphere chooses it again at the next power-on.
func choosesCores(in *input, off bool) bool {
	return isTrue(in.config.Hardware.AutoCoresPerSocket) && (in.vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff) == off
}

// keepsCores reports whether the VM keeps its cores per socket. It does if the spec does not set them. It also does
// if the spec sets the default of 1 and vSphere or an administrator has chosen another value. Such a VM is compared
// by its vCPUs, as if it had one core per socket.
func keepsCores(in *input) bool {
	_, cores := hardware.CPUs(in.Effective.CPU)
	return in.exists() && (!setsCores(in) || cores == 1 && (in.adopted || choosesCores(in, false)))
}

// coresUnknown reports whether the cores per socket are set regardless of the current value. For a new VM they are
// set, because the image's value must not be kept. From hardware version 20 on, vSphere chooses them if they are
// not set.
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

// setCores sets the cores per socket. If the spec does not set them, it sets 0, which lets vSphere choose.
func setCores(in *input, s *configSpec) {
	cores := int32(0)
	if setsCores(in) {
		_, cores = hardware.CPUs(in.Effective.CPU)
	}
	s.NumCoresPerSocket = &cores
}

// compareVCPUs compares the number of vCPUs if the number of sockets is as desired. The vCPUs can differ because
// the cores differ or because the sockets are not full.
func compareVCPUs(in *input) []Difference {
	vcpus, cores := hardware.CPUs(in.Effective.CPU)
	have := in.config.Hardware.NumCPU
	if keepsCores(in) || have == vcpus || have/coresPerSocket(in) != vcpus/cores {
		return nil
	}
	return []Difference{{Path: hardware.CPUCores, Running: hardware.FormatCount(have) + " vCPUs", Desired: hardware.FormatCount(vcpus) + " vCPUs",
		set: func(s *configSpec) { s.NumCPUs = vcpus }}}
}
