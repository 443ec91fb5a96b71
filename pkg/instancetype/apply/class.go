// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// applyClass sets the size and the devices of the class. CPU and memory in the virtual machine's spec are a conflict,
// because a class defines all of them.
func applyClass(
	spec *vmv1alpha1.VirtualMachineInstanceSpec,
	own *vmv1alpha1.VirtualMachineSpec,
	class *vmv1alpha1.VirtualMachineClass,
	found *problems,
) {
	if own.CPU != nil {
		found.conflict("spec.cpu", sourceClass)
	}
	if own.Memory != nil {
		found.conflict("spec.memory", sourceClass)
	}
	spec.ClassName = class.Name
	spec.CPU = class.Spec.CPU.DeepCopy()
	spec.Memory = class.Spec.Memory.DeepCopy()
	if spec.Memory.Guest == nil {
		found.add(InvalidProblem, "spec.className", "the class has no memory.guest")
	}
	if spec.MinHardwareVersion < class.Spec.MinHardwareVersion {
		spec.MinHardwareVersion = class.Spec.MinHardwareVersion
	}
	if class.Spec.Devices != nil {
		applyClassDevices(spec, class.Spec.Devices, found)
	}
}

// applyClassDevices adds the devices of the class. Each list must be set by only one side.
func applyClassDevices(spec *vmv1alpha1.VirtualMachineInstanceSpec, class *vmv1alpha1.VirtualMachineDevices, found *problems) {
	out := devices(spec)
	class = class.DeepCopy()
	switch {
	case len(class.GPUs) == 0:
	case len(out.GPUs) > 0:
		found.conflict("spec.devices.gpus", sourceClass)
	default:
		out.GPUs = class.GPUs
	}
	switch {
	case len(class.HostDevices) == 0:
	case len(out.HostDevices) > 0:
		found.conflict("spec.devices.hostDevices", sourceClass)
	default:
		out.HostDevices = class.HostDevices
	}
	if out.TPM == nil {
		out.TPM = class.TPM
	}
	if out.Video == nil {
		out.Video = class.Video
	}
	fillBool(&out.DisableHotplug, class.DisableHotplug)
	fillBool(&out.AutoattachGraphicsDevice, class.AutoattachGraphicsDevice)
	fillBool(&out.AutoattachSerialConsole, class.AutoattachSerialConsole)
}

// checkInline reports a virtual machine without a size.
func checkInline(own *vmv1alpha1.VirtualMachineSpec, found *problems) {
	if own.CPU == nil || vcpus(own.CPU) < 1 {
		found.add(InvalidProblem, "spec.cpu", "the number of vCPUs is not set: set className, instancetype, or cpu and memory")
	}
	if own.Memory == nil || own.Memory.Guest == nil || own.Memory.Guest.Sign() <= 0 {
		found.add(InvalidProblem, "spec.memory.guest", "the memory size is not set: set className, instancetype, or cpu and memory")
	}
}

// vcpus returns the number of vCPUs; 0 if no dimension is set.
func vcpus(cpu *vmv1alpha1.VirtualMachineCPU) int64 {
	if cpu.Sockets == 0 && cpu.Cores == 0 && cpu.Threads == 0 {
		return 0
	}
	product := int64(1)
	for _, n := range []int32{cpu.Sockets, cpu.Cores, cpu.Threads} {
		if n != 0 {
			product *= int64(n)
		}
	}
	return product
}
