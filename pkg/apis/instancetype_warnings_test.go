// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/instancetype/validation"
)

// warned returns the paths of warnings.
func warned(warnings []string) []string {
	var paths []string
	for _, w := range warnings {
		path, _, _ := strings.Cut(w, ": ")
		paths = append(paths, path)
	}
	return paths
}

func parseSize(t *testing.T, manifest string) *itv1alpha1.VirtualMachineInstancetypeSpec {
	t.Helper()
	out := &itv1alpha1.VirtualMachineInstancetypeSpec{}
	if err := yaml.UnmarshalStrict([]byte(manifest), out); err != nil {
		t.Fatal(err)
	}
	return out
}

func parsePreference(t *testing.T, manifest string) *itv1alpha1.VirtualMachinePreferenceSpec {
	t.Helper()
	out := &itv1alpha1.VirtualMachinePreferenceSpec{}
	if err := yaml.UnmarshalStrict([]byte(manifest), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// F79, F80, F81, F83, F115
func TestInstancetypeWarnings_CoverEveryFieldWithoutEffect(t *testing.T) {
	size := parseSize(t, `{schedulerName: s, nodeSelector: {a: b}, ioThreadsPolicy: auto, ioThreads: {supplementalPoolThreadCount: 1}, launchSecurity: {sev: {}},
	  cpu: {guest: 1, model: m, isolateEmulatorThread: true, realtime: {mask: "0"}, maxSockets: 2, dedicatedCPUPlacement: true},
	  memory: {guest: 1Gi, maxGuest: 2Gi, hugepages: {pageSize: 16Gi}},
	  gpus: [{name: g, deviceName: d, tag: t}, {name: plain, deviceName: "10de:2231"}, {name: f, deviceName: nvidia.com/A400}], hostDevices: [{name: h, deviceName: intel.com/qat, tag: t}]}`)
	want := []string{
		"spec.launchSecurity", "spec.schedulerName", "spec.nodeSelector", "spec.ioThreads", "spec.ioThreadsPolicy",
		"spec.cpu.model", "spec.cpu.isolateEmulatorThread", "spec.cpu.realtime.mask", "spec.memory.hugepages.pageSize",
		"spec.gpus[0].tag", "spec.gpus[2].deviceName", "spec.hostDevices[0].deviceName", "spec.hostDevices[0].tag",
	}
	if diff := cmp.Diff(want, warned(validation.InstancetypeWarnings(size, field.NewPath("spec")))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// F70, F89, F91, F93, F96, F97, F98, F115
func TestPreferenceWarnings_CoverEveryFieldWithoutEffect(t *testing.T) {
	preference := parsePreference(t, `{clock: {preferredTimer: {}, preferredClockOffset: {utc: {offsetSeconds: 3600}}}, volumes: {preferredStorageClassName: fast},
	  cpu: {preferredCPUFeatures: [{name: f}]}, preferredArchitecture: s390x, preferredLaunchSecurity: {sev: {}},
	  machine: {preferredMachineType: vmx-99}, firmware: {preferredUseBiosSerial: true, preferredEfi: {persistent: false}},
	  features: {preferredAcpi: {}, preferredApic: {}, preferredHyperv: {}, preferredKvm: {}, preferredPvspinlock: {}, preferredSmm: {}},
	  devices: {preferredAutoattachMemBalloon: true, preferredAutoattachInputDevice: true, preferredVirtualGPUOptions: {}, preferredSoundModel: ich9,
	    preferredUseVirtioTransitional: true, preferredInputBus: usb, preferredInputType: tablet, preferredDiskBus: usb, preferredLunBus: scsi,
	    preferredCdromBus: scsi, preferredDiskDedicatedIoThread: true, preferredDiskCache: none, preferredDiskIO: native, preferredDiskBlockSize: {},
	    preferredInterfaceModel: igb, preferredRng: {}, preferredBlockMultiQueue: true, preferredNetworkInterfaceMultiQueue: true,
	    preferredInterfaceMasquerade: {}, preferredPanicDeviceModel: isa, preferredVideoType: vga, preferredTPM: {}}}`)
	if errs := validation.ValidatePreferenceSpec(preference, field.NewPath("spec")); len(errs) != 0 {
		t.Errorf("preference is rejected: %v", errs)
	}
	want := []string{
		"spec.cpu.preferredCPUFeatures", "spec.clock.preferredTimer", "spec.clock.preferredClockOffset.utc.offsetSeconds",
		"spec.firmware.preferredUseBiosSerial", "spec.firmware.preferredEfi.persistent", "spec.machine.preferredMachineType",
		"spec.features.preferredAcpi", "spec.features.preferredApic", "spec.features.preferredHyperv", "spec.features.preferredKvm",
		"spec.features.preferredPvspinlock", "spec.features.preferredSmm",
	}
	for _, name := range []string{
		"AutoattachMemBalloon", "AutoattachInputDevice", "VirtualGPUOptions", "SoundModel", "UseVirtioTransitional", "InputBus",
		"InputType", "DiskBus", "LunBus", "CdromBus", "DiskDedicatedIoThread", "DiskCache", "DiskIO", "DiskBlockSize", "InterfaceModel",
		"Rng", "BlockMultiQueue", "NetworkInterfaceMultiQueue", "InterfaceMasquerade", "PanicDeviceModel", "VideoType",
	} {
		want = append(want, "spec.devices.preferred"+name)
	}
	want = append(want, "spec.preferredArchitecture", "spec.preferredLaunchSecurity")
	if diff := cmp.Diff(want, warned(validation.PreferenceWarnings(preference, field.NewPath("spec")))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPreferenceWarnings_AreEmptyForSupportedFields(t *testing.T) {
	preference := parsePreference(t, `{cpu: {preferredCPUTopology: cores}, clock: {preferredClockOffset: {timezone: Europe/Berlin}}, machine: {preferredMachineType: VMX-21},
	  devices: {preferredDiskBus: virtio, preferredInterfaceModel: virtio, preferredVideoType: svga, preferredTPM: {}}, firmware: {preferredEfi: {}}, preferredArchitecture: amd64}`)
	if got := validation.PreferenceWarnings(preference, field.NewPath("spec")); len(got) != 0 {
		t.Errorf("warnings %q, want none", got)
	}
}
