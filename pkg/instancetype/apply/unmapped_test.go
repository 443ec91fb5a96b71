// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

func TestUnmappedNamesOnlyWhatMeansNothing(t *testing.T) {
	size := sizeOf(t, `{schedulerName: s, ioThreadsPolicy: auto, ioThreads: {supplementalPoolThreadCount: 1}, launchSecurity: {sev: {}},
	  cpu: {guest: 1, model: m, isolateEmulatorThread: true, realtime: {mask: "0"}, maxSockets: 2, dedicatedCPUPlacement: true},
	  memory: {guest: 1Gi, maxGuest: 2Gi, hugepages: {pageSize: 16Gi}}, gpus: [{name: g, deviceName: d, tag: t}, {name: plain, deviceName: d}], hostDevices: [{name: h, tag: t}]}`)
	want := []string{
		"spec.schedulerName", "spec.cpu.model", "spec.cpu.isolateEmulatorThread", "spec.cpu.realtime.mask",
		"spec.memory.hugepages.pageSize", "spec.ioThreads", "spec.ioThreadsPolicy", "spec.launchSecurity",
		"spec.gpus[g]: virtualGPUOptions, tag, claimName, requestName", "spec.hostDevices[h]: tag, claimName, requestName",
	}
	if diff := cmp.Diff(want, apply.UnmappedInstancetype(size)); diff != "" {
		t.Errorf("instance type (-want +got):\n%s", diff)
	}
	pref := prefOf(t, `{clock: {preferredTimer: {}}, preferredArchitecture: amd64, machine: {preferredMachineType: q35},
	  features: {preferredAcpi: {}, preferredHyperv: {}}, firmware: {preferredUseBiosSerial: true},
	  devices: {preferredRng: {}, preferredDiskBus: virtio, preferredInterfaceModel: rtl8139, preferredVideoType: vga, preferredTPM: {}}}`)
	want = []string{
		"spec.clock.preferredTimer", "spec.devices.preferredInterfaceModel", "spec.devices.preferredRng", "spec.devices.preferredVideoType",
		"spec.features.preferredAcpi", "spec.features.preferredHyperv", "spec.firmware.preferredUseBiosSerial",
		"spec.machine.preferredMachineType", "spec.preferredArchitecture",
	}
	if diff := cmp.Diff(want, apply.UnmappedPreference(pref)); diff != "" {
		t.Errorf("preference (-want +got):\n%s", diff)
	}
	if got := apply.UnmappedInstancetype(sizeOf(t, small)); got != nil {
		t.Errorf("a plain instance type has unmapped fields %v", got)
	}
}

func TestFirmwareUUIDDependsOnTheUIDOnly(t *testing.T) {
	first, again, other := apply.FirmwareUUID("a"), apply.FirmwareUUID("a"), apply.FirmwareUUID("b")
	if first != again || first == other || len(first) != 36 {
		t.Errorf("F149 UUIDs %s, %s, %s: the first two must be equal, the third another", first, again, other)
	}
}
