// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"strconv"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	// autoCoresVersion is the first hardware version whose default is that cores per
	// socket are "automatically determined" (vSphere 8.0, virtual topology).
	autoCoresVersion = 20
	// nodeCores is how many virtual CPUs fit into one socket of the simulated hosts
	// (judgement: a NUMA node of an ordinary host; the algorithm is not published).
	nodeCores = 16
)

func isAuto(config *types.VirtualMachineConfigInfo) bool {
	return config.Hardware.AutoCoresPerSocket != nil && *config.Hardware.AutoCoresPerSocket
}

// chooseCores applies the cores per socket of a configuration: "non-zero to manually configure coresPerSocket size;
// zero to remove any manual size if present, and use default coresPerSocket behavior; unset to continue with existing
// configuration" (API, VirtualMachineConfigSpec.numCoresPerSocket).
func chooseCores(vm *simulator.VirtualMachine, given *int32, created bool) {
	version, err := strconv.Atoi(strings.TrimPrefix(vm.Config.Version, "vmx-"))
	if err != nil || given == nil && !created {
		return
	}
	hardware := &vm.Config.Hardware
	auto := (given == nil || *given == 0) && version >= autoCoresVersion
	hardware.AutoCoresPerSocket = types.NewBool(auto)
	if hardware.NumCoresPerSocket == nil || *hardware.NumCoresPerSocket == 0 {
		hardware.NumCoresPerSocket = types.NewInt32(1)
	}
}

// sizeSockets assigns the size that is "assigned during power-on" to a virtual machine
// with automatic cores per socket (API, VirtualHardware.numCoresPerSocket). Its lock is
// held by ctx.
func sizeSockets(ctx *simulator.Context, vm *mo.VirtualMachine, changes []types.PropertyChange) {
	for _, change := range changes {
		if change.Name != "runtime.powerState" || vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn ||
			vm.Config == nil || !isAuto(vm.Config) {
			continue
		}
		size := min(vm.Config.Hardware.NumCPU, nodeCores)
		for vm.Config.Hardware.NumCPU%size != 0 {
			size--
		}
		ctx.Update(vm, []types.PropertyChange{{Name: "config.hardware.numCoresPerSocket", Val: size}})
		return
	}
}
