// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"strings"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
)

// unmapped collects the paths of fields that are set and mean nothing.
type unmapped []string

func (u *unmapped) when(set bool, path string) {
	if set {
		*u = append(*u, path)
	}
}

// UnmappedInstancetype returns the paths of the fields of an instance type that
// are set and have no meaning on vSphere. They are kept and never applied.
func UnmappedInstancetype(spec *itv1alpha1.VirtualMachineInstancetypeSpec) []string {
	var u unmapped
	u.when(spec.SchedulerName != "", "spec.schedulerName")
	u.when(len(spec.NodeSelector) > 0, "spec.nodeSelector")
	u.when(spec.CPU.Model != nil, "spec.cpu.model")
	u.when(spec.CPU.IsolateEmulatorThread != nil, "spec.cpu.isolateEmulatorThread")
	u.when(spec.CPU.Realtime != nil && spec.CPU.Realtime.Mask != "", "spec.cpu.realtime.mask")
	u.when(spec.Memory.Hugepages != nil && !pageSizes[spec.Memory.Hugepages.PageSize], "spec.memory.hugepages.pageSize")
	u.when(spec.IOThreads != nil, "spec.ioThreads")
	u.when(spec.IOThreadsPolicy != nil, "spec.ioThreadsPolicy")
	u.when(spec.LaunchSecurity != nil, "spec.launchSecurity")
	for i := range spec.GPUs {
		gpu := &spec.GPUs[i]
		if gpu.VirtualGPUOptions != nil || gpu.Tag != "" || gpu.ClaimName != nil || gpu.RequestName != nil {
			u.when(true, "spec.gpus["+gpu.Name+"]: virtualGPUOptions, tag, claimName, requestName")
		}
	}
	for i := range spec.HostDevices {
		device := &spec.HostDevices[i]
		if device.Tag != "" || device.ClaimName != nil || device.RequestName != nil {
			u.when(true, "spec.hostDevices["+device.Name+"]: tag, claimName, requestName")
		}
	}
	return u
}

// ForeignDevices returns the paths and names of the devices that an instance type
// asks for by the names of Kubernetes' device plugins, for example
// nvidia.com/A400. vSphere knows none of them, and a virtual machine that asks for
// one is refused.
func ForeignDevices(spec *itv1alpha1.VirtualMachineInstancetypeSpec) []string {
	var out []string
	add := func(list, name, device string) {
		if strings.Contains(device, "/") {
			out = append(out, fmt.Sprintf("spec.%s[%s].deviceName %s", list, name, device))
		}
	}
	for i := range spec.GPUs {
		add("gpus", spec.GPUs[i].Name, spec.GPUs[i].DeviceName)
	}
	for i := range spec.HostDevices {
		add("hostDevices", spec.HostDevices[i].Name, spec.HostDevices[i].DeviceName)
	}
	return out
}

// UnmappedPreference returns the paths of the fields of a preference that are
// set and have no meaning on vSphere. They are kept and never applied.
func UnmappedPreference(spec *itv1alpha1.VirtualMachinePreferenceSpec) []string {
	var u unmapped
	u.when(spec.Clock != nil && spec.Clock.PreferredTimer != nil, "spec.clock.preferredTimer")
	u.when(spec.CPU != nil && len(spec.CPU.PreferredCPUFeatures) > 0, "spec.cpu.preferredCPUFeatures")
	if spec.Devices != nil {
		unmappedDevices(spec.Devices, &u)
	}
	unmappedFeatures(spec.Features, &u)
	if spec.Firmware != nil {
		u.when(spec.Firmware.PreferredUseBiosSerial != nil, "spec.firmware.preferredUseBiosSerial")
		// vSphere always keeps the variables.
		efi := spec.Firmware.PreferredEfi
		u.when(efi != nil && efi.Persistent != nil && !*efi.Persistent, "spec.firmware.preferredEfi.persistent")
	}
	if spec.Machine != nil && spec.Machine.PreferredMachineType != "" {
		_, ok := hardwareVersion(spec.Machine.PreferredMachineType)
		u.when(!ok, "spec.machine.preferredMachineType")
	}
	u.when(spec.Volumes != nil && spec.Volumes.PreferredStorageClassName != "", "spec.volumes.preferredStorageClassName")
	u.when(spec.PreferredArchitecture != nil && *spec.PreferredArchitecture != Architecture(""), "spec.preferredArchitecture")
	u.when(spec.PreferredLaunchSecurity != nil, "spec.preferredLaunchSecurity")
	return u
}

// unmappedDevices lists devices of other hypervisors, and names of buses and
// models that vSphere does not have.
func unmappedDevices(d *itv1alpha1.DevicePreferences, u *unmapped) {
	_, bus := diskBus(string(d.PreferredDiskBus))
	_, model := nicModel(d.PreferredInterfaceModel)
	for _, f := range []struct {
		path string
		set  bool
	}{
		{"preferredAutoattachMemBalloon", d.PreferredAutoattachMemBalloon != nil},
		{"preferredAutoattachInputDevice", d.PreferredAutoattachInputDevice != nil},
		{"preferredVirtualGPUOptions", d.PreferredVirtualGPUOptions != nil},
		{"preferredSoundModel", d.PreferredSoundModel != ""},
		{"preferredUseVirtioTransitional", d.PreferredUseVirtioTransitional != nil},
		{"preferredInputBus", d.PreferredInputBus != ""},
		{"preferredInputType", d.PreferredInputType != ""},
		{"preferredDiskBus", d.PreferredDiskBus != "" && !bus},
		{"preferredLunBus", d.PreferredLunBus != ""},
		{"preferredCdromBus", d.PreferredCdromBus != ""},
		{"preferredDiskDedicatedIoThread", d.PreferredDiskDedicatedIoThread != nil},
		{"preferredDiskCache", d.PreferredDiskCache != ""},
		{"preferredDiskIO", d.PreferredDiskIO != ""},
		{"preferredDiskBlockSize", d.PreferredDiskBlockSize != nil},
		{"preferredInterfaceModel", d.PreferredInterfaceModel != "" && !model},
		{"preferredRng", d.PreferredRng != nil},
		{"preferredBlockMultiQueue", d.PreferredBlockMultiQueue != nil},
		{"preferredNetworkInterfaceMultiQueue", d.PreferredNetworkInterfaceMultiQueue != nil},
		{"preferredInterfaceMasquerade", d.PreferredInterfaceMasquerade != nil},
		{"preferredPanicDeviceModel", d.PreferredPanicDeviceModel != nil},
		{"preferredVideoType", d.PreferredVideoType != "" && d.PreferredVideoType != videoTypeSVGA},
	} {
		u.when(f.set, "spec.devices."+f.path)
	}
}

// unmappedFeatures lists hypervisor features: vSphere always has ACPI, APIC and
// SMM, and offers Hyper-V's only together, as virtualization-based security.
func unmappedFeatures(f *itv1alpha1.FeaturePreferences, u *unmapped) {
	if f == nil {
		return
	}
	u.when(f.PreferredAcpi != nil, "spec.features.preferredAcpi")
	u.when(f.PreferredApic != nil, "spec.features.preferredApic")
	u.when(f.PreferredHyperv != nil, "spec.features.preferredHyperv")
	u.when(f.PreferredKvm != nil, "spec.features.preferredKvm")
	u.when(f.PreferredPvspinlock != nil, "spec.features.preferredPvspinlock")
	u.when(f.PreferredSmm != nil, "spec.features.preferredSmm")
}
