// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-dev/slipway/pkg/apis/instancetype"
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/instancetype/validation"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

func TestUnmappedNamesOnlyWhatMeansNothing(t *testing.T) {
	size := sizeOf(t, `{schedulerName: s, nodeSelector: {a: b}, ioThreadsPolicy: auto, ioThreads: {supplementalPoolThreadCount: 1}, launchSecurity: {sev: {}},
	  cpu: {guest: 1, model: m, isolateEmulatorThread: true, realtime: {mask: "0"}, maxSockets: 2, dedicatedCPUPlacement: true},
	  memory: {guest: 1Gi, maxGuest: 2Gi, hugepages: {pageSize: 16Gi}}, gpus: [{name: g, deviceName: d, tag: t}, {name: plain, deviceName: d}], hostDevices: [{name: h, tag: t}]}`)
	want := []string{
		"spec.schedulerName", "spec.nodeSelector", "spec.cpu.model", "spec.cpu.isolateEmulatorThread", "spec.cpu.realtime.mask",
		"spec.memory.hugepages.pageSize", "spec.ioThreads", "spec.ioThreadsPolicy", "spec.launchSecurity",
		"spec.gpus[g]: virtualGPUOptions, tag, claimName, requestName", "spec.hostDevices[h]: tag, claimName, requestName",
	}
	if diff := cmp.Diff(want, apply.UnmappedInstancetype(size)); diff != "" {
		t.Errorf("F79 F80 F81 F83 instance type (-want +got):\n%s", diff)
	}
	pref := prefOf(t, `{clock: {preferredTimer: {}}, volumes: {preferredStorageClassName: fast}, cpu: {preferredCPUFeatures: [{name: vmx}]}, preferredArchitecture: s390x, machine: {preferredMachineType: q35},
	  features: {preferredAcpi: {}, preferredHyperv: {}}, firmware: {preferredUseBiosSerial: true, preferredEfi: {persistent: false}},
	  devices: {preferredRng: {}, preferredDiskDedicatedIoThread: true, preferredInterfaceMasquerade: {}, preferredPanicDeviceModel: isa,
	    preferredAutoattachInputDevice: true, preferredInputBus: usb, preferredDiskBus: virtio, preferredInterfaceModel: rtl8139, preferredVideoType: vga, preferredTPM: {}}}`)
	want = []string{
		"spec.clock.preferredTimer", "spec.cpu.preferredCPUFeatures", "spec.devices.preferredAutoattachInputDevice", "spec.devices.preferredInputBus",
		"spec.devices.preferredDiskDedicatedIoThread", "spec.devices.preferredInterfaceModel", "spec.devices.preferredRng",
		"spec.devices.preferredInterfaceMasquerade", "spec.devices.preferredPanicDeviceModel", "spec.devices.preferredVideoType",
		"spec.features.preferredAcpi", "spec.features.preferredHyperv", "spec.firmware.preferredUseBiosSerial", "spec.firmware.preferredEfi.persistent",
		"spec.machine.preferredMachineType", "spec.volumes.preferredStorageClassName", "spec.preferredArchitecture",
	}
	if diff := cmp.Diff(want, apply.UnmappedPreference(pref)); diff != "" {
		t.Errorf("F70 F89 F91 F93 F96 F97 F98 preference (-want +got):\n%s", diff)
	}
	if got := apply.UnmappedInstancetype(sizeOf(t, small)); got != nil {
		t.Errorf("a plain instance type has unmapped fields %v", got)
	}
}

func TestDevicesOfKubernetesAreForeign(t *testing.T) {
	size := sizeOf(t, `{cpu: {guest: 1}, memory: {guest: 1Gi}, gpus: [{name: g, deviceName: nvidia.com/A400}, {name: ok, deviceName: grid_a100-10c}],
	  hostDevices: [{name: h, deviceName: intel.com/qat}, {name: ok, deviceName: "8086:1572"}]}`)
	want := []string{"spec.gpus[g].deviceName nvidia.com/A400", "spec.hostDevices[h].deviceName intel.com/qat"}
	if diff := cmp.Diff(want, apply.ForeignDevices(size)); diff != "" {
		t.Errorf("F77 F78 foreign devices (-want +got):\n%s", diff)
	}
}

// What is not applied is warned of at admission: the two lists must not drift apart.
func TestEveryUnmappedFieldIsWarnedOf(t *testing.T) {
	size := sizeOf(t, `{schedulerName: s, nodeSelector: {a: b}, ioThreadsPolicy: auto, ioThreads: {supplementalPoolThreadCount: 1}, launchSecurity: {sev: {}},
	  cpu: {guest: 1, model: m, isolateEmulatorThread: true, realtime: {mask: "0"}}, memory: {guest: 1Gi, hugepages: {pageSize: 16Gi}},
	  gpus: [{name: g, tag: t}], hostDevices: [{name: h, tag: t}]}`)
	pref := prefOf(t, `{clock: {preferredTimer: {}}, volumes: {preferredStorageClassName: fast}, cpu: {preferredCPUFeatures: [{name: f}]}, preferredArchitecture: s390x, preferredLaunchSecurity: {sev: {}},
	  machine: {preferredMachineType: vmx-99}, firmware: {preferredUseBiosSerial: true, preferredEfi: {persistent: false}},
	  features: {preferredAcpi: {}, preferredApic: {}, preferredHyperv: {}, preferredKvm: {}, preferredPvspinlock: {}, preferredSmm: {}},
	  devices: {preferredAutoattachMemBalloon: true, preferredAutoattachInputDevice: true, preferredVirtualGPUOptions: {}, preferredSoundModel: ich9,
	    preferredUseVirtioTransitional: true, preferredInputBus: usb, preferredInputType: tablet, preferredDiskBus: usb, preferredLunBus: scsi,
	    preferredCdromBus: sata, preferredDiskDedicatedIoThread: true, preferredDiskCache: none, preferredDiskIO: native, preferredDiskBlockSize: {},
	    preferredInterfaceModel: rtl8139, preferredRng: {}, preferredBlockMultiQueue: true, preferredNetworkInterfaceMultiQueue: true,
	    preferredInterfaceMasquerade: {}, preferredPanicDeviceModel: isa, preferredVideoType: vga}}`)
	var internalSize instancetype.VirtualMachineInstancetypeSpec
	var internalPref instancetype.VirtualMachinePreferenceSpec
	if err := itv1alpha1.Convert_v1alpha1_VirtualMachineInstancetypeSpec_To_instancetype_VirtualMachineInstancetypeSpec(size, &internalSize, nil); err != nil {
		t.Fatal(err)
	}
	if err := itv1alpha1.Convert_v1alpha1_VirtualMachinePreferenceSpec_To_instancetype_VirtualMachinePreferenceSpec(pref, &internalPref, nil); err != nil {
		t.Fatal(err)
	}
	warnings := append(validation.InstancetypeWarnings(&internalSize, field.NewPath("spec")), validation.PreferenceWarnings(&internalPref, field.NewPath("spec"))...)
	for _, path := range append(apply.UnmappedInstancetype(size), apply.UnmappedPreference(pref)...) {
		// Lists are reported by name here and by index there.
		path, _, _ = strings.Cut(path, "[")
		if !slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(w, path) }) {
			t.Errorf("F115 no warning about %s in %q", path, warnings)
		}
	}
}

func TestFirmwareUUIDDependsOnTheUIDOnly(t *testing.T) {
	first, again, other := apply.FirmwareUUID("a"), apply.FirmwareUUID("a"), apply.FirmwareUUID("b")
	if first != again || first == other || len(first) != 36 {
		t.Errorf("F149 UUIDs %s, %s, %s: the first two must be equal, the third another", first, again, other)
	}
}
