// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

func TestEffective_UsesTheSizeOfTheInstancetype(t *testing.T) {
	for _, tc := range []struct {
		name, vm, size, pref string
		cpu                  string
		memory               string
	}{
		{
			name: "F71 guest memory, all of it reserved",
			size: small,
			cpu:  `{sockets: 2, cores: 1, threads: 1, hotAddEnabled: true}`, memory: `{guest: 4Gi, reservation: 4Gi, hotAddEnabled: true}`,
		},
		{
			name: "F72 overcommit 15 % lowers the reservation, exactly, to whole mebibytes",
			size: `{cpu: {guest: 1}, memory: {guest: 128Mi, overcommitPercent: 15}}`,
			cpu:  `{sockets: 1, cores: 1, threads: 1, hotAddEnabled: true}`, memory: `{guest: 128Mi, reservation: 109Mi, hotAddEnabled: true}`,
		},
		{
			name: "F72 overcommit 80 %",
			size: `{cpu: {guest: 1}, memory: {guest: 10Gi, overcommitPercent: 80}}`,
			cpu:  `{sockets: 1, cores: 1, threads: 1, hotAddEnabled: true}`, memory: `{guest: 10Gi, reservation: 2Gi, hotAddEnabled: true}`,
		},
		{
			name: "memory is rounded up to what vSphere can give",
			size: `{cpu: {guest: 1}, memory: {guest: 1G}}`,
			cpu:  `{sockets: 1, cores: 1, threads: 1, hotAddEnabled: true}`, memory: `{guest: 956Mi, reservation: 956Mi, hotAddEnabled: true}`,
		},
		{
			name:   "F74 hugepages; F75 maxGuest of the instance type",
			size:   `{cpu: {guest: 2, maxSockets: 8}, memory: {guest: 4Gi, maxGuest: 16Gi, hugepages: {pageSize: 2Mi}}}`,
			cpu:    `{sockets: 2, cores: 1, threads: 1, maxSockets: 8, hotAddEnabled: true}`,
			memory: `{guest: 4Gi, maxGuest: 16Gi, reservation: 4Gi, hugePageSize: 2Mi, hotAddEnabled: true}`,
		},
		{
			name:   "F74 F75 the VM's own are allowed when the instance type has none",
			vm:     `{cpu: {maxSockets: 2}, memory: {maxGuest: 8Gi, hugePageSize: 1Gi}}`,
			size:   small,
			cpu:    `{sockets: 2, cores: 1, threads: 1, maxSockets: 2, hotAddEnabled: false}`,
			memory: `{guest: 4Gi, maxGuest: 8Gi, reservation: 4Gi, hugePageSize: 1Gi, hotAddEnabled: true}`,
		},
		{
			name:   "F85 dedicated CPUs: high latency sensitivity, nothing is hot-added",
			size:   `{cpu: {guest: 2, dedicatedCPUPlacement: true}, memory: {guest: 4Gi, overcommitPercent: 50}}`,
			cpu:    `{sockets: 2, cores: 1, threads: 1, dedicatedCPUPlacement: true, latencySensitivity: High}`,
			memory: `{guest: 4Gi, reservation: 4Gi}`,
		},
		{
			name:   "NUMA, realtime and model",
			size:   `{cpu: {guest: 2, model: Skylake, numa: {guestMappingPassthrough: {}}, realtime: {mask: "0-1"}}, memory: {guest: 4Gi}}`,
			cpu:    `{sockets: 2, cores: 1, threads: 1, model: Skylake, exposeVNUMA: true, latencySensitivity: High}`,
			memory: `{guest: 4Gi, reservation: 4Gi}`,
		},
		{
			name: "beyond 8 vCPUs the guest sees NUMA, so that hot-add stays off",
			size: `{cpu: {guest: 9}, memory: {guest: 4Gi}}`,
			cpu:  `{sockets: 9, cores: 1, threads: 1}`, memory: `{guest: 4Gi, reservation: 4Gi}`,
		},
		{
			name: "F62 topology of the preference",
			size: small, pref: `{cpu: {preferredCPUTopology: cores}}`,
			cpu: `{sockets: 1, cores: 2, threads: 1, hotAddEnabled: true}`, memory: `{guest: 4Gi, reservation: 4Gi, hotAddEnabled: true}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vm := tc.vm
			if vm == "" {
				vm = "{}"
			}
			spec := mustEffective(t, vm, tc.size, tc.pref)
			if diff := cmp.Diff(parse[vmv1alpha1.VirtualMachineCPU](t, tc.cpu), spec.CPU, quantities); diff != "" {
				t.Errorf("cpu (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(parse[vmv1alpha1.VirtualMachineMemory](t, tc.memory), spec.Memory, quantities); diff != "" {
				t.Errorf("memory (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEffective_ReportsAllConflicts(t *testing.T) {
	for _, tc := range []struct {
		name, vm, size string
		want           []string
	}{
		{
			"F68 sockets, cores and threads together", `{cpu: {sockets: 1, cores: 2, threads: 1}}`, small,
			[]string{"spec.cpu.sockets", "spec.cpu.cores", "spec.cpu.threads"},
		},
		{"F69 CPU reservation and limit", `{cpu: {reservation: 1G, limit: 2G}}`, small, []string{"spec.cpu.reservation", "spec.cpu.limit"}},
		{"F73 guest memory", `{memory: {guest: 1Gi}}`, small, []string{"spec.memory.guest"}},
		{"F74 huge pages on both sides", `{memory: {hugePageSize: 2Mi}}`, `{cpu: {guest: 1}, memory: {guest: 1Gi, hugepages: {pageSize: 1Gi}}}`, []string{"spec.memory.hugePageSize"}},
		{"F75 maxGuest on both sides", `{memory: {maxGuest: 2Gi}}`, `{cpu: {guest: 1}, memory: {guest: 1Gi, maxGuest: 2Gi}}`, []string{"spec.memory.maxGuest"}},
		{"F76 memory reservation and limit", `{memory: {reservation: 1Gi, limit: 2Gi}}`, small, []string{"spec.memory.reservation", "spec.memory.limit"}},
		{"F77 GPUs on both sides", `{devices: {gpus: [{name: a, deviceName: x}]}}`, `{cpu: {guest: 1}, memory: {guest: 1Gi}, gpus: [{name: g, deviceName: y}]}`, []string{"spec.devices.gpus"}},
		{"F78 host devices on both sides", `{devices: {hostDevices: [{name: a, deviceName: x}]}}`, `{cpu: {guest: 1}, memory: {guest: 1Gi}, hostDevices: [{name: g, deviceName: y}]}`, []string{"spec.devices.hostDevices"}},
		{"class and instance type", `{className: big}`, small, []string{"spec.className"}},
		{
			"flags and ceilings on both sides",
			`{cpu: {maxSockets: 4, model: a, dedicatedCPUPlacement: false, exposeVNUMA: true, latencySensitivity: Normal}}`,
			`{cpu: {guest: 1, maxSockets: 4, model: b, dedicatedCPUPlacement: true, numa: {guestMappingPassthrough: {}}}, memory: {guest: 1Gi}}`,
			[]string{"spec.cpu.maxSockets", "spec.cpu.model", "spec.cpu.dedicatedCPUPlacement", "spec.cpu.exposeVNUMA", "spec.cpu.latencySensitivity"},
		},
		{
			"F121 fields of several groups together",
			`{cpu: {cores: 2}, memory: {guest: 1Gi}, devices: {gpus: [{name: a, deviceName: x}]}}`,
			`{cpu: {guest: 1}, memory: {guest: 1Gi}, gpus: [{name: g, deviceName: y}]}`,
			[]string{"spec.cpu.cores", "spec.memory.guest", "spec.devices.gpus"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := effective(t, tc.vm, tc.size, `{cpu: {preferredCPUTopology: cores}}`)
			if diff := cmp.Diff(tc.want, fieldsOf(t, err)); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			var refused *apply.Error
			if !errors.As(err, &refused) {
				t.Fatalf("got error %v, want an *apply.Error", err)
			}
			list := refused.ErrorList()
			if len(list) != len(tc.want) || !strings.Contains(list[0].Detail, "instance") && tc.vm != `{className: big}` {
				t.Errorf("admission errors %v do not match the problems", list)
			}
		})
	}
}

func TestEffective_ReportsInvalidInstancetypes(t *testing.T) {
	for _, tc := range []struct{ name, size, want string }{
		{"F112 no vCPUs", `{cpu: {guest: 0}, memory: {guest: 1Gi}}`, "0 vCPUs are not allowed"},
		{"F112 no memory", `{cpu: {guest: 1}, memory: {guest: 0}}`, "memory.guest 0"},
		{"negative memory", `{cpu: {guest: 1}, memory: {guest: -1Gi}}`, "must be positive"},
		{"F113 overcommit below 0", `{cpu: {guest: 1}, memory: {guest: 1Gi, overcommitPercent: -1}}`, "in range between 0 and 100"},
		{"F113 overcommit above 100", `{cpu: {guest: 1}, memory: {guest: 1Gi, overcommitPercent: 101}}`, "in range between 0 and 100"},
		{"maxGuest below guest", `{cpu: {guest: 1}, memory: {guest: 2Gi, maxGuest: 1Gi}}`, "maxGuest"},
		{"maxSockets below sockets", `{cpu: {guest: 4, maxSockets: 2}, memory: {guest: 2Gi}}`, "maxSockets"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := effective(t, "{}", tc.size, "")
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestEffective_DisablesHotAddWithVirtualNUMA(t *testing.T) {
	const size = `{cpu: {guest: 2, maxSockets: 2, numa: {guestMappingPassthrough: {}}}, memory: {guest: 4Gi}}`
	spec := mustEffective(t, "{}", size, `{cpu: {preferredCPUTopology: cores}}`)
	want := `{sockets: 1, cores: 2, threads: 1, maxSockets: 2, exposeVNUMA: true, hotAddEnabled: false}`
	if diff := cmp.Diff(parse[vmv1alpha1.VirtualMachineCPU](t, want), spec.CPU); diff != "" {
		t.Errorf("cpu (-want +got):\n%s", diff)
	}
}

// F138
func TestEffective_ReportsASizeAboveTheMaximumsOfTheVM(t *testing.T) {
	_, err := effective(t, `{cpu: {maxSockets: 1}, memory: {maxGuest: 2Gi}}`, small, "")
	if diff := cmp.Diff([]string{"spec.cpu.maxSockets", "spec.memory.maxGuest"}, fieldsOf(t, err)); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if want := "1 is less than the 2 sockets of the instance type"; !strings.Contains(err.Error(), want) {
		t.Errorf("error %q, want one with %q", err, want)
	}
	mustEffective(t, `{cpu: {maxSockets: 1}, memory: {maxGuest: 4Gi}}`, small, `{cpu: {preferredCPUTopology: cores}}`)
}

func TestEffective_UsesDevicesSelectorAndAnnotationsOfTheInstancetype(t *testing.T) {
	const size = `{cpu: {guest: 1}, memory: {guest: 1Gi, overcommitPercent: 100},
	  gpus: [{name: g, deviceName: grid_a100-10c}], hostDevices: [{name: h, deviceName: "10de:1eb8"}],
	  nodeSelector: {zone: a}, annotations: {team: blue}}`
	spec := mustEffective(t, "{}", size, "")
	want := &vmv1alpha1.VirtualMachineDevices{
		GPUs:        []vmv1alpha1.VirtualMachineDevice{{Name: "g", DeviceName: "grid_a100-10c"}},
		HostDevices: []vmv1alpha1.VirtualMachineDevice{{Name: "h", DeviceName: "10de:1eb8"}},
	}
	if diff := cmp.Diff(want, spec.Devices); diff != "" {
		t.Errorf("F77 F78 devices (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"zone": "a"}, spec.NodeSelector); diff != "" {
		t.Errorf("F82 node selector (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"team": "blue"}, spec.Annotations); diff != "" {
		t.Errorf("F84 annotations (-want +got):\n%s", diff)
	}
	if got := spec.Memory.Reservation; got.Cmp(resource.MustParse("1Gi")) != 0 {
		t.Errorf("reservation %s, want all memory because of passthrough devices", got)
	}
	if none := mustEffective(t, "{}", small, ""); none.NodeSelector != nil || none.Devices != nil || none.Annotations != nil {
		t.Errorf("F82 an instance type without them adds %v, %v, %v", none.NodeSelector, none.Devices, none.Annotations)
	}
}

func TestEffective_RoundsUpDecimalSizes(t *testing.T) {
	got := mustEffective(t, `{}`, `{cpu: {guest: 1}, memory: {guest: 2G, maxGuest: 2G}}`, "").Memory
	want := parse[vmv1alpha1.VirtualMachineMemory](t, `{guest: 1908Mi, maxGuest: 1908Mi, reservation: 1908Mi, hotAddEnabled: false}`)
	if diff := cmp.Diff(want, got, quantities); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEffective_ConflictMessages(t *testing.T) {
	_, err := effective(t, `{cpu: {sockets: 1, limit: 1G, reservation: 1G}, memory: {limit: 1Gi}}`, small, "")
	var problems *apply.Error
	if !errors.As(err, &problems) {
		t.Fatalf("error %v, want an *apply.Error", err)
	}
	got := map[string]string{}
	for _, p := range problems.Problems {
		got[p.Field] = p.Message
	}
	const notSet = "conflicts with selected instance type, which alone defines the guaranteed resources"
	want := map[string]string{
		"spec.cpu.sockets":     "conflicts with selected instance type, which also sets it",
		"spec.cpu.limit":       notSet,
		"spec.cpu.reservation": notSet,
		"spec.memory.limit":    notSet,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEffective_ReportsConflictsAndUnmetRequirementsTogether(t *testing.T) {
	for name, tc := range map[string]struct {
		vm, size, pref string
		want           []string
	}{
		"conflict and memory":           {`{cpu: {sockets: 1}}`, small, `{requirements: {memory: {guest: 8Gi}}}`, []string{"spec.cpu.sockets", "spec.instancetype"}},
		"topology, vCPUs, architecture": {`{}`, `{cpu: {guest: 3}, memory: {guest: 1Gi}}`, `{cpu: {preferredCPUTopology: spread}, requirements: {cpu: {guest: 4}, architecture: arm64}}`, []string{"spec.instancetype", "spec.instancetype", "spec.preference"}},
		"no size, and an architecture":  {`{cpu: {sockets: 1}}`, "", `{requirements: {cpu: {guest: 2}, memory: {guest: 1Gi}, architecture: arm64}}`, []string{"spec.memory.guest", "spec.cpu.sockets", "spec.preference"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := effective(t, tc.vm, tc.size, tc.pref)
			if diff := cmp.Diff(tc.want, fieldsOf(t, err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEffective_CombinesAnnotations(t *testing.T) {
	size := sizeOf(t, `{cpu: {guest: 1}, memory: {guest: 1Gi}, annotations: {a: "1", b: "2", c: "3"}}`)
	vm := vmOf(t, "{}")
	vm.Annotations = map[string]string{"a": "1"}
	in := apply.Inputs{Instancetype: size}
	if _, err := apply.Effective(vm, in); err != nil {
		t.Errorf("F84 an equal annotation is rejected: %v", err)
	}
	vm.Annotations = map[string]string{"b": "other", "c": "other"}
	want := []string{"metadata.annotations.b", "metadata.annotations.c"}
	_, err := apply.Effective(vm, in)
	if diff := cmp.Diff(want, fieldsOf(t, err)); diff != "" {
		t.Errorf("F84 conflicts (-want +got):\n%s", diff)
	}
}

func TestReservation_IsExact(t *testing.T) {
	const maxGuest = int64(1)<<62 - int64(4)<<20
	for _, tc := range []struct {
		guest int64
		p     int32
		want  int64
	}{
		{128 << 20, 0, 128 << 20},
		{128 << 20, 100, 0},
		{128 << 20, 15, 109 << 20},
		{100 << 20, 50, 50 << 20},
		{4 << 20, 99, 1 << 20},
		{2<<20 + 1, 50, 2 << 20}, // half a byte above 1 MiB
		{maxGuest, 0, maxGuest},
		{-1, 10, 0},
	} {
		if got := apply.Reservation(tc.guest, tc.p); got != tc.want {
			t.Errorf("Reservation(%d, %d) = %d, want %d", tc.guest, tc.p, got, tc.want)
		}
	}
	if got := apply.Reservation(maxGuest, 50); got <= maxGuest/2-(1<<20) || got > maxGuest/2+(1<<20) {
		t.Errorf("half of %d is %d", maxGuest, got)
	}
}

func TestEffective_DoesNotChangeItsArguments(t *testing.T) {
	const vmSpec = `{volumes: [{name: d, disk: {size: 1Gi}}], network: {interfaces: [{name: eth0}]}, devices: {video: {}}}`
	const sizeSpec = `{cpu: {guest: 2, maxSockets: 4}, memory: {guest: 4Gi}, annotations: {a: b}, nodeSelector: {x: y}}`
	const prefSpec = `{devices: {preferredDiskBus: sata, preferredInterfaceModel: e1000, preferredVideoType: svga, preferredTPM: {enabled: true}}, annotations: {c: d}}`
	vm, in := vmOf(t, vmSpec), apply.Inputs{Instancetype: sizeOf(t, sizeSpec), Preference: prefOf(t, prefSpec)}
	spec, err := apply.Effective(vm, in)
	if err != nil {
		t.Fatal(err)
	}
	*spec.CPU.MaxSockets = 99
	spec.Annotations["a"] = "changed"
	spec.NodeSelector["x"] = "changed"
	*spec.Devices.TPM.Enabled = false
	spec.Volumes[0].Disk.Capacity.Add(resource.MustParse("1Gi"))
	for name, diff := range map[string]string{
		"F60 virtual machine": cmp.Diff(vmOf(t, vmSpec), vm, quantities),
		"instance type":       cmp.Diff(sizeOf(t, sizeSpec), in.Instancetype, quantities),
		"preference":          cmp.Diff(prefOf(t, prefSpec), in.Preference, quantities),
	} {
		if diff != "" {
			t.Errorf("%s was changed (-want +got):\n%s", name, diff)
		}
	}
}
