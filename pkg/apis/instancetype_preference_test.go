// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/instancetype/validation"
)

// spread returns CPU preferences with the given topology, across and ratio; an
// empty or zero value leaves the field unset.
func spread(topology itv1alpha1.PreferredCPUTopology, across itv1alpha1.SpreadAcross, ratio int32) *itv1alpha1.CPUPreferences {
	cpu := &itv1alpha1.CPUPreferences{PreferredCPUTopology: &topology, SpreadOptions: &itv1alpha1.SpreadOptions{}}
	if across != "" {
		cpu.SpreadOptions.Across = &across
	}
	if ratio != 0 {
		cpu.SpreadOptions.Ratio = &ratio
	}
	return cpu
}

func TestValidatePreferenceSpec_ChecksTopology(t *testing.T) {
	type spec = itv1alpha1.VirtualMachinePreferenceSpec
	const across = itv1alpha1.SpreadAcrossCoresThreads
	for _, tc := range []struct {
		name string
		spec spec
		want []string
	}{
		{"an empty spec is accepted", spec{}, nil},
		{"F116 an unknown topology is rejected", spec{CPU: &itv1alpha1.CPUPreferences{PreferredCPUTopology: ptr.To(itv1alpha1.PreferredCPUTopology("grid"))}}, []string{"FieldValueNotSupported spec.cpu.preferredCPUTopology"}},
		{"F117 an unknown spread is rejected", spec{CPU: spread(itv1alpha1.Spread, "Rooms", 0)}, []string{"FieldValueNotSupported spec.cpu.spreadOptions.across"}},
		{"F117 an unknown spread with the deprecated topology is rejected", spec{CPU: spread(itv1alpha1.DeprecatedPreferSpread, "Rooms", 0)}, []string{"FieldValueNotSupported spec.cpu.spreadOptions.across"}},
		{"a ratio of 0 is rejected", spec{CPU: &itv1alpha1.CPUPreferences{SpreadOptions: &itv1alpha1.SpreadOptions{Ratio: ptr.To[int32](0)}}}, []string{"FieldValueInvalid spec.cpu.spreadOptions.ratio"}},
		{"a negative deprecated ratio is rejected", spec{PreferSpreadSocketToCoreRatio: -2}, []string{"FieldValueInvalid spec.preferSpreadSocketToCoreRatio"}},
		{"CoresThreads with the default ratio is accepted", spec{CPU: spread(itv1alpha1.Spread, across, 0)}, nil},
		{"F118 CoresThreads with ratio 2 is accepted", spec{CPU: spread(itv1alpha1.Spread, across, 2)}, nil},
		{"F118 CoresThreads with ratio 4 is rejected", spec{CPU: spread(itv1alpha1.Spread, across, 4)}, []string{"FieldValueInvalid spec.cpu.spreadOptions.ratio"}},
		{"F118 CoresThreads with deprecated ratio 4 is rejected", spec{CPU: spread(itv1alpha1.DeprecatedPreferSpread, across, 0), PreferSpreadSocketToCoreRatio: 4}, []string{"FieldValueInvalid spec.preferSpreadSocketToCoreRatio"}},
		{"ratio 2 takes precedence over deprecated ratio 4", spec{CPU: spread(itv1alpha1.Spread, across, 2), PreferSpreadSocketToCoreRatio: 4}, nil},
		{"the ratio is ignored without spread", spec{CPU: spread(itv1alpha1.Sockets, across, 4)}, nil},
		{"SocketsCores with ratio 4 is accepted", spec{CPU: spread(itv1alpha1.Spread, itv1alpha1.SpreadAcrossSocketsCores, 4)}, nil},
		{"an unknown feature policy is rejected", spec{CPU: &itv1alpha1.CPUPreferences{PreferredCPUFeatures: []itv1alpha1.CPUFeature{{Name: "vmx", Policy: "maybe"}}}}, []string{"FieldValueNotSupported spec.cpu.preferredCPUFeatures[0].policy"}},
		{"a feature named twice is rejected", spec{CPU: &itv1alpha1.CPUPreferences{PreferredCPUFeatures: []itv1alpha1.CPUFeature{{Name: "vmx"}, {Name: "vmx"}}}}, []string{"FieldValueDuplicate spec.cpu.preferredCPUFeatures[1].name"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			errs := validation.ValidatePreferenceSpec(&tc.spec, field.NewPath("spec"))
			if diff := cmp.Diff(tc.want, summaries(errs)); diff != "" {
				t.Errorf("errors differ (-want +got):\n%s\n%v", diff, errs)
			}
		})
	}
}

func TestValidatePreferenceSpec_ChecksValues(t *testing.T) {
	type spec = itv1alpha1.VirtualMachinePreferenceSpec
	type devices = itv1alpha1.DevicePreferences
	for _, tc := range []struct {
		name string
		spec spec
		want []string
	}{
		{"buses of both platforms are accepted", spec{Devices: &devices{PreferredDiskBus: "virtio", PreferredCdromBus: "sata", PreferredLunBus: "pvscsi"}}, nil},
		{"an unknown bus is rejected", spec{Devices: &devices{PreferredDiskBus: "floppy"}}, []string{"FieldValueNotSupported spec.devices.preferredDiskBus"}},
		{"an unknown adapter is rejected", spec{Devices: &devices{PreferredInterfaceModel: "ne1000"}}, []string{"FieldValueNotSupported spec.devices.preferredInterfaceModel"}},
		{"an unknown cache mode is rejected", spec{Devices: &devices{PreferredDiskCache: "some"}}, []string{"FieldValueNotSupported spec.devices.preferredDiskCache"}},
		{"an unknown crash device is rejected", spec{Devices: &devices{PreferredPanicDeviceModel: ptr.To(itv1alpha1.PanicDeviceModel("bell"))}}, []string{"FieldValueNotSupported spec.devices.preferredPanicDeviceModel"}},
		{"a block of 513 bytes is rejected", spec{Devices: &devices{PreferredDiskBlockSize: &itv1alpha1.BlockSize{Custom: &itv1alpha1.CustomBlockSize{Logical: 513, Physical: 4096}}}}, []string{"FieldValueInvalid spec.devices.preferredDiskBlockSize.custom.logical"}},
		{"a logical block above the physical is rejected", spec{Devices: &devices{PreferredDiskBlockSize: &itv1alpha1.BlockSize{Custom: &itv1alpha1.CustomBlockSize{Logical: 4096, Physical: 512}}}}, []string{"FieldValueInvalid spec.devices.preferredDiskBlockSize.custom.logical"}},
		{"two clock offsets are rejected", spec{Clock: &itv1alpha1.ClockPreferences{PreferredClockOffset: &itv1alpha1.ClockOffset{UTC: &itv1alpha1.ClockOffsetUTC{}, Timezone: ptr.To(itv1alpha1.ClockOffsetTimezone("UTC"))}}}, []string{"FieldValueInvalid spec.clock.preferredClockOffset"}},
		{"an unknown tick policy is rejected", spec{Clock: &itv1alpha1.ClockPreferences{PreferredTimer: &itv1alpha1.Timer{PIT: &itv1alpha1.PITTimer{TickPolicy: "merge"}}}}, []string{"FieldValueNotSupported spec.clock.preferredTimer.pit.tickPolicy"}},
		{"too few retries are rejected", spec{Features: &itv1alpha1.FeaturePreferences{PreferredHyperv: &itv1alpha1.FeatureHyperv{Spinlocks: &itv1alpha1.FeatureSpinlocks{Retries: ptr.To[int64](10)}}}}, []string{"FieldValueInvalid spec.features.preferredHyperv.spinlocks.spinlocks"}},
		{"too long a vendor is rejected", spec{Features: &itv1alpha1.FeaturePreferences{PreferredHyperv: &itv1alpha1.FeatureHyperv{VendorID: &itv1alpha1.FeatureVendorID{VendorID: "thirteenchars"}}}}, []string{"FieldValueTooLong spec.features.preferredHyperv.vendorid.vendorid"}},
		{"a malformed storage class is rejected", spec{Volumes: &itv1alpha1.VolumePreferences{PreferredStorageClassName: "Fast One"}}, []string{"FieldValueInvalid spec.volumes.preferredStorageClassName"}},
		{"a negative grace period is rejected", spec{PreferredTerminationGracePeriodSeconds: ptr.To[int64](-1)}, []string{"FieldValueInvalid spec.preferredTerminationGracePeriodSeconds"}},
		{"a requirement of 0 vCPUs is rejected", spec{Requirements: &itv1alpha1.PreferenceRequirements{CPU: &itv1alpha1.CPUPreferenceRequirement{}}}, []string{"FieldValueRequired spec.requirements.cpu.guest"}},
		{"a requirement of 0 memory is rejected", spec{Requirements: &itv1alpha1.PreferenceRequirements{Memory: &itv1alpha1.MemoryPreferenceRequirement{}}}, []string{"FieldValueInvalid spec.requirements.memory.guest"}},
		{"a requirement of 1Gi is accepted", spec{Requirements: &itv1alpha1.PreferenceRequirements{Memory: &itv1alpha1.MemoryPreferenceRequirement{Guest: resource.MustParse("1Gi")}}}, nil},
		{"F109 an empty architecture is rejected", spec{Requirements: &itv1alpha1.PreferenceRequirements{Architecture: ptr.To("")}}, []string{"FieldValueInvalid spec.requirements.architecture"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			errs := validation.ValidatePreferenceSpec(&tc.spec, field.NewPath("spec"))
			if diff := cmp.Diff(tc.want, summaries(errs)); diff != "" {
				t.Errorf("errors differ (-want +got):\n%s\n%v", diff, errs)
			}
		})
	}
}

func TestErrors_ContainFieldValueAndAllowedValues(t *testing.T) {
	spec := itv1alpha1.VirtualMachinePreferenceSpec{CPU: spread("grid", "", 0)}
	const want = `spec.cpu.preferredCPUTopology: Unsupported value: "grid": supported values: "sockets", "cores", "threads", "spread", "any", "preferSockets", "preferCores", "preferThreads", "preferSpread", "preferAny"`
	if got := validation.ValidatePreferenceSpec(&spec, field.NewPath("spec")).ToAggregate().Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestPreferenceWarnings_NameReplacementsOfDeprecatedTopologies(t *testing.T) {
	for topology, want := range map[itv1alpha1.PreferredCPUTopology]string{
		itv1alpha1.DeprecatedPreferSockets: "spec.cpu.preferredCPUTopology: preferSockets is deprecated; use sockets",
		itv1alpha1.DeprecatedPreferCores:   "spec.cpu.preferredCPUTopology: preferCores is deprecated; use cores",
		itv1alpha1.DeprecatedPreferThreads: "spec.cpu.preferredCPUTopology: preferThreads is deprecated; use threads",
		itv1alpha1.DeprecatedPreferSpread:  "spec.cpu.preferredCPUTopology: preferSpread is deprecated; use spread",
		itv1alpha1.DeprecatedPreferAny:     "spec.cpu.preferredCPUTopology: preferAny is deprecated; use any",
	} {
		spec := itv1alpha1.VirtualMachinePreferenceSpec{CPU: spread(topology, "", 0)}
		if errs := validation.ValidatePreferenceSpec(&spec, field.NewPath("spec")); len(errs) != 0 {
			t.Errorf("F119 %s is rejected: %v", topology, errs)
		}
		if diff := cmp.Diff([]string{want}, validation.PreferenceWarnings(&spec, field.NewPath("spec"))); diff != "" {
			t.Errorf("F119 warnings of %s differ (-want +got):\n%s", topology, diff)
		}
	}
}

func TestWarnings(t *testing.T) {
	size := validInstancetype(func(s *itv1alpha1.VirtualMachineInstancetypeSpec) {
		s.LaunchSecurity = &itv1alpha1.LaunchSecurity{}
		s.CPU.Model = ptr.To("host-model")
		s.Memory.Hugepages = &itv1alpha1.Hugepages{PageSize: "64Ki"}
		s.NodeSelector = map[string]string{"a": "b"}
		s.GPUs = []itv1alpha1.GPU{{Name: "fits", DeviceName: "grid_a100-10c"}, {Name: "foreign", DeviceName: "nvidia.com/A400"}}
	})
	want := []string{
		"spec.launchSecurity: deprecated; use preferredLaunchSecurity of a preference",
		"spec.nodeSelector: vSphere chooses the host; the value is stored but not applied",
		"spec.cpu.model: has no effect on vSphere; the value is stored but not applied",
		"spec.memory.hugepages.pageSize: vSphere supports page sizes 2Mi and 1Gi; other sizes are stored but not applied",
		"spec.gpus[1].deviceName: nvidia.com/A400 is not a vSphere device, and virtual machines with it are rejected; " +
			"use a vGPU profile, for example grid_a100-10c, or vendor:device in hexadecimal, for example 10de:2231",
	}
	if diff := cmp.Diff(want, validation.InstancetypeWarnings(size, field.NewPath("spec"))); diff != "" {
		t.Errorf("F115 warnings of an instance type differ (-want +got):\n%s", diff)
	}
	plain := validInstancetype(func(*itv1alpha1.VirtualMachineInstancetypeSpec) {})
	if got := validation.InstancetypeWarnings(plain, field.NewPath("spec")); len(got) != 0 {
		t.Errorf("a minimal instance type has warnings: %q", got)
	}

	preference := &itv1alpha1.VirtualMachinePreferenceSpec{
		Firmware: &itv1alpha1.FirmwarePreferences{DeprecatedPreferredUseEfi: ptr.To(true)},
		Machine:  &itv1alpha1.MachinePreferences{PreferredMachineType: "q35"},
		Devices:  &itv1alpha1.DevicePreferences{PreferredRng: &itv1alpha1.Rng{}, PreferredDiskBus: "virtio"},
	}
	want = []string{
		"spec.firmware.preferredUseEfi: deprecated; use preferredEfi",
		"spec.machine.preferredMachineType: q35 is not a vSphere hardware version such as vmx-21; the value is stored but not applied",
		"spec.devices.preferredRng: has no effect on vSphere; the value is stored but not applied",
	}
	if diff := cmp.Diff(want, validation.PreferenceWarnings(preference, field.NewPath("spec"))); diff != "" {
		t.Errorf("F115 warnings of a preference differ (-want +got):\n%s", diff)
	}
}
