// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// applyHostDevices sets the GPUs and host devices of the instance type. Each list must be set by only one side.
func applyHostDevices(
	spec *vmv1alpha1.VirtualMachineInstanceSpec,
	own *vmv1alpha1.VirtualMachineDevices,
	it *itv1alpha1.VirtualMachineInstancetypeSpec,
	found *problems,
) {
	if len(it.GPUs) > 0 {
		if own != nil && len(own.GPUs) > 0 {
			found.conflict("spec.devices.gpus", sourceInstancetype)
		}
		gpus := make([]vmv1alpha1.VirtualMachineDevice, 0, len(it.GPUs))
		for i := range it.GPUs {
			gpus = append(gpus, vmv1alpha1.VirtualMachineDevice{Name: it.GPUs[i].Name, DeviceName: it.GPUs[i].DeviceName})
		}
		devices(spec).GPUs = gpus
	}
	if len(it.HostDevices) > 0 {
		if own != nil && len(own.HostDevices) > 0 {
			found.conflict("spec.devices.hostDevices", sourceInstancetype)
		}
		hosts := make([]vmv1alpha1.VirtualMachineDevice, 0, len(it.HostDevices))
		for i := range it.HostDevices {
			hosts = append(hosts, vmv1alpha1.VirtualMachineDevice{Name: it.HostDevices[i].Name, DeviceName: it.HostDevices[i].DeviceName})
		}
		devices(spec).HostDevices = hosts
	}
}

// devices returns the devices of spec. It creates them if necessary.
func devices(spec *vmv1alpha1.VirtualMachineInstanceSpec) *vmv1alpha1.VirtualMachineDevices {
	if spec.Devices == nil {
		spec.Devices = &vmv1alpha1.VirtualMachineDevices{}
	}
	return spec.Devices
}
