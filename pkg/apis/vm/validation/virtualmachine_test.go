// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// summaries reduces errors to type and field, in order.
func summaries(errs field.ErrorList) []string {
	var out []string
	for _, err := range errs {
		out = append(out, strings.TrimPrefix(string(err.Type), "FieldValue")+" "+err.Field)
	}
	return out
}

// check compares the errors of a case with the expected errors.
func check(t *testing.T, want []string, errs field.ErrorList) {
	t.Helper()
	if diff := cmp.Diff(want, summaries(errs)); diff != "" {
		t.Errorf("errors differ (-want +got):\n%s\n%v", diff, errs)
	}
}

// quantity returns a pointer to a parsed quantity.
func quantity(s string) *resource.Quantity {
	return ptr.To(resource.MustParse(s))
}

// inlineVM returns a valid virtual machine, to which change is applied.
func inlineVM(change func(*vmv1alpha1.VirtualMachine)) *vmv1alpha1.VirtualMachine {
	obj := &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "dev", ResourceVersion: "1"},
		Spec: vmv1alpha1.VirtualMachineSpec{
			CPU:        &vmv1alpha1.VirtualMachineCPU{Sockets: 2},
			Memory:     &vmv1alpha1.VirtualMachineMemory{Guest: quantity("4Gi")},
			Image:      &vmv1alpha1.VirtualMachineImageRef{Kind: "VirtualMachineImage", Name: "photon"},
			PowerState: vmv1alpha1.PoweredOn,
		},
	}
	if change != nil {
		change(obj)
	}
	return obj
}

// inlineSpec returns a valid spec, to which change is applied.
func inlineSpec(change func(*vmv1alpha1.VirtualMachineSpec)) *vmv1alpha1.VirtualMachineSpec {
	return &inlineVM(func(obj *vmv1alpha1.VirtualMachine) { change(&obj.Spec) }).Spec
}

// specCase is a change of a valid spec and the expected errors.
type specCase struct {
	name   string
	change func(*vmv1alpha1.VirtualMachineSpec)
	want   []string
}

// runSpecCases validates each case.
func runSpecCases(t *testing.T, cases []specCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			check(t, tc.want, ValidateVirtualMachineSpec(inlineSpec(tc.change), field.NewPath("spec")))
		})
	}
}

func TestValidateVirtualMachine_ChecksName(t *testing.T) {
	for _, tc := range []struct {
		name string
		want []string
	}{
		{"web", nil},
		{strings.Repeat("a", 80), nil},
		{strings.Repeat("a", 81), []string{"Invalid metadata.name"}},
		{"a/b", []string{"Invalid metadata.name", "Invalid metadata.name"}},
		{`a\b`, []string{"Invalid metadata.name", "Invalid metadata.name"}},
		{"100%", []string{"Invalid metadata.name", "Invalid metadata.name"}},
		{"", []string{"Required metadata.name"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			check(t, tc.want, ValidateVirtualMachine(inlineVM(func(obj *vmv1alpha1.VirtualMachine) { obj.Name = tc.name })))
		})
	}
}

func TestValidateVirtualMachineSpec_RequiresOneSizeSource(t *testing.T) {
	noSize := func(s *vmv1alpha1.VirtualMachineSpec) { s.CPU, s.Memory = nil, nil }
	runSpecCases(t, []specCase{
		{"cpu and memory are accepted", func(*vmv1alpha1.VirtualMachineSpec) {}, nil},
		{"a class is accepted", func(s *vmv1alpha1.VirtualMachineSpec) { noSize(s); s.ClassName = "small" }, nil},
		{"an instance type is accepted", func(s *vmv1alpha1.VirtualMachineSpec) {
			noSize(s)
			s.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: "small"}
		}, nil},
		{"no source is rejected", noSize, []string{"Required spec"}},
		{"cpu without memory is rejected", func(s *vmv1alpha1.VirtualMachineSpec) { s.Memory = nil }, []string{"Required spec.memory"}},
		{"memory without cpu is rejected", func(s *vmv1alpha1.VirtualMachineSpec) { s.CPU = nil }, []string{"Required spec.cpu"}},
		{"cpu without a number is rejected", func(s *vmv1alpha1.VirtualMachineSpec) { s.CPU.Sockets = 0 }, []string{"Required spec.cpu"}},
		{"memory without an amount is rejected", func(s *vmv1alpha1.VirtualMachineSpec) { s.Memory.Guest = nil }, []string{"Required spec.memory.guest"}},
		{"class and instance type are rejected", func(s *vmv1alpha1.VirtualMachineSpec) {
			noSize(s)
			s.ClassName, s.Instancetype = "small", &vmv1alpha1.InstancetypeMatcher{Name: "small"}
		}, []string{"Forbidden spec.instancetype"}},
		{"class, cpu and memory are rejected", func(s *vmv1alpha1.VirtualMachineSpec) { s.ClassName = "small" }, []string{"Forbidden spec.cpu", "Forbidden spec.memory"}},
		{"instance type, cpu and memory are rejected", func(s *vmv1alpha1.VirtualMachineSpec) {
			s.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: "small"}
		}, []string{"Forbidden spec.cpu.sockets", "Forbidden spec.memory.guest"}},
		{"an instance type and a reservation are accepted", func(s *vmv1alpha1.VirtualMachineSpec) {
			s.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: "small"}
			s.CPU, s.Memory = &vmv1alpha1.VirtualMachineCPU{Reservation: quantity("1G")}, nil
		}, nil},
		{"a fallback for an instance type that can be missing is accepted", func(s *vmv1alpha1.VirtualMachineSpec) {
			s.Instancetype = &vmv1alpha1.InstancetypeMatcher{InferFromVolume: "image", InferFromVolumeFailurePolicy: ptr.To(vmv1alpha1.InferFromVolumeFailureIgnore)}
		}, nil},
	})
}

func TestValidateVirtualMachineSpec_ChecksHardware(t *testing.T) {
	type spec = vmv1alpha1.VirtualMachineSpec
	runSpecCases(t, []specCase{
		{"negative sockets", func(s *spec) { s.CPU.Sockets = -1 }, []string{"Invalid spec.cpu.sockets"}},
		{"negative cores", func(s *spec) { s.CPU.Cores = -2 }, []string{"Invalid spec.cpu.cores"}},
		{"more vCPUs than vSphere supports", func(s *spec) { s.CPU.Sockets, s.CPU.Cores = 100, 8 }, []string{"Invalid spec.cpu"}},
		{"maxSockets below sockets", func(s *spec) { s.CPU.MaxSockets = ptr.To[int32](1) }, []string{"Invalid spec.cpu.maxSockets"}},
		{"a fraction of a megahertz", func(s *spec) { s.CPU.Reservation = quantity("1500k") }, []string{"Invalid spec.cpu.reservation"}},
		{"a CPU reservation above the limit", func(s *spec) { s.CPU.Reservation, s.CPU.Limit = quantity("3G"), quantity("2G") }, []string{"Invalid spec.cpu.reservation"}},
		{"an unknown latency sensitivity", func(s *spec) { s.CPU.LatencySensitivity = "Extreme" }, []string{"NotSupported spec.cpu.latencySensitivity"}},
		{"custom shares", func(s *spec) {
			s.CPU.Shares = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesCustom, Shares: ptr.To[int32](500)}
		}, nil},
		{"custom shares without number", func(s *spec) { s.CPU.Shares = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesCustom} }, []string{"Required spec.cpu.shares.shares"}},
		{"a number of normal shares", func(s *spec) {
			s.CPU.Shares = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesNormal, Shares: ptr.To[int32](5)}
		}, []string{"Forbidden spec.cpu.shares.shares"}},
		{"shares without level", func(s *spec) { s.Memory.Shares = &vmv1alpha1.Shares{} }, []string{"Required spec.memory.shares.level"}},
		{"sizes with fractions", func(s *spec) {
			s.Memory.Guest, s.Memory.Reservation, s.Memory.Limit = quantity("1.5Gi"), quantity("0.5Gi"), quantity("1.25Gi")
			s.CPU.Reservation = quantity("1.5G")
			s.Volumes = []vmv1alpha1.VirtualMachineVolume{{Name: "data", Disk: &vmv1alpha1.DiskVolumeSource{Capacity: quantity("0.5Gi")}}}
		}, nil},
		{"memory that is not a multiple of 4 MiB", func(s *spec) { s.Memory.Guest = quantity("4097Mi") }, []string{"Invalid spec.memory.guest"}},
		{"negative memory", func(s *spec) { s.Memory.Guest = quantity("-4Gi") }, []string{"Invalid spec.memory.guest"}},
		{"no memory", func(s *spec) { s.Memory.Guest = quantity("0") }, []string{"Invalid spec.memory.guest"}},
		{"maxGuest below guest", func(s *spec) { s.Memory.MaxGuest = quantity("2Gi") }, []string{"Invalid spec.memory.guest"}},
		{"a reservation above guest", func(s *spec) { s.Memory.Reservation = quantity("5Gi") }, []string{"Invalid spec.memory.reservation"}},
		{"an unknown page size", func(s *spec) { s.Memory.HugePageSize = "4Mi" }, []string{"NotSupported spec.memory.hugePageSize"}},
		{"an unknown bootloader", func(s *spec) { s.Firmware = &vmv1alpha1.VirtualMachineFirmware{Bootloader: "GRUB"} }, []string{"NotSupported spec.firmware.bootloader"}},
		{"secure boot with BIOS", func(s *spec) {
			s.Firmware = &vmv1alpha1.VirtualMachineFirmware{Bootloader: vmv1alpha1.BootloaderBIOS, SecureBoot: ptr.To(true)}
		}, []string{"Invalid spec.firmware.secureBoot"}},
		{"a TPM with BIOS", func(s *spec) {
			s.Firmware = &vmv1alpha1.VirtualMachineFirmware{Bootloader: vmv1alpha1.BootloaderBIOS}
			s.Devices = &vmv1alpha1.VirtualMachineDevices{TPM: &vmv1alpha1.VirtualMachineTPM{}}
		}, []string{"Forbidden spec.devices.tpm"}},
		{"a malformed firmware UUID", func(s *spec) { s.Firmware = &vmv1alpha1.VirtualMachineFirmware{UUID: "42"} }, []string{"Invalid spec.firmware.uuid"}},
		{"a firmware UUID", func(s *spec) {
			s.Firmware = &vmv1alpha1.VirtualMachineFirmware{UUID: "420f3c1a-6f5b-4b8e-9d1c-2f6a7e8b9c0d"}
		}, nil},
		{"a malformed instance UUID", func(s *spec) { s.InstanceUUID = "vm-42" }, []string{"Invalid spec.instanceUUID"}},
		{"two GPUs with the same name", func(s *spec) {
			s.Devices = &vmv1alpha1.VirtualMachineDevices{GPUs: []vmv1alpha1.VirtualMachineDevice{{Name: "a", DeviceName: "x"}, {Name: "a", DeviceName: "y"}}}
		}, []string{"Duplicate spec.devices.gpus[1].name"}},
		{"a host device without device", func(s *spec) {
			s.Devices = &vmv1alpha1.VirtualMachineDevices{HostDevices: []vmv1alpha1.VirtualMachineDevice{{Name: "a"}}}
		}, []string{"Required spec.devices.hostDevices[0].deviceName"}},
		{"a guest ID", func(s *spec) { s.GuestID = "windows2019srv_64Guest" }, nil},
		{"a guest ID that is a name", func(s *spec) { s.GuestID = "Ubuntu Linux (64-bit)" }, []string{"Invalid spec.guestID"}},
		{"a guest ID that is too long", func(s *spec) { s.GuestID = strings.Repeat("x", 65) }, []string{"Invalid spec.guestID"}},
		{"a hardware version before 13", func(s *spec) { s.MinHardwareVersion = 12 }, []string{"Invalid spec.minHardwareVersion"}},
		{"a hardware version after 22", func(s *spec) { s.MinHardwareVersion = 23 }, []string{"Invalid spec.minHardwareVersion"}},
	})
}

func TestValidateVirtualMachineSpec_ChecksPowerAndReferences(t *testing.T) {
	type spec = vmv1alpha1.VirtualMachineSpec
	runSpecCases(t, []specCase{
		{"an unknown power state", func(s *spec) { s.PowerState = "On" }, []string{"NotSupported spec.powerState"}},
		{"an unknown mode", func(s *spec) { s.PowerOffMode, s.SuspendMode, s.RestartMode = "Gentle", "Gentle", "Gentle" }, []string{
			"NotSupported spec.powerOffMode", "NotSupported spec.suspendMode", "NotSupported spec.restartMode",
		}},
		{"an unknown update strategy", func(s *spec) { s.UpdateStrategy = "Later" }, []string{"NotSupported spec.updateStrategy"}},
		{"a grace period of 0", func(s *spec) { s.TerminationGracePeriodSeconds = ptr.To[int64](0) }, nil},
		{"deletion settings", func(s *spec) {
			s.Deletion = &vmv1alpha1.VirtualMachineDeletion{PowerOffMode: vmv1alpha1.PowerOpModeSoft, TimeoutSeconds: 86400}
		}, nil},
		{"empty deletion settings", func(s *spec) { s.Deletion = &vmv1alpha1.VirtualMachineDeletion{} }, nil},
		{"an unknown power-off mode for a deletion", func(s *spec) {
			s.Deletion = &vmv1alpha1.VirtualMachineDeletion{PowerOffMode: "Gentle"}
		}, []string{"NotSupported spec.deletion.powerOffMode"}},
		{"a deletion that waits longer than a day", func(s *spec) {
			s.Deletion = &vmv1alpha1.VirtualMachineDeletion{TimeoutSeconds: 86401}
		}, []string{"Invalid spec.deletion.timeoutSeconds"}},
		{"a deletion with a negative timeout", func(s *spec) {
			s.Deletion = &vmv1alpha1.VirtualMachineDeletion{TimeoutSeconds: -1}
		}, []string{"Invalid spec.deletion.timeoutSeconds"}},
		{"a negative grace period", func(s *spec) { s.TerminationGracePeriodSeconds = ptr.To[int64](-1) }, []string{"Invalid spec.terminationGracePeriodSeconds"}},
		{"an unknown power policy", func(s *spec) { s.PowerPolicy = ptr.To[vmv1alpha1.PowerPolicy]("Sometimes") }, []string{"NotSupported spec.powerPolicy"}},
		{"an unknown whenMissing", func(s *spec) { s.WhenMissing = "Panic" }, []string{"NotSupported spec.whenMissing"}},
		{"an unknown promotion mode", func(s *spec) { s.PromoteDisksMode = "Never" }, []string{"NotSupported spec.promoteDisksMode"}},
		{"restart now", func(s *spec) { s.NextRestartTime = "now" }, nil},
		{"restart at a time", func(s *spec) { s.NextRestartTime = "2026-01-02T15:04:05Z" }, nil},
		{"restart at an invalid time", func(s *spec) { s.NextRestartTime = "tomorrow" }, []string{"Invalid spec.nextRestartTime"}},
		{"an unknown image kind", func(s *spec) { s.Image.Kind = "Floppy" }, []string{"NotSupported spec.image.kind"}},
		{"a clone", func(s *spec) { s.Image.Kind = "VirtualMachine" }, nil},
		{"a clone of a snapshot", func(s *spec) { s.Image.Kind, s.Image.Snapshot = "VirtualMachine", "before the update" }, nil},
		{"a snapshot of an image", func(s *spec) { s.Image.Snapshot = "a" }, []string{"Forbidden spec.image.snapshot"}},
		{"a clone without a name", func(s *spec) { s.Image.Kind, s.Image.Name = "VirtualMachine", "" }, []string{"Required spec.image.name"}},
		{"an image without name", func(s *spec) { s.Image.Name = "" }, []string{"Required spec.image.name"}},
		{"malformed names", func(s *spec) {
			s.StorageClass, s.GroupName, s.CurrentSnapshotName = "A B", "A B", "A B"
		}, []string{"Invalid spec.storageClass", "Invalid spec.groupName", "Invalid spec.currentSnapshotName"}},
	})
}

func TestErrors_ContainFieldValueAndAllowedValues(t *testing.T) {
	spec := inlineSpec(func(s *vmv1alpha1.VirtualMachineSpec) {
		s.PowerState = "On"
		s.Memory.Guest = quantity("4097Mi")
	})
	const want = `[spec.memory.guest: Invalid value: "4097Mi": must be a multiple of 4Mi, from 4Mi to 24Ti, ` +
		`spec.powerState: Unsupported value: "On": supported values: "PoweredOn", "PoweredOff", "Suspended"]`
	if got := ValidateVirtualMachineSpec(spec, field.NewPath("spec")).ToAggregate().Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
