// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"testing"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"sigs.k8s.io/yaml"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// createdVM returns the VM that vSphere creates from an effective spec, with adapters and no other devices.
func createdVM(e *vmv1alpha1.VirtualMachineInstanceSpec) *mo.VirtualMachine {
	spec := Spec(Differences(Desired{Desired: driver.Desired{Desired: provider.Desired{Effective: e}}, Backings: backings}, &mo.VirtualMachine{}))
	config := &types.VirtualMachineConfigInfo{
		Version: "vmx-19", Firmware: "bios", GuestId: spec.GuestId, Uuid: spec.Uuid,
		CpuAllocation: spec.CpuAllocation, MemoryAllocation: spec.MemoryAllocation, LatencySensitivity: spec.LatencySensitivity,
		CpuHotAddEnabled: spec.CpuHotAddEnabled, MemoryHotAddEnabled: spec.MemoryHotAddEnabled,
		MemoryReservationLockedToMax: spec.MemoryReservationLockedToMax, ExtraConfig: spec.ExtraConfig, BootOptions: spec.BootOptions,
	}
	config.Hardware.NumCPU, config.Hardware.MemoryMB, config.Hardware.NumCoresPerSocket = spec.NumCPUs, int32(spec.MemoryMB), spec.NumCoresPerSocket
	if spec.Firmware != "" {
		config.Firmware = spec.Firmware
	}
	for n, c := range spec.DeviceChange {
		card := c.GetVirtualDeviceConfigSpec().Device
		card.GetVirtualDevice().Key = int32(4000 + n)
		config.Hardware.Device = append(config.Hardware.Device, card)
	}
	return &mo.VirtualMachine{Config: config}
}

// backings are the networks of the specs.
var backings = map[string]types.BaseVirtualDeviceBackingInfo{"": backing("VM Network"), "other": backing("other")}

func effectiveOf(t *testing.T, fields string) *vmv1alpha1.VirtualMachineInstanceSpec {
	t.Helper()
	out := &vmv1alpha1.VirtualMachineInstanceSpec{}
	if err := yaml.UnmarshalStrict([]byte("{"+fields+"}"), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// The effects in the preview of a refresh must match the comparison with the VM. The test computes both for the same
// change.
func TestEffects_MatchTheHardwareComparison(t *testing.T) {
	const small = `cpu: {sockets: 2, cores: 1, threads: 1, hotAddEnabled: true}, memory: {guest: 4Gi, reservation: 4Gi, hotAddEnabled: true}`
	for name, tc := range map[string][2]string{
		"growth":                      {small, `cpu: {sockets: 4, hotAddEnabled: true}, memory: {guest: 8Gi, reservation: 8Gi, hotAddEnabled: true}`},
		"decrease":                    {small, `cpu: {sockets: 1, hotAddEnabled: true}, memory: {guest: 2Gi, reservation: 2Gi, hotAddEnabled: true}`},
		"growth above the NUMA limit": {small, `cpu: {sockets: 16}, memory: {guest: 64Gi, reservation: 64Gi}`},
		"growth without hot-add":      {`cpu: {sockets: 2}, memory: {guest: 4Gi}`, `cpu: {sockets: 4, reservation: 1G}, memory: {guest: 8Gi, reservation: 8Gi}`},
		"another shape":               {small, `cpu: {sockets: 1, cores: 4, hotAddEnabled: true}, memory: {guest: 4Gi, reservation: 4Gi, hotAddEnabled: true}`},
		"threads for cores":           {`cpu: {sockets: 2, cores: 2, hotAddEnabled: true}, memory: {guest: 4Gi}`, `cpu: {sockets: 3, threads: 2, hotAddEnabled: true}, memory: {guest: 4Gi}`},
		"a higher ceiling": {`cpu: {sockets: 1, maxSockets: 4, hotAddEnabled: true}, memory: {guest: 1Gi, maxGuest: 8Gi, hotAddEnabled: true}`,
			`cpu: {sockets: 8, maxSockets: 16, hotAddEnabled: true}, memory: {guest: 16Gi, maxGuest: 32Gi, hotAddEnabled: true}`},
		"allocations": {small, `cpu: {sockets: 2, hotAddEnabled: true, reservation: 1G, limit: 2G, shares: {level: High}}, memory: {guest: 4Gi, reservation: 1Gi, limit: 4Gi, shares: {level: Low}, hotAddEnabled: true}`},
		"dedicated CPUs are removed": {`cpu: {sockets: 2, dedicatedCPUPlacement: true, latencySensitivity: High, reservation: 4G}, memory: {guest: 4Gi, reservation: 4Gi, hugePageSize: 1Gi}`,
			`cpu: {sockets: 2, reservation: 1G}, memory: {guest: 4Gi, reservation: 2Gi}`},
		"dedicated CPUs by latency sensitivity": {`cpu: {sockets: 2, dedicatedCPUPlacement: true, latencySensitivity: High}, memory: {guest: 4Gi, reservation: 4Gi}`,
			`cpu: {sockets: 2, latencySensitivity: High, exposeVNUMA: true}, memory: {guest: 4Gi, reservation: 4Gi, hugePageSize: 2Mi}`},
		"pinned memory that grows": {`cpu: {sockets: 2, latencySensitivity: High}, memory: {guest: 4Gi, reservation: 4Gi, maxGuest: 8Gi, hotAddEnabled: true}`,
			`cpu: {sockets: 2, latencySensitivity: High}, memory: {guest: 8Gi, reservation: 8Gi, maxGuest: 8Gi, hotAddEnabled: true}`},
		"firmware":                           {small + `, firmware: {bootloader: BIOS}, guestID: a`, small + `, firmware: {bootloader: EFI, secureBoot: true}, guestID: b, minHardwareVersion: 21`},
		"firmware not changed":               {small + `, firmware: {bootloader: EFI, secureBoot: true, uuid: aa}, guestID: a`, small + `, firmware: {}`},
		"firmware with explicit values":      {small + `, firmware: {bootloader: EFI, secureBoot: true}`, small + `, firmware: {bootloader: EFI, secureBoot: false}`},
		"unsupported fields":                 {small + `, nodeSelector: {a: b}, devices: {video: {type: vga}}`, small + `, nodeSelector: {c: d}, devices: {video: {type: virtio}}`},
		"switches":                           {small, small + `, devices: {disableHotplug: true, autoattachGraphicsDevice: false}`},
		"an additional device":               {small, small + `, devices: {gpus: [{name: g, deviceName: grid_a100-10c}]}`},
		"a new first interface":              {small + `, network: {interfaces: [{name: eth0}]}`, small + `, network: {interfaces: [{name: first}, {name: eth0}]}`},
		"a removed interface":                {small + `, network: {interfaces: [{name: eth0}, {name: eth1}]}`, small + `, network: {interfaces: [{name: eth1}]}`},
		"another network":                    {small + `, network: {interfaces: [{name: eth0}]}`, small + `, network: {interfaces: [{name: eth0, network: other}]}`},
		"another model":                      {small + `, network: {interfaces: [{name: eth0, model: e1000}]}`, small + `, network: {interfaces: [{name: eth0, model: vmxnet3}]}`},
		"another address":                    {small + `, network: {interfaces: [{name: eth0}]}`, small + `, network: {interfaces: [{name: eth0, macAddress: "00:50:56:00:00:01"}]}`},
		"SR-IOV and an additional interface": {small + `, network: {interfaces: [{name: eth0, model: sriov}]}`, small + `, network: {interfaces: [{name: eth0, model: sriov, network: other}, {name: eth1}]}`},
		"hotplug disabled":                   {small + `, devices: {disableHotplug: true}, network: {interfaces: [{name: eth0}]}`, small + `, devices: {disableHotplug: true}, network: {interfaces: [{name: eth0, network: other}, {name: eth1}]}`},
		"network disabled":                   {small + `, network: {interfaces: [{name: eth0}]}`, small + `, network: {disabled: true}`},
		"interfaces":                         {small + `, network: {interfaces: [{name: eth0, model: e1000}]}`, small},
		"disks of a running VM":              {small, small + `, volumes: [{name: a, bus: pvscsi, disk: {size: 1Gi}}, {name: b, bus: sata, disk: {size: 1Gi}}], terminationGracePeriodSeconds: 5`},
	} {
		t.Run(name, func(t *testing.T) {
			running, desired := effectiveOf(t, tc[0]), effectiveOf(t, tc[1])
			seen := map[string]Difference{}
			for _, d := range Differences(Desired{Desired: driver.Desired{Desired: provider.Desired{Effective: desired}}, Backings: backings}, createdVM(running)) {
				seen[d.Path] = d
			}
			announced := hardware.Diff(running, desired)
			if len(announced) == 0 {
				t.Fatal("the two specs do not differ")
			}
			for _, d := range announced {
				got, differs := seen[d.Path]
				switch d.Effect {
				case vmv1alpha1.RefreshEffectNone:
					if differs {
						t.Errorf("%s is announced as without effect, but the hardware gets %+v", d.Path, got)
					}
				case vmv1alpha1.RefreshEffectLive:
					if differs && !got.Live {
						t.Errorf("%s is announced as live, but waits for a power cycle", d.Path)
					}
				case vmv1alpha1.RefreshEffectRestart:
					if partOfAnother(d.Path) {
						continue
					}
					if !differs || got.Live {
						t.Errorf("%s is announced as waiting for a power cycle, but the hardware differs %t, live %t", d.Path, differs, got.Live)
					}
				}
			}
		})
	}
}

// partOfAnother reports whether the hardware has the field under another path: a dedicated core per vCPU is part of
// the latency sensitivity.
func partOfAnother(path string) bool { return path == hardware.CPUDedicated }
