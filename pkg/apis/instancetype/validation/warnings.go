// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/limits"
)

// noEffect is the warning for a field that is stored but has no effect.
const noEffect = "has no effect on vSphere; the value is stored but not applied"

// foreignDeviceName is the warning for a device name in the format of Kubernetes device plugins.
const foreignDeviceName = "is not a vSphere device, and virtual machines with it are rejected; " +
	"use a vGPU profile, for example grid_a100-10c, or vendor:device in hexadecimal, for example 10de:2231"

// topologyNames maps deprecated topology names to the names that replace them.
var topologyNames = map[itv1alpha1.PreferredCPUTopology]itv1alpha1.PreferredCPUTopology{
	itv1alpha1.DeprecatedPreferSockets: itv1alpha1.Sockets,
	itv1alpha1.DeprecatedPreferCores:   itv1alpha1.Cores,
	itv1alpha1.DeprecatedPreferThreads: itv1alpha1.Threads,
	itv1alpha1.DeprecatedPreferSpread:  itv1alpha1.Spread,
	itv1alpha1.DeprecatedPreferAny:     itv1alpha1.Any,
}

// warnings collects warnings, which begin with the path of a field.
type warnings []string

// add adds a warning if the field is set.
func (w *warnings) add(set bool, path *field.Path, text string) {
	if set {
		*w = append(*w, fmt.Sprintf("%s: %s", path, text))
	}
}

// InstancetypeWarnings returns warnings about fields that are deprecated or that vSphere does not support.
func InstancetypeWarnings(spec *itv1alpha1.VirtualMachineInstancetypeSpec, path *field.Path) []string {
	var w warnings
	w.add(spec.LaunchSecurity != nil, path.Child("launchSecurity"), "deprecated; use preferredLaunchSecurity of a preference")
	w.add(spec.SchedulerName != "", path.Child("schedulerName"), noEffect)
	w.add(len(spec.NodeSelector) > 0, path.Child("nodeSelector"), "vSphere chooses the host; the value is stored but not applied")
	w.add(spec.IOThreads != nil, path.Child("ioThreads"), noEffect)
	w.add(spec.IOThreadsPolicy != nil, path.Child("ioThreadsPolicy"), noEffect)
	cpu := path.Child("cpu")
	w.add(spec.CPU.Model != nil, cpu.Child("model"), noEffect)
	w.add(spec.CPU.IsolateEmulatorThread != nil, cpu.Child("isolateEmulatorThread"), noEffect)
	if spec.CPU.Realtime != nil {
		w.add(spec.CPU.Realtime.Mask != "", cpu.Child("realtime", "mask"), "vSphere applies latency sensitivity to all vCPUs; the mask is stored but not applied")
	}
	if pages := spec.Memory.Hugepages; pages != nil {
		w.add(!sets.New("", "2Mi", "1Gi").Has(pages.PageSize), path.Child("memory", "hugepages", "pageSize"),
			"vSphere supports page sizes 2Mi and 1Gi; other sizes are stored but not applied")
	}
	for i := range spec.GPUs {
		gpu, gpuPath := &spec.GPUs[i], path.Child("gpus").Index(i)
		w.add(strings.Contains(gpu.DeviceName, "/"), gpuPath.Child("deviceName"), gpu.DeviceName+" "+foreignDeviceName)
		w.add(gpu.ClaimName != nil, gpuPath.Child("claimName"), noEffect)
		w.add(gpu.RequestName != nil, gpuPath.Child("requestName"), noEffect)
		w.add(gpu.VirtualGPUOptions != nil, gpuPath.Child("virtualGPUOptions"), noEffect)
		w.add(gpu.Tag != "", gpuPath.Child("tag"), noEffect)
	}
	for i := range spec.HostDevices {
		device, devicePath := &spec.HostDevices[i], path.Child("hostDevices").Index(i)
		w.add(strings.Contains(device.DeviceName, "/"), devicePath.Child("deviceName"), device.DeviceName+" "+foreignDeviceName)
		w.add(device.ClaimName != nil, devicePath.Child("claimName"), noEffect)
		w.add(device.RequestName != nil, devicePath.Child("requestName"), noEffect)
		w.add(device.Tag != "", devicePath.Child("tag"), noEffect)
	}
	return w
}

// PreferenceWarnings returns warnings about fields that are deprecated or that vSphere does not support.
func PreferenceWarnings(spec *itv1alpha1.VirtualMachinePreferenceSpec, path *field.Path) []string {
	var w warnings
	if spec.CPU != nil {
		if topology := spec.CPU.PreferredCPUTopology; topology != nil {
			name, deprecated := topologyNames[*topology]
			w.add(deprecated, path.Child("cpu", "preferredCPUTopology"), fmt.Sprintf("%s is deprecated; use %s", *topology, name))
		}
		w.add(len(spec.CPU.PreferredCPUFeatures) > 0, path.Child("cpu", "preferredCPUFeatures"), noEffect)
	}
	if spec.Clock != nil {
		clock := path.Child("clock")
		w.add(spec.Clock.PreferredTimer != nil, clock.Child("preferredTimer"), noEffect)
		if offset := spec.Clock.PreferredClockOffset; offset != nil {
			w.add(offset.UTC != nil && offset.UTC.OffsetSeconds != nil, clock.Child("preferredClockOffset", "utc", "offsetSeconds"), noEffect)
		}
	}
	if spec.Firmware != nil {
		firmware := path.Child("firmware")
		w.add(spec.Firmware.DeprecatedPreferredUseEfi != nil, firmware.Child("preferredUseEfi"), "deprecated; use preferredEfi")
		w.add(spec.Firmware.DeprecatedPreferredUseSecureBoot != nil, firmware.Child("preferredUseSecureBoot"), "deprecated; use preferredEfi.secureBoot")
		w.add(spec.Firmware.PreferredUseBiosSerial != nil, firmware.Child("preferredUseBiosSerial"), noEffect)
		if efi := spec.Firmware.PreferredEfi; efi != nil {
			w.add(efi.Persistent != nil && !*efi.Persistent, firmware.Child("preferredEfi", "persistent"), "vSphere always preserves the EFI variables")
		}
	}
	if spec.Machine != nil {
		machine := spec.Machine.PreferredMachineType
		_, known := limits.ParseHardwareVersion(machine)
		w.add(machine != "" && !known, path.Child("machine", "preferredMachineType"),
			machine+" is not a vSphere hardware version such as vmx-21; the value is stored but not applied")
	}
	if spec.Features != nil {
		features := path.Child("features")
		w.add(spec.Features.PreferredAcpi != nil, features.Child("preferredAcpi"), noEffect)
		w.add(spec.Features.PreferredApic != nil, features.Child("preferredApic"), noEffect)
		w.add(spec.Features.PreferredHyperv != nil, features.Child("preferredHyperv"), noEffect)
		w.add(spec.Features.PreferredKvm != nil, features.Child("preferredKvm"), noEffect)
		w.add(spec.Features.PreferredPvspinlock != nil, features.Child("preferredPvspinlock"), noEffect)
		w.add(spec.Features.PreferredSmm != nil, features.Child("preferredSmm"), noEffect)
	}
	if spec.Devices != nil {
		w.addDevices(spec.Devices, path.Child("devices"))
	}
	if arch := spec.PreferredArchitecture; arch != nil {
		w.add(*arch != "amd64", path.Child("preferredArchitecture"), noEffect)
	}
	w.add(spec.PreferredLaunchSecurity != nil, path.Child("preferredLaunchSecurity"), noEffect)
	return w
}

// addDevices adds the warnings about preferred devices.
func (w *warnings) addDevices(devices *itv1alpha1.DevicePreferences, path *field.Path) {
	for _, f := range []struct {
		set  bool
		name string
	}{
		{devices.PreferredAutoattachMemBalloon != nil, "preferredAutoattachMemBalloon"},
		{devices.PreferredAutoattachInputDevice != nil, "preferredAutoattachInputDevice"},
		{devices.PreferredVirtualGPUOptions != nil, "preferredVirtualGPUOptions"},
		{devices.PreferredSoundModel != "", "preferredSoundModel"},
		{devices.PreferredUseVirtioTransitional != nil, "preferredUseVirtioTransitional"},
		{devices.PreferredInputBus != "", "preferredInputBus"},
		{devices.PreferredInputType != "", "preferredInputType"},
		{devices.PreferredDiskBus == itv1alpha1.DiskBusUSB, "preferredDiskBus"},
		{devices.PreferredLunBus != "", "preferredLunBus"},
		{devices.PreferredCdromBus != "" && devices.PreferredCdromBus != "sata" && devices.PreferredCdromBus != "ide", "preferredCdromBus"},
		{devices.PreferredDiskDedicatedIoThread != nil, "preferredDiskDedicatedIoThread"},
		{devices.PreferredDiskCache != "", "preferredDiskCache"},
		{devices.PreferredDiskIO != "", "preferredDiskIO"},
		{devices.PreferredDiskBlockSize != nil, "preferredDiskBlockSize"},
		{slices.Contains(foreignModels, devices.PreferredInterfaceModel), "preferredInterfaceModel"},
		{devices.PreferredRng != nil, "preferredRng"},
		{devices.PreferredBlockMultiQueue != nil, "preferredBlockMultiQueue"},
		{devices.PreferredNetworkInterfaceMultiQueue != nil, "preferredNetworkInterfaceMultiQueue"},
		{devices.PreferredInterfaceMasquerade != nil, "preferredInterfaceMasquerade"},
		{devices.PreferredPanicDeviceModel != nil, "preferredPanicDeviceModel"},
		{devices.PreferredVideoType != "" && devices.PreferredVideoType != "svga", "preferredVideoType"},
	} {
		w.add(f.set, path.Child(f.name), noEffect)
	}
}
