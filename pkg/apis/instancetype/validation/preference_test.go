// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	instancetype "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
)

// spread returns CPU preferences with the given topology, across and ratio; an
// empty or zero value leaves the field unset.
func spread(topology instancetype.PreferredCPUTopology, across instancetype.SpreadAcross, ratio int32) *instancetype.CPUPreferences {
	cpu := &instancetype.CPUPreferences{PreferredCPUTopology: &topology, SpreadOptions: &instancetype.SpreadOptions{}}
	if across != "" {
		cpu.SpreadOptions.Across = &across
	}
	if ratio != 0 {
		cpu.SpreadOptions.Ratio = &ratio
	}
	return cpu
}

func TestPreferenceTopology(t *testing.T) {
	type spec = instancetype.VirtualMachinePreferenceSpec
	const across = instancetype.SpreadAcrossCoresThreads
	for _, tc := range []struct {
		name string
		spec spec
		want []string
	}{
		{"nothing preferred is accepted", spec{}, nil},
		{"F116 an unknown topology is refused", spec{CPU: &instancetype.CPUPreferences{PreferredCPUTopology: ptr.To(instancetype.PreferredCPUTopology("grid"))}}, []string{"FieldValueNotSupported spec.cpu.preferredCPUTopology"}},
		{"F117 spread across something unknown is refused", spec{CPU: spread(instancetype.Spread, "Rooms", 0)}, []string{"FieldValueNotSupported spec.cpu.spreadOptions.across"}},
		{"F117 older spread across something unknown is refused", spec{CPU: spread(instancetype.DeprecatedPreferSpread, "Rooms", 0)}, []string{"FieldValueNotSupported spec.cpu.spreadOptions.across"}},
		{"a ratio of 0 is refused", spec{CPU: &instancetype.CPUPreferences{SpreadOptions: &instancetype.SpreadOptions{Ratio: ptr.To[int32](0)}}}, []string{"FieldValueInvalid spec.cpu.spreadOptions.ratio"}},
		{"a negative older ratio is refused", spec{PreferSpreadSocketToCoreRatio: -2}, []string{"FieldValueInvalid spec.preferSpreadSocketToCoreRatio"}},
		{"CoresThreads with the default ratio is accepted", spec{CPU: spread(instancetype.Spread, across, 0)}, nil},
		{"F118 CoresThreads with ratio 2 is accepted", spec{CPU: spread(instancetype.Spread, across, 2)}, nil},
		{"F118 CoresThreads with ratio 4 is refused", spec{CPU: spread(instancetype.Spread, across, 4)}, []string{"FieldValueInvalid spec.cpu.spreadOptions.ratio"}},
		{"F118 CoresThreads with older ratio 4 is refused", spec{CPU: spread(instancetype.DeprecatedPreferSpread, across, 0), PreferSpreadSocketToCoreRatio: 4}, []string{"FieldValueInvalid spec.preferSpreadSocketToCoreRatio"}},
		{"ratio 2 wins over older ratio 4", spec{CPU: spread(instancetype.Spread, across, 2), PreferSpreadSocketToCoreRatio: 4}, nil},
		{"the ratio does not matter without spread", spec{CPU: spread(instancetype.Sockets, across, 4)}, nil},
		{"SocketsCores with ratio 4 is accepted", spec{CPU: spread(instancetype.Spread, instancetype.SpreadAcrossSocketsCores, 4)}, nil},
		{"an unknown feature policy is refused", spec{CPU: &instancetype.CPUPreferences{PreferredCPUFeatures: []instancetype.CPUFeature{{Name: "vmx", Policy: "maybe"}}}}, []string{"FieldValueNotSupported spec.cpu.preferredCPUFeatures[0].policy"}},
		{"a feature named twice is refused", spec{CPU: &instancetype.CPUPreferences{PreferredCPUFeatures: []instancetype.CPUFeature{{Name: "vmx"}, {Name: "vmx"}}}}, []string{"FieldValueDuplicate spec.cpu.preferredCPUFeatures[1].name"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			errs := ValidatePreferenceSpec(&tc.spec, field.NewPath("spec"))
			if diff := cmp.Diff(tc.want, summaries(errs)); diff != "" {
				t.Errorf("errors differ (-want +got):\n%s\n%v", diff, errs)
			}
		})
	}
}

func TestPreferenceValues(t *testing.T) {
	type spec = instancetype.VirtualMachinePreferenceSpec
	type devices = instancetype.DevicePreferences
	for _, tc := range []struct {
		name string
		spec spec
		want []string
	}{
		{"buses of both platforms are accepted", spec{Devices: &devices{PreferredDiskBus: "virtio", PreferredCdromBus: "sata", PreferredLunBus: "pvscsi"}}, nil},
		{"an unknown bus is refused", spec{Devices: &devices{PreferredDiskBus: "floppy"}}, []string{"FieldValueNotSupported spec.devices.preferredDiskBus"}},
		{"an unknown adapter is refused", spec{Devices: &devices{PreferredInterfaceModel: "ne1000"}}, []string{"FieldValueNotSupported spec.devices.preferredInterfaceModel"}},
		{"an unknown cache mode is refused", spec{Devices: &devices{PreferredDiskCache: "some"}}, []string{"FieldValueNotSupported spec.devices.preferredDiskCache"}},
		{"an unknown crash device is refused", spec{Devices: &devices{PreferredPanicDeviceModel: ptr.To(instancetype.PanicDeviceModel("bell"))}}, []string{"FieldValueNotSupported spec.devices.preferredPanicDeviceModel"}},
		{"a block of 513 bytes is refused", spec{Devices: &devices{PreferredDiskBlockSize: &instancetype.BlockSize{Custom: &instancetype.CustomBlockSize{Logical: 513, Physical: 4096}}}}, []string{"FieldValueInvalid spec.devices.preferredDiskBlockSize.custom.logical"}},
		{"a logical block above the physical is refused", spec{Devices: &devices{PreferredDiskBlockSize: &instancetype.BlockSize{Custom: &instancetype.CustomBlockSize{Logical: 4096, Physical: 512}}}}, []string{"FieldValueInvalid spec.devices.preferredDiskBlockSize.custom.logical"}},
		{"two bases of a clock are refused", spec{Clock: &instancetype.ClockPreferences{PreferredClockOffset: &instancetype.ClockOffset{UTC: &instancetype.ClockOffsetUTC{}, Timezone: ptr.To(instancetype.ClockOffsetTimezone("UTC"))}}}, []string{"FieldValueInvalid spec.clock.preferredClockOffset"}},
		{"an unknown tick policy is refused", spec{Clock: &instancetype.ClockPreferences{PreferredTimer: &instancetype.Timer{PIT: &instancetype.PITTimer{TickPolicy: "merge"}}}}, []string{"FieldValueNotSupported spec.clock.preferredTimer.pit.tickPolicy"}},
		{"too few retries are refused", spec{Features: &instancetype.FeaturePreferences{PreferredHyperv: &instancetype.FeatureHyperv{Spinlocks: &instancetype.FeatureSpinlocks{Retries: ptr.To[int64](10)}}}}, []string{"FieldValueInvalid spec.features.preferredHyperv.spinlocks.spinlocks"}},
		{"too long a vendor is refused", spec{Features: &instancetype.FeaturePreferences{PreferredHyperv: &instancetype.FeatureHyperv{VendorID: &instancetype.FeatureVendorID{VendorID: "thirteenchars"}}}}, []string{"FieldValueTooLong spec.features.preferredHyperv.vendorid.vendorid"}},
		{"a malformed storage class is refused", spec{Volumes: &instancetype.VolumePreferences{PreferredStorageClassName: "Fast One"}}, []string{"FieldValueInvalid spec.volumes.preferredStorageClassName"}},
		{"a negative grace period is refused", spec{PreferredTerminationGracePeriodSeconds: ptr.To[int64](-1)}, []string{"FieldValueInvalid spec.preferredTerminationGracePeriodSeconds"}},
		{"a requirement of no vCPU is refused", spec{Requirements: &instancetype.PreferenceRequirements{CPU: &instancetype.CPUPreferenceRequirement{}}}, []string{"FieldValueRequired spec.requirements.cpu.guest"}},
		{"a requirement of no memory is refused", spec{Requirements: &instancetype.PreferenceRequirements{Memory: &instancetype.MemoryPreferenceRequirement{}}}, []string{"FieldValueInvalid spec.requirements.memory.guest"}},
		{"a requirement of 1Gi is accepted", spec{Requirements: &instancetype.PreferenceRequirements{Memory: &instancetype.MemoryPreferenceRequirement{Guest: resource.MustParse("1Gi")}}}, nil},
		{"F109 an empty architecture is refused", spec{Requirements: &instancetype.PreferenceRequirements{Architecture: ptr.To("")}}, []string{"FieldValueRequired spec.requirements.architecture"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			errs := ValidatePreferenceSpec(&tc.spec, field.NewPath("spec"))
			if diff := cmp.Diff(tc.want, summaries(errs)); diff != "" {
				t.Errorf("errors differ (-want +got):\n%s\n%v", diff, errs)
			}
		})
	}
}

func TestErrorsNameFieldValueAndWhatIsAllowed(t *testing.T) {
	spec := instancetype.VirtualMachinePreferenceSpec{CPU: spread("grid", "", 0)}
	const want = `spec.cpu.preferredCPUTopology: Unsupported value: "grid": supported values: "sockets", "cores", "threads", "spread", "any", "preferSockets", "preferCores", "preferThreads", "preferSpread", "preferAny"`
	if got := ValidatePreferenceSpec(&spec, field.NewPath("spec")).ToAggregate().Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDeprecatedTopologiesAreAnsweredWithTheirNewNames(t *testing.T) {
	for topology, want := range map[instancetype.PreferredCPUTopology]string{
		instancetype.DeprecatedPreferSockets: "spec.cpu.preferredCPUTopology: preferSockets is deprecated; use sockets",
		instancetype.DeprecatedPreferCores:   "spec.cpu.preferredCPUTopology: preferCores is deprecated; use cores",
		instancetype.DeprecatedPreferThreads: "spec.cpu.preferredCPUTopology: preferThreads is deprecated; use threads",
		instancetype.DeprecatedPreferSpread:  "spec.cpu.preferredCPUTopology: preferSpread is deprecated; use spread",
		instancetype.DeprecatedPreferAny:     "spec.cpu.preferredCPUTopology: preferAny is deprecated; use any",
	} {
		spec := instancetype.VirtualMachinePreferenceSpec{CPU: spread(topology, "", 0)}
		if errs := ValidatePreferenceSpec(&spec, field.NewPath("spec")); len(errs) != 0 {
			t.Errorf("F119 %s was refused: %v", topology, errs)
		}
		if diff := cmp.Diff([]string{want}, PreferenceWarnings(&spec, field.NewPath("spec"))); diff != "" {
			t.Errorf("F119 warnings of %s differ (-want +got):\n%s", topology, diff)
		}
	}
}

func TestWarnings(t *testing.T) {
	size := validInstancetype(func(s *instancetype.VirtualMachineInstancetypeSpec) {
		s.LaunchSecurity = &instancetype.LaunchSecurity{}
		s.CPU.Model = ptr.To("host-model")
		s.Memory.Hugepages = &instancetype.Hugepages{PageSize: "64Ki"}
		s.NodeSelector = map[string]string{"a": "b"}
		s.GPUs = []instancetype.GPU{{Name: "fits", DeviceName: "grid_a100-10c"}, {Name: "foreign", DeviceName: "nvidia.com/A400"}}
	})
	want := []string{
		"spec.launchSecurity: deprecated; set preferredLaunchSecurity of a preference",
		"spec.nodeSelector: vSphere chooses the host; it is stored and not applied",
		"spec.cpu.model: has no meaning on vSphere; it is stored and not applied",
		"spec.memory.hugepages.pageSize: vSphere has pages of 2Mi and 1Gi; another size is stored and not applied",
		"spec.gpus[1].deviceName: nvidia.com/A400 is no device of vSphere, and a virtual machine with it is refused; " +
			"name a vGPU profile, for example grid_a100-10c, or vendor:device in hexadecimal, for example 10de:2231",
	}
	if diff := cmp.Diff(want, InstancetypeWarnings(size, field.NewPath("spec"))); diff != "" {
		t.Errorf("F115 warnings of an instance type differ (-want +got):\n%s", diff)
	}
	plain := validInstancetype(func(*instancetype.VirtualMachineInstancetypeSpec) {})
	if got := InstancetypeWarnings(plain, field.NewPath("spec")); len(got) != 0 {
		t.Errorf("a plain instance type was answered with warnings: %q", got)
	}

	preference := &instancetype.VirtualMachinePreferenceSpec{
		Firmware: &instancetype.FirmwarePreferences{DeprecatedPreferredUseEfi: ptr.To(true)},
		Machine:  &instancetype.MachinePreferences{PreferredMachineType: "q35"},
		Devices:  &instancetype.DevicePreferences{PreferredRng: &instancetype.Rng{}, PreferredDiskBus: "virtio"},
	}
	want = []string{
		"spec.firmware.preferredUseEfi: deprecated; use preferredEfi",
		"spec.machine.preferredMachineType: q35 is no hardware version of vSphere, for example vmx-21; it is stored and not applied",
		"spec.devices.preferredRng: has no meaning on vSphere; it is stored and not applied",
	}
	if diff := cmp.Diff(want, PreferenceWarnings(preference, field.NewPath("spec"))); diff != "" {
		t.Errorf("F115 warnings of a preference differ (-want +got):\n%s", diff)
	}
}
