// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

const inline = `cpu: {sockets: 2}, memory: {guest: 4Gi}`

func TestPreference_SetsUnsetFields(t *testing.T) {
	type spec = vmv1alpha1.VirtualMachineInstanceSpec
	disks := func(s *spec) any { return []string{s.Volumes[0].Bus, s.Volumes[1].Bus} }
	nics := func(s *spec) any { return []string{s.Network.Interfaces[0].Model, s.Network.Interfaces[1].Model} }
	const twoDisks = `volumes: [{name: a, disk: {size: 1Gi}}, {name: b, bus: nvme, disk: {size: 1Gi}}]`
	const drives = `volumes: [{name: a, cdrom: {}}, {name: b, disk: {size: 1Gi}}]`
	const twoNICs = `network: {interfaces: [{name: eth0}, {name: eth1, model: e1000}]}`
	for _, tc := range []struct {
		name, vm, pref string
		get            func(*spec) any
		want           any
	}{
		{"F87 F88 disk bus of disks without one", twoDisks, `{devices: {preferredDiskBus: sata}}`, disks, []string{"sata", "nvme"}},
		{"F87 virtio is the paravirtual SCSI adapter", twoDisks, `{devices: {preferredDiskBus: virtio}}`, disks, []string{"pvscsi", "nvme"}},
		{"an unsupported bus is ignored", twoDisks, `{devices: {preferredDiskBus: usb}}`, disks, []string{"pvscsi", "nvme"}},
		{"F88 other device types have their own preference", twoDisks, `{devices: {preferredCdromBus: sata, preferredLunBus: scsi}}`, disks, []string{"pvscsi", "nvme"}},
		{"F88 CD-ROM bus", drives, `{devices: {preferredCdromBus: ide, preferredDiskBus: nvme}}`, disks, []string{"ide", "nvme"}},
		{"F88 an unsupported CD-ROM bus is ignored", drives, `{devices: {preferredCdromBus: scsi}}`, disks, []string{"sata", "pvscsi"}},
		{"F90 interface model", twoNICs, `{devices: {preferredInterfaceModel: e1000e}}`, nics, []string{"e1000e", "e1000"}},
		{"F90 virtio is vmxnet3", twoNICs, `{devices: {preferredInterfaceModel: virtio}}`, nics, []string{"vmxnet3", "e1000"}},
		{"an unsupported model is ignored", twoNICs, `{devices: {preferredInterfaceModel: rtl8139}}`, nics, []string{"vmxnet3", "e1000"}},
		{"F90 default interface gets the model", `network: {}`, `{devices: {preferredInterfaceModel: e1000e}}`,
			func(s *spec) any { return s.Network.Interfaces }, []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0", Model: "e1000e"}}},
		{"no default interface if the preference disables it", `network: {}`, `{devices: {preferredAutoattachPodInterface: false}}`,
			func(s *spec) any { return len(s.Network.Interfaces) }, 0},
		{"no interface if the network is disabled", `network: {disabled: true}`, `{}`, func(s *spec) any { return len(s.Network.Interfaces) }, 0},
		{"F92 TPM if none is specified", `guestID: x`, `{devices: {preferredTPM: {persistent: true}}}`, func(s *spec) any { return *s.Devices.TPM.Persistent }, true},
		{"F92 a disabled TPM is not changed", `devices: {tpm: {enabled: false}}`, `{devices: {preferredTPM: {persistent: true}}}`,
			func(s *spec) any { return *s.Devices.TPM.Enabled || s.Devices.TPM.Persistent != nil }, false},
		{"F101 the grace period is the owner's", `terminationGracePeriodSeconds: 5`, `{preferredTerminationGracePeriodSeconds: 3600}`, func(s *spec) any { return *s.TerminationGracePeriodSeconds }, int64(5)},
		{"F94 video is created", `guestID: x`, `{devices: {preferredVideoType: svga}}`, func(s *spec) any { return s.Devices.Video.Type }, "svga"},
		{"F94 video without a type gets one", `devices: {video: {}}`, `{devices: {preferredVideoType: svga}}`, func(s *spec) any { return s.Devices.Video.Type }, "svga"},
		{"F94 an unsupported video card is ignored", `guestID: x`, `{devices: {preferredVideoType: virtio}}`, func(s *spec) any { return s.Devices }, (*vmv1alpha1.VirtualMachineDevices)(nil)},
		{"F94 video type is kept", `devices: {video: {type: vga}}`, `{devices: {preferredVideoType: svga}}`, func(s *spec) any { return s.Devices.Video.Type }, "vga"},
		{"F100 hardware version", `guestID: x`, `{machine: {preferredMachineType: vmx-21}}`, func(s *spec) any { return s.MinHardwareVersion }, int32(21)},
		{"F100 own hardware version wins", `minHardwareVersion: 19`, `{machine: {preferredMachineType: vmx-21}}`, func(s *spec) any { return s.MinHardwareVersion }, int32(19)},
		{"F100 other machine types are ignored", `guestID: x`, `{machine: {preferredMachineType: pc-q35-9.2}}`, func(s *spec) any { return s.MinHardwareVersion }, int32(0)},
		{"F100 an invalid version is ignored", `guestID: x`, `{machine: {preferredMachineType: vmx-99}}`, func(s *spec) any { return s.MinHardwareVersion }, int32(0)},
		{"F101 domain name", `network: {hostName: h}`, `{preferredSubdomain: example.org}`, func(s *spec) any { return s.Network.DomainName }, "example.org"},
		{"F101 own domain name wins", `network: {domainName: mine}`, `{preferredSubdomain: example.org}`, func(s *spec) any { return s.Network.DomainName }, "mine"},
		{"F101 grace period", `guestID: x`, `{preferredTerminationGracePeriodSeconds: 30}`, func(s *spec) any { return *s.TerminationGracePeriodSeconds }, int64(30)},
		{"F104 storage class", `guestID: x`, `{volumes: {preferredStorageClassName: fast}}`, func(s *spec) any { return s.StorageClass }, "fast"},
		{"F104 own storage class wins", `storageClass: mine`, `{volumes: {preferredStorageClassName: fast}}`, func(s *spec) any { return s.StorageClass }, "mine"},
		{"F98 time zone of guest customization", `bootstrap: {linuxPrep: {}}`, `{clock: {preferredClockOffset: {timezone: Europe/Berlin}}}`, func(s *spec) any { return s.Bootstrap.LinuxPrep.TimeZone }, "Europe/Berlin"},
		{"F98 a partly set clock is not changed", `bootstrap: {linuxPrep: {hardwareClockIsUTC: true}}`, `{clock: {preferredClockOffset: {timezone: Europe/Berlin}}}`, func(s *spec) any { return s.Bootstrap.LinuxPrep.TimeZone }, ""},
		{"F98 UTC", `bootstrap: {linuxPrep: {}}`, `{clock: {preferredClockOffset: {utc: {}}}}`, func(s *spec) any { return *s.Bootstrap.LinuxPrep.HardwareClockIsUTC }, true},
		{"F70 CPU features without cpu do not fail", `guestID: x`, `{cpu: {preferredCPUFeatures: [{name: vmx}]}}`, func(s *spec) any { return s.CPU.Sockets }, int32(2)},
		{"F106 topology does not change an inline size", `guestID: x`, `{cpu: {preferredCPUTopology: cores}}`, func(s *spec) any { return s.CPU.Sockets }, int32(2)},
		{"F99 an empty preference creates no firmware", `guestID: x`, `{firmware: {}}`, func(s *spec) any { return s.Firmware == nil }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.get(mustEffective(t, "{"+inline+", "+tc.vm+"}", "", tc.pref))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPreference_SetsAutoattachOnlyIfUnset(t *testing.T) {
	yes, no := true, false
	for _, tc := range []struct {
		name      string
		own, pref *bool
		want      *bool
	}{
		{"F95 both unset", nil, nil, nil},
		{"F95 preferred true", nil, &yes, &yes},
		{"F95 preferred false", nil, &no, &no},
		{"F95 own true", &yes, nil, &yes},
		{"F95 own false", &no, nil, &no},
		{"F95 F86 own true beats preferred false", &yes, &no, &yes},
		{"F95 F86 own false beats preferred true", &no, &yes, &no},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vm, pref := vmOf(t, "{"+inline+", devices: {}}"), prefOf(t, "{devices: {}}")
			for _, p := range []**bool{
				&vm.Spec.Devices.AutoattachGraphicsDevice, &vm.Spec.Devices.AutoattachSerialConsole, &vm.Spec.Devices.DisableHotplug,
			} {
				*p = tc.own
			}
			for _, p := range []**bool{
				&pref.Devices.PreferredAutoattachGraphicsDevice, &pref.Devices.PreferredAutoattachSerialConsole, &pref.Devices.PreferredDisableHotplug,
			} {
				*p = tc.pref
			}
			spec, err := apply.Effective(vm, apply.Inputs{Preference: pref})
			if err != nil {
				t.Fatal(err)
			}
			got := []*bool{spec.Devices.AutoattachGraphicsDevice, spec.Devices.AutoattachSerialConsole, spec.Devices.DisableHotplug}
			if diff := cmp.Diff([]*bool{tc.want, tc.want, tc.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPreference_NeverOverridesFirmware(t *testing.T) {
	for _, tc := range []struct{ name, own, pref, want string }{
		{"F99 EFI enables secure boot by default", "", `preferredEfi: {}`, `{bootloader: EFI, secureBoot: true}`},
		{"F99 EFI without secure boot", "", `preferredEfi: {secureBoot: false}`, `{bootloader: EFI, secureBoot: false}`},
		{"F99 ignored if the VM uses BIOS", `bootloader: BIOS`, `preferredEfi: {secureBoot: true}`, `{bootloader: BIOS}`},
		{"F99 own EFI is not changed", `bootloader: EFI`, `preferredEfi: {secureBoot: true}`, `{bootloader: EFI}`},
		{"F99 own EFI gets the deprecated secure boot", `bootloader: EFI`, `{preferredUseEfi: true, preferredUseSecureBoot: true}`, `{bootloader: EFI, secureBoot: true}`},
		{"F99 own EFI gets the deprecated secure boot without EFI", `bootloader: EFI`, `preferredUseSecureBoot: false`, `{bootloader: EFI, secureBoot: false}`},
		{"F99 own EFI gets the deprecated secure boot next to preferredEfi", `bootloader: EFI`, `{preferredEfi: {secureBoot: false}, preferredUseSecureBoot: true}`, `{bootloader: EFI, secureBoot: true}`},
		{"F99 own EFI with its own secure boot is not changed", `{bootloader: EFI, secureBoot: false}`, `preferredUseSecureBoot: true`, `{bootloader: EFI, secureBoot: false}`},
		{"F99 own BIOS gets no secure boot", `bootloader: BIOS`, `preferredUseSecureBoot: true`, `{bootloader: BIOS}`},
		{"F99 own secure boot is not changed", `secureBoot: false`, `preferredEfi: {secureBoot: true}`, `{bootloader: EFI, secureBoot: false}`},
		{"F99 the deprecated fields", "", `{preferredUseEfi: true, preferredUseSecureBoot: true}`, `{bootloader: EFI, secureBoot: true}`},
		{"F99 preferredEfi overrides the deprecated fields", "", `{preferredEfi: {secureBoot: false}, preferredUseEfi: true, preferredUseSecureBoot: true}`, `{bootloader: EFI, secureBoot: false}`},
		{"F99 BIOS", "", `preferredUseBios: true`, `{bootloader: BIOS}`},
		{"F99 BIOS does not replace own EFI", `bootloader: EFI`, `preferredUseBios: true`, `{bootloader: EFI}`},
		{"F99 BIOS is ignored with own secure boot", `secureBoot: true`, `preferredUseBios: true`, `{secureBoot: true}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vm := "{" + inline + "}"
			if tc.own != "" {
				vm = "{" + inline + ", firmware: {" + strings.Trim(tc.own, "{}") + "}}"
			}
			pref := tc.pref
			if pref[0] != '{' {
				pref = "{" + pref + "}"
			}
			spec := mustEffective(t, vm, "", "{firmware: "+pref+"}")
			if diff := cmp.Diff(parse[vmv1alpha1.VirtualMachineFirmware](t, tc.want), spec.Firmware); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEffective_AnnotationPrecedence(t *testing.T) {
	vm := vmOf(t, "{}")
	vm.Annotations = map[string]string{"vm": "own"}
	spec, err := apply.Effective(vm, apply.Inputs{
		Instancetype:         sizeOf(t, `{cpu: {guest: 1}, memory: {guest: 1Gi}, annotations: {both: instancetype}}`),
		Preference:           prefOf(t, `{annotations: {both: preference, vm: preference, only: preference}}`),
		InstancetypeRevision: &vmv1alpha1.AppliedRevision{Name: "small", Kind: "virtualmachineinstancetype"},
		PreferenceRevision:   &vmv1alpha1.AppliedRevision{Name: "linux", Kind: "virtualmachineclusterpreference"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"both": "instancetype", "only": "preference",
		apply.AnnotationInstancetype: "small", apply.AnnotationClusterPreference: "linux",
	}
	if diff := cmp.Diff(want, spec.Annotations); diff != "" {
		t.Errorf("F103 F105 (-want +got):\n%s", diff)
	}
}

func TestEffective_AnnotatesTheSources(t *testing.T) {
	for _, tc := range []struct {
		name       string
		size, pref string
		want       map[string]string
	}{
		{"F105 namespaced", "virtualmachineinstancetype", "virtualmachinepreference",
			map[string]string{apply.AnnotationInstancetype: "small", apply.AnnotationPreference: "linux"}},
		{"F105 cluster", "virtualmachineclusterinstancetype", "virtualmachineclusterpreference",
			map[string]string{apply.AnnotationClusterInstancetype: "small", apply.AnnotationClusterPreference: "linux"}},
		{"F105 an empty kind means cluster", "", "", map[string]string{apply.AnnotationClusterInstancetype: "small", apply.AnnotationClusterPreference: "linux"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec, err := apply.Effective(vmOf(t, "{}"), apply.Inputs{
				Instancetype: sizeOf(t, small), InstancetypeRevision: &vmv1alpha1.AppliedRevision{Name: "small", Kind: tc.size},
				Preference: prefOf(t, "{}"), PreferenceRevision: &vmv1alpha1.AppliedRevision{Name: "linux", Kind: tc.pref},
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, spec.Annotations); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFirmwareUUID_DependsOnlyOnTheUID(t *testing.T) {
	first, again, other := apply.FirmwareUUID("a"), apply.FirmwareUUID("a"), apply.FirmwareUUID("b")
	if first != again || first == other || len(first) != 36 {
		t.Errorf("F149 UUIDs %s, %s, %s: the first two must be equal, the third different", first, again, other)
	}
}
