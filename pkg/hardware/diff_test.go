// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
)

var quantities = cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })

const hotAdd = `cpu: {sockets: 2, cores: 1, threads: 1, hotAddEnabled: true}, memory: {guest: 4Gi, reservation: 4Gi, hotAddEnabled: true}`

func instanceSpec(t testing.TB, fields string) *vmv1alpha1.VirtualMachineInstanceSpec {
	t.Helper()
	out := &vmv1alpha1.VirtualMachineInstanceSpec{}
	if err := yaml.UnmarshalStrict([]byte("{"+fields+"}"), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// staged is one change and the expected results for its fields.
type staged struct {
	name, running, desired string
	live, pending, none    []string
}

func TestStage_SeparatesLiveChanges(t *testing.T) {
	for _, tc := range []staged{
		{"F137 more sockets and memory", hotAdd,
			`cpu: {sockets: 4, cores: 1, threads: 1, hotAddEnabled: true}, memory: {guest: 8Gi, reservation: 8Gi, hotAddEnabled: true}`,
			[]string{"cpu.sockets", "memory.guest", "memory.reservation"}, nil, nil},
		{"F137 within explicit maxima",
			`cpu: {sockets: 2, maxSockets: 4, hotAddEnabled: true}, memory: {guest: 4Gi, maxGuest: 8Gi, hotAddEnabled: true}`,
			`cpu: {sockets: 4, maxSockets: 4, hotAddEnabled: false}, memory: {guest: 8Gi, maxGuest: 8Gi, hotAddEnabled: false}`,
			[]string{"cpu.sockets", "memory.guest"}, []string{"cpu.hotAddEnabled", "memory.hotAddEnabled"}, nil},
		{"F138 above the maximum",
			`cpu: {sockets: 2, maxSockets: 3, hotAddEnabled: true}, memory: {guest: 4Gi, maxGuest: 6Gi, hotAddEnabled: true}`,
			`cpu: {sockets: 4, maxSockets: 3, hotAddEnabled: true}, memory: {guest: 8Gi, maxGuest: 6Gi, hotAddEnabled: true}`,
			nil, []string{"cpu.sockets", "memory.guest"}, nil},
		{"F137 the maximum increases with the size, because the hardware does not have it",
			`cpu: {sockets: 1, maxSockets: 4, hotAddEnabled: true}, memory: {guest: 1Gi, maxGuest: 8Gi, hotAddEnabled: true}`,
			`cpu: {sockets: 8, maxSockets: 16, hotAddEnabled: true}, memory: {guest: 16Gi, maxGuest: 32Gi, hotAddEnabled: true}`,
			[]string{"cpu.sockets", "cpu.maxSockets", "memory.guest", "memory.maxGuest"}, nil, nil},
		{"F138 a size without default hot-add: the size grows and hot-add is pending",
			hotAdd, `cpu: {sockets: 16, cores: 1, threads: 1}, memory: {guest: 8Gi, reservation: 8Gi}`,
			[]string{"cpu.sockets", "memory.guest", "memory.reservation"}, []string{"cpu.hotAddEnabled", "memory.hotAddEnabled"}, nil},
		{"F138 decrease", hotAdd,
			`cpu: {sockets: 1, hotAddEnabled: true}, memory: {guest: 2Gi, reservation: 2Gi, hotAddEnabled: true}`,
			[]string{"memory.reservation"}, []string{"cpu.sockets", "memory.guest"}, nil},
		{"F138 without hot-add; a reservation cannot exceed the current memory",
			`cpu: {sockets: 2}, memory: {guest: 4Gi, reservation: 4Gi}`, `cpu: {sockets: 4}, memory: {guest: 8Gi, reservation: 8Gi}`,
			nil, []string{"cpu.sockets", "memory.guest", "memory.reservation"}, nil},
		{"F138 another number of cores per socket also delays the sockets",
			`cpu: {sockets: 2, cores: 2, hotAddEnabled: true}`, `cpu: {sockets: 4, cores: 1, hotAddEnabled: true}`,
			nil, []string{"cpu.sockets", "cpu.cores"}, nil},
		{"threads count as cores", `cpu: {sockets: 2, cores: 2, hotAddEnabled: true}`, `cpu: {sockets: 4, cores: 1, threads: 2, hotAddEnabled: true}`,
			[]string{"cpu.sockets"}, nil, []string{"cpu.cores", "cpu.threads"}},
		{"reservations, limits and shares", hotAdd,
			`cpu: {sockets: 2, hotAddEnabled: true, reservation: 1G, limit: 2G, shares: {level: High}}, memory: {guest: 4Gi, reservation: 1Gi, limit: 4Gi, shares: {level: Custom, shares: 7}, hotAddEnabled: true}`,
			[]string{"cpu.reservation", "cpu.limit", "cpu.shares", "memory.reservation", "memory.limit", "memory.shares"}, nil, nil},
		{"a reservation that latency sensitivity needs",
			`cpu: {sockets: 2, latencySensitivity: High, reservation: 4G}, memory: {guest: 4Gi, reservation: 4Gi}`,
			`cpu: {sockets: 2}, memory: {guest: 4Gi}`,
			nil, []string{"cpu.latencySensitivity", "cpu.reservation", "memory.reservation", "memory.reservationLocked"}, nil},
		{"dedicated vCPUs and high latency sensitivity are one setting; small pages are ignored",
			`cpu: {sockets: 2, dedicatedCPUPlacement: true, latencySensitivity: High}, memory: {guest: 4Gi}`,
			`cpu: {sockets: 2, latencySensitivity: High, exposeVNUMA: true}, memory: {guest: 4Gi, hugePageSize: 2Mi}`,
			nil, nil, []string{"cpu.dedicatedCPUPlacement", "cpu.exposeVNUMA", "memory.hugePageSize"}},
	} {
		t.Run(tc.name, func(t *testing.T) { checkStage(t, tc.running, tc.desired, tc.live, tc.pending, tc.none) })
	}
}

func TestStage_ConsidersHotPlug(t *testing.T) {
	for _, tc := range []staged{
		{"node selector, annotations and grace period", hotAdd,
			hotAdd + `, nodeSelector: {a: b}, annotations: {c: d}, terminationGracePeriodSeconds: 5`,
			[]string{"annotations", "terminationGracePeriodSeconds"}, nil, []string{"nodeSelector"}},
		{"F138 devices, firmware, buses and models",
			hotAdd + `, firmware: {bootloader: BIOS}, volumes: [{name: a, bus: pvscsi}, {name: gone}], network: {interfaces: [{name: eth0, model: vmxnet3}]}`,
			hotAdd + `, firmware: {bootloader: EFI, secureBoot: true}, minHardwareVersion: 21, guestID: x, volumes: [{name: a, bus: sata}], network: {interfaces: [{name: eth0, model: e1000}, {name: eth1}]}, devices: {tpm: {}, gpus: [{name: g, deviceName: d}]}`,
			[]string{"memory.reservationLocked", "network.interfaces[eth1]"}, []string{"firmware.bootloader", "firmware.secureBoot", "minHardwareVersion", "guestID",
				"devices.gpus", "devices.tpm", "network.interfaces[eth0]"}, []string{"volumes[a]", "volumes[gone]"}},
		{"settings that are no longer requested are kept",
			hotAdd + `, firmware: {bootloader: EFI, secureBoot: true}, minHardwareVersion: 21, guestID: x, network: {interfaces: [{name: eth0, macAddress: "00:50:56:00:00:01"}]},
			  devices: {tpm: {}, video: {type: svga}, disableHotplug: true, autoattachGraphicsDevice: false, autoattachSerialConsole: true}`,
			hotAdd + `, minHardwareVersion: 19, network: {interfaces: [{name: eth0}]}, devices: {autoattachSerialConsole: false}`,
			nil, nil, []string{"firmware.bootloader", "firmware.secureBoot", "minHardwareVersion", "guestID", "devices.tpm",
				"devices.video.type", "devices.disableHotplug", "devices.autoattachGraphicsDevice", "devices.autoattachSerialConsole", "network.interfaces[eth0]"}},
		{"interfaces are kept if the spec has none", hotAdd + `, network: {interfaces: [{name: eth0, model: e1000, macAddress: "00:50:56:00:00:01"}]}`, hotAdd,
			nil, nil, []string{"network.interfaces[eth0]"}},
		{"F138 another address",
			hotAdd + `, network: {interfaces: [{name: eth0, macAddress: "00:50:56:00:00:01"}]}`,
			hotAdd + `, network: {interfaces: [{name: eth0, macAddress: "00:50:56:00:00:02"}]}`,
			nil, []string{"network.interfaces[eth0]"}, nil},
		{"F138 another model",
			hotAdd + `, network: {interfaces: [{name: eth0, model: vmxnet3, macAddress: "00:50:56:00:00:01"}]}`,
			hotAdd + `, network: {interfaces: [{name: eth0, model: e1000}]}`,
			nil, []string{"network.interfaces[eth0]"}, nil},
		{"another network, one interface added and one removed", hotAdd + `, network: {interfaces: [{name: eth0, network: a}, {name: eth1}]}`,
			hotAdd + `, network: {interfaces: [{name: first, network: a}, {name: eth0, network: b}]}`,
			[]string{"network.interfaces[eth0]", "network.interfaces[eth1]", "network.interfaces[first]"}, nil, nil},
		{"without hot-plug the network can still change", hotAdd + `, devices: {disableHotplug: true}, network: {interfaces: [{name: eth0, network: a}]}`,
			hotAdd + `, devices: {disableHotplug: true}, network: {interfaces: [{name: eth0, network: b}, {name: eth1}]}`,
			[]string{"network.interfaces[eth0]"}, []string{"network.interfaces[eth1]"}, nil},
		{"no hot-plug with SR-IOV", hotAdd + `, network: {interfaces: [{name: eth0, model: sriov, network: a}]}`,
			hotAdd + `, network: {interfaces: [{name: eth0, model: sriov, network: b}, {name: eth1, model: vmxnet3}]}`,
			nil, []string{"network.interfaces[eth0]", "network.interfaces[eth1]"}, nil},
		{"F138 a disabled network", hotAdd + `, network: {interfaces: [{name: eth0, macAddress: "00:50:56:00:00:01"}]}`, hotAdd + `, network: {disabled: true}`,
			[]string{"network.interfaces[eth0]"}, nil, nil},
		{"F138 explicitly disabled settings are removed",
			hotAdd + `, firmware: {bootloader: EFI, secureBoot: true}, devices: {tpm: {}, disableHotplug: true, autoattachGraphicsDevice: false}`,
			hotAdd + `, firmware: {bootloader: EFI, secureBoot: false}, devices: {tpm: {enabled: false}, disableHotplug: false, autoattachGraphicsDevice: true}`,
			nil, []string{"firmware.secureBoot", "devices.tpm", "devices.disableHotplug", "devices.autoattachGraphicsDevice"}, nil},
		{"disks: hot-plug on SCSI, on SATA with a controller, not on IDE; all can grow except IDE",
			hotAdd + `, volumes: [{name: grow, bus: pvscsi, disk: {size: 1Gi}}, {name: there, bus: sata, disk: {size: 1Gi}}, {name: old, bus: ide, disk: {size: 1Gi}}]`,
			hotAdd + `, volumes: [{name: grow, bus: pvscsi, disk: {size: 2Gi}}, {name: there, bus: sata, disk: {size: 1Gi}}, {name: old, bus: ide, disk: {size: 2Gi}},
			  {name: new1, bus: pvscsi, disk: {size: 1Gi}}, {name: new2, bus: sata, disk: {size: 1Gi}}, {name: new3, bus: nvme, disk: {size: 1Gi}}]`,
			[]string{"volumes[grow]", "volumes[new1]", "volumes[new2]"}, []string{"volumes[new3]", "volumes[old]"}, nil},
		{"the name of a device does not matter", hotAdd + `, devices: {gpus: [{name: a, deviceName: d}]}`, hotAdd + `, devices: {gpus: [{name: b, deviceName: d}]}`, nil, nil, nil},
		{"F149 the same BIOS UUID in another letter case", hotAdd + `, firmware: {uuid: ABCD}`, hotAdd + `, firmware: {uuid: abcd}`, nil, nil, nil},
		{"equal values in other forms", `cpu: {sockets: 1, shares: {level: Normal}, latencySensitivity: Normal}, memory: {guest: 4096Mi}`, `cpu: {cores: 1, dedicatedCPUPlacement: false}, memory: {guest: 4Gi}`, nil, nil, nil},
		{"the name of the source and the CPU model make no difference",
			hotAdd + `, instancetype: {name: a, kind: x, revisionName: r1}`,
			`cpu: {sockets: 2, model: m, hotAddEnabled: true}, memory: {guest: 4Gi, reservation: 4Gi, hotAddEnabled: true}, className: c`, nil, nil, nil},
		{"another class is live for existing disks; no class keeps the current one",
			hotAdd + `, storageClass: slow, bootDisk: {storageClass: slow}, volumes: [{name: a, bus: pvscsi, disk: {size: 1Gi, storageClass: slow}}, {name: b, bus: pvscsi, disk: {size: 1Gi, storageClass: slow}}]`,
			hotAdd + `, storageClass: fast, volumes: [{name: a, bus: pvscsi, disk: {size: 1Gi, storageClass: fast}}, {name: b, bus: pvscsi, disk: {size: 1Gi}}]`,
			[]string{"storageClass", "volumes[a]"}, nil, []string{"bootDisk.storageClass", "volumes[b]"}},
		{"a boot disk grows, and a smaller size changes nothing", hotAdd + `, bootDisk: {size: 10Gi}`, hotAdd + `, bootDisk: {size: 20Gi}`, []string{"bootDisk.size"}, nil, nil},
		{"a boot disk never shrinks", hotAdd + `, bootDisk: {size: 10Gi}`, hotAdd + `, bootDisk: {size: 5Gi}`, nil, nil, []string{"bootDisk.size"}},
		{"the boot order takes effect at the next power on; an unset order is ignored", hotAdd + `, bootOrder: [{type: Disk}]`, hotAdd + `, bootOrder: [{type: CDROM}, {type: Disk}]`, nil, []string{"bootOrder"}, nil},
		{"disks of claims are attached and detached live",
			hotAdd + `, volumes: [{name: gone, persistentVolumeClaim: {claimName: a}}, {name: other, persistentVolumeClaim: {claimName: a}}, {name: same, bus: nvme, persistentVolumeClaim: {claimName: c}}]`,
			hotAdd + `, volumes: [{name: new, persistentVolumeClaim: {claimName: a}}, {name: other, persistentVolumeClaim: {claimName: b}}, {name: cold, bus: sata, persistentVolumeClaim: {claimName: d}}, {name: same, bus: nvme, persistentVolumeClaim: {claimName: c}}]`,
			[]string{"volumes[gone]", "volumes[new]", "volumes[other]"}, []string{"volumes[cold]"}, nil},
		{"disks with a reclaim policy are detached live, drives with a power cycle",
			hotAdd + `, volumes: [{name: a, bus: pvscsi, reclaimPolicy: Delete, disk: {size: 1Gi}}, {name: b, bus: ide, reclaimPolicy: Detach, disk: {size: 1Gi}}, {name: c, bus: sata, cdrom: {}}]`,
			hotAdd, []string{"volumes[a]"}, []string{"volumes[b]", "volumes[c]"}, nil},
		{"media are changed live, drives are not",
			hotAdd + `, volumes: [{name: a, bus: sata, cdrom: {image: {name: x}}}, {name: b, bus: sata, cdrom: {image: {name: x}}}]`,
			hotAdd + `, volumes: [{name: a, bus: sata, cdrom: {image: {name: y}}}, {name: b, bus: sata, cdrom: {image: {name: x}, connected: false}}, {name: c, bus: sata, cdrom: {}}]`,
			[]string{"volumes[a]", "volumes[b]"}, []string{"volumes[c]"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) { checkStage(t, tc.running, tc.desired, tc.live, tc.pending, tc.none) })
	}
}

// checkStage compares the live and the pending changes, and checks that a second call changes nothing.
func checkStage(t *testing.T, runningSpec, desiredSpec string, wantLive, wantPending, wantNone []string) {
	t.Helper()
	running, desired := instanceSpec(t, runningSpec), instanceSpec(t, desiredSpec)
	var live, none []string
	for _, d := range hardware.Diff(running, desired) {
		switch d.Effect {
		case vmv1alpha1.RefreshEffectLive:
			live = append(live, d.Path)
		case vmv1alpha1.RefreshEffectNone:
			none = append(none, d.Path)
		}
	}
	if diff := cmp.Diff(wantNone, none); diff != "" {
		t.Errorf("without effect (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantLive, live); diff != "" {
		t.Errorf("live (-want +got):\n%s", diff)
	}
	target, pending := hardware.Stage(running, desired, vmv1alpha1.UpdateStrategyLiveUpdate)
	if diff := cmp.Diff(wantPending, paths(pending)); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
	// After the live changes exactly the pending changes are left.
	again, left := hardware.Stage(target, desired, vmv1alpha1.UpdateStrategyLiveUpdate)
	if diff := cmp.Diff(pending, left); diff != "" {
		t.Errorf("F143 pending after the live changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(target, again, quantities); diff != "" {
		t.Errorf("a second call changes the target (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(instanceSpec(t, runningSpec), running, quantities); diff != "" {
		t.Errorf("the running spec was changed (-want +got):\n%s", diff)
	}

	target, pending = hardware.Stage(running, desired, vmv1alpha1.UpdateStrategyStage)
	if got, want := len(pending), len(wantLive)+len(wantPending); got != want {
		t.Errorf("F140 Stage defers %d changes, want %d", got, want)
	}
	if len(hardware.Diff(running, target)) != 0 {
		t.Errorf("F140 Stage changes the running spec: %v", hardware.Diff(running, target))
	}
	if got := hardware.Diff(desired, desired); got != nil {
		t.Errorf("F139 a spec differs from itself: %v", got)
	}
}

func paths(list []vmv1alpha1.RestartRequirement) []string {
	var out []string
	for _, r := range list {
		out = append(out, r.Path)
	}
	return out
}

func TestStage_ReturnsBothValuesOfPendingChanges(t *testing.T) {
	_, pending := hardware.Stage(
		instanceSpec(t, `cpu: {cores: 2}, memory: {guest: 8192Mi}`),
		instanceSpec(t, `cpu: {cores: 4}, memory: {guest: 4Gi, hugePageSize: 1Gi}`), vmv1alpha1.UpdateStrategyLiveUpdate)
	want := []vmv1alpha1.RestartRequirement{
		{Path: "cpu.cores", Running: "2", Desired: "4"},
		{Path: "memory.guest", Running: "8Gi", Desired: "4Gi"},
		{Path: "memory.hugePageSize", Running: "", Desired: "1Gi"},
		{Path: "memory.reservationLocked", Running: "false", Desired: "true"},
	}
	if diff := cmp.Diff(want, pending); diff != "" {
		t.Errorf("F143 (-want +got):\n%s", diff)
	}
}

func TestDiff_FormatsValuesWithUnits(t *testing.T) {
	for name, tc := range map[string]struct {
		running, desired string
		want             hardware.Difference
	}{
		"secure boot that is set to false": {`firmware: {secureBoot: true}`, `firmware: {secureBoot: false}`,
			hardware.Difference{Path: hardware.SecureBoot, Old: "true", New: "false", Effect: vmv1alpha1.RefreshEffectRestart}},
		"secure boot that is no longer set": {`firmware: {secureBoot: true}`, ``,
			hardware.Difference{Path: hardware.SecureBoot, Old: "true", New: "", Effect: vmv1alpha1.RefreshEffectNone}},
		"memory": {`memory: {guest: 4096Mi}`, `memory: {guest: 1.5Gi}`,
			hardware.Difference{Path: hardware.MemoryGuest, Old: "4Gi", New: "1536Mi", Effect: vmv1alpha1.RefreshEffectRestart}},
		"a reservation of memory": {``, `memory: {reservation: 1G}`,
			hardware.Difference{Path: hardware.MemoryReservation, Old: "0", New: "1G", Effect: vmv1alpha1.RefreshEffectLive}},
		"a reservation of CPU": {``, `cpu: {reservation: 4588M}`,
			hardware.Difference{Path: hardware.CPUReservation, Old: "0", New: "4588M", Effect: vmv1alpha1.RefreshEffectLive}},
		"shares": {`cpu: {shares: {level: High}}`, `cpu: {shares: {level: Custom, shares: 77}}`,
			hardware.Difference{Path: hardware.CPUShares, Old: "High", New: "77", Effect: vmv1alpha1.RefreshEffectLive}},
		"an adapter": {`network: {interfaces: [{name: a, model: e1000, network: lan, macAddress: "00:50:56:00:00:0A"}]}`, `network: {interfaces: [{name: a, model: vmxnet3}]}`,
			hardware.Difference{Path: hardware.Interface("a"), Old: "e1000 on lan 00:50:56:00:00:0a", New: "vmxnet3", Effect: vmv1alpha1.RefreshEffectRestart}},
		"a disk": {``, `volumes: [{name: data, bus: pvscsi, disk: {size: 1Gi}}]`,
			hardware.Difference{Path: hardware.Volume("data"), Old: "", New: "1Gi on pvscsi", Effect: vmv1alpha1.RefreshEffectLive}},
		"devices in any order": {`devices: {gpus: [{name: a, deviceName: x}]}, memory: {}`, `devices: {gpus: [{name: a, deviceName: x}, {name: b, deviceName: grid}]}`,
			hardware.Difference{Path: hardware.GPUs, Old: "x", New: "grid, x", Effect: vmv1alpha1.RefreshEffectRestart}},
	} {
		t.Run(name, func(t *testing.T) {
			got := hardware.Diff(instanceSpec(t, tc.running), instanceSpec(t, tc.desired))
			if diff := cmp.Diff([]hardware.Difference{tc.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPaths_AreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range hardware.Fields {
		if seen[f.Path] || !hardware.Known(f.Path) {
			t.Errorf("%s is in the table twice, or is not known", f.Path)
		}
		seen[f.Path] = true
	}
	if hardware.Known("cpu.vcpus") || !hardware.Known(hardware.Volume("x")) {
		t.Error("an unknown path is known, or a volume is unknown")
	}
}

func TestFields_HaveAllParts(t *testing.T) {
	for _, f := range hardware.Fields {
		from, to := hardware.StateOf(nil), hardware.StateOf(nil)
		f.Copy(to, from)
		if got, want := f.Value(to), f.Value(from); got != want {
			t.Errorf("%s is %q in a copy, want %q", f.Path, got, want)
		}
		if f.Effect(from, to) == "" {
			t.Errorf("%s has no effect", f.Path)
		}
	}
}

// everything returns a spec with all fields of the table.
const everything = `cpu: {sockets: 2, cores: 3, threads: 4, maxSockets: 5, hotAddEnabled: true, dedicatedCPUPlacement: true, latencySensitivity: High,
    exposeVNUMA: true, reservation: 6G, limit: 7G, shares: {level: Custom, shares: 8}},
  memory: {guest: 1Gi, maxGuest: 2Gi, hotAddEnabled: true, hugePageSize: 1Gi, reservation: 3Gi, limit: 4Gi, shares: {level: Custom, shares: 9}},
  firmware: {bootloader: EFI, secureBoot: true, uuid: 564d0c4e-0000-0000-0000-000000000001}, minHardwareVersion: 21, guestID: linux64,
  storageClass: home, bootDisk: {size: 5Gi, storageClass: boot}, bootOrder: [{type: Disk, name: root}],
  devices: {gpus: [{name: g, deviceName: v}], hostDevices: [{name: h, deviceName: w}], tpm: {enabled: true}, video: {type: vmvga},
    disableHotplug: true, autoattachGraphicsDevice: true, autoattachSerialConsole: true},
  nodeSelector: {a: b}, annotations: {c: d}, terminationGracePeriodSeconds: 10`

func TestField_CopiesOnlyTheFieldsOfItsPath(t *testing.T) {
	fields := func(spec *vmv1alpha1.VirtualMachineInstanceSpec) map[string]any {
		all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
		if err != nil {
			t.Fatal(err)
		}
		maps.DeleteFunc(all, func(_ string, part any) bool { return cmp.Equal(part, map[string]any{}) })
		return all
	}
	from := instanceSpec(t, everything)
	for _, f := range hardware.Fields {
		want := map[string]any{}
		if path := strings.Split(f.Path, "."); f.Path != hardware.MemoryLocked { // which no spec has
			value, found, err := unstructured.NestedFieldCopy(fields(from), path...)
			if err != nil || !found {
				t.Fatalf("%s: found %t, error %v", f.Path, found, err)
			}
			if err := unstructured.SetNestedField(want, value, path...); err != nil {
				t.Fatal(err)
			}
		}
		to := hardware.StateOf(nil)
		f.Copy(to, hardware.StateOf(from))
		if diff := cmp.Diff(want, fields(&to.Spec)); diff != "" {
			t.Errorf("copy of %s (-want +got):\n%s", f.Path, diff)
		}
		if locked := f.Path == hardware.MemoryLocked; to.MemoryLocked != locked {
			t.Errorf("copy of %s locks the memory: %t", f.Path, to.MemoryLocked)
		}
	}
}

func TestStage_SetsTheSourcesAfterAllChanges(t *testing.T) {
	running := instanceSpec(t, hotAdd+`, instancetype: {name: small, kind: k, revisionName: r1}`)
	desired := instanceSpec(t, hotAdd+`, instancetype: {name: big, kind: k, revisionName: r2}`)
	desired.CPU.Sockets = 16
	target, pending := hardware.Stage(running, desired, vmv1alpha1.UpdateStrategyLiveUpdate)
	if len(pending) != 0 || target.Instancetype.RevisionName != "r2" || target.CPU.Sockets != 16 {
		t.Errorf("target %+v of %+v, pending %v", target.CPU, target.Instancetype, pending)
	}
	held, pending := hardware.Stage(running, desired, vmv1alpha1.UpdateStrategyLiveUpdate, "cpu.sockets")
	if len(pending) != 1 || held.CPU.Sockets != 2 || held.Instancetype.RevisionName != "r1" {
		t.Errorf("F138 paths that the hardware rejects: %+v of %+v, pending %v; want 2 sockets of r1", held.CPU, held.Instancetype, pending)
	}
	desired.CPU.Cores = 2
	target, _ = hardware.Stage(running, desired, vmv1alpha1.UpdateStrategyLiveUpdate)
	if target.Instancetype.RevisionName != "r1" {
		t.Errorf("F141 with pending changes the running revision is %s, want r1", target.Instancetype.RevisionName)
	}
}

func TestStage_RemovesTheSourceAfterTheReference(t *testing.T) {
	running := instanceSpec(t, hotAdd+`, instancetype: {name: small, kind: k, revisionName: r1}, preference: {name: p, kind: k, revisionName: r2}`)
	target, pending := hardware.Stage(running, instanceSpec(t, hotAdd), vmv1alpha1.UpdateStrategyLiveUpdate)
	if len(pending) != 0 || target.Instancetype != nil || target.Preference != nil {
		t.Errorf("F141 sources %+v, %+v, pending %v; want none", target.Instancetype, target.Preference, pending)
	}
}

func BenchmarkDiff(b *testing.B) {
	running := instanceSpec(b, hotAdd+`, volumes: [{name: a, bus: pvscsi}], network: {interfaces: [{name: eth0, model: vmxnet3}]}`)
	desired := running.DeepCopy()
	desired.CPU.Sockets = 4
	b.ReportAllocs()
	for b.Loop() {
		if len(hardware.Diff(running, desired)) != 1 {
			b.Fatal("want one difference")
		}
	}
}
