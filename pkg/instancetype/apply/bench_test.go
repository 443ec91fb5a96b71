// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"fmt"
	"testing"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// benchInputs returns a virtual machine with disks and interfaces, and an instance type and a preference of typical
// size.
func benchInputs(b testing.TB) (*vmv1alpha1.VirtualMachine, apply.Inputs) {
	b.Helper()
	vm := vmOf(b, `{image: {name: ubuntu}, volumes: [{name: root, disk: {size: 20Gi}}, {name: data, persistentVolumeClaim: {claimName: d}}],
	  network: {interfaces: [{name: eth0}, {name: eth1, network: dmz}]}, bootstrap: {cloudInit: {rawCloudConfig: {name: s}}}}`)
	return vm, apply.Inputs{
		Instancetype: sizeOf(b, `{cpu: {guest: 4, maxSockets: 8}, memory: {guest: 16Gi, overcommitPercent: 50, maxGuest: 32Gi}, annotations: {a: b}, nodeSelector: {c: d}}`),
		Preference: prefOf(b, `{cpu: {preferredCPUTopology: spread}, annotations: {e: f}, machine: {preferredMachineType: vmx-21},
		  devices: {preferredDiskBus: virtio, preferredInterfaceModel: virtio, preferredTPM: {}, preferredVideoType: svga},
		  firmware: {preferredEfi: {secureBoot: true}}, requirements: {cpu: {guest: 2}, memory: {guest: 2Gi}}}`),
		InstancetypeRevision: &vmv1alpha1.AppliedRevision{Name: "u1.large", Kind: "virtualmachineclusterinstancetype", RevisionName: "r1"},
		PreferenceRevision:   &vmv1alpha1.AppliedRevision{Name: "ubuntu", Kind: "virtualmachineclusterpreference", RevisionName: "r2"},
	}
}

func BenchmarkEffective(b *testing.B) {
	vm, in := benchInputs(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := apply.Effective(vm, in); err != nil {
			b.Fatal(err)
		}
	}
}

// catalogue returns all pairs of 60 instance types and 50 preferences that set different fields.
func catalogue(t testing.TB) []apply.Inputs {
	t.Helper()
	var prefs []*itv1alpha1.VirtualMachinePreferenceSpec
	for j := range 50 {
		pick := func(from ...string) string { return from[j%len(from)] }
		prefs = append(prefs, prefOf(t, fmt.Sprintf(`{cpu: {preferredCPUTopology: %s}, annotations: {os: "%d"}, %s, %s}`,
			pick("sockets", "cores", "spread", "any", "preferSpread"), j,
			pick(`devices: {preferredDiskBus: virtio, preferredInterfaceModel: virtio}`,
				`devices: {preferredDiskBus: sata, preferredInterfaceModel: e1000e, preferredTPM: {}, preferredVideoType: svga}`,
				`machine: {preferredMachineType: vmx-21}`),
			pick(`firmware: {preferredEfi: {secureBoot: true}}`, `requirements: {cpu: {guest: 2}, memory: {guest: 2Gi}}`,
				`firmware: {preferredUseBios: true}`, `volumes: {preferredStorageClassName: fast}`))))
	}
	var inputs []apply.Inputs
	for i := range 60 {
		pick := func(from ...string) string { return from[i%len(from)] }
		size := sizeOf(t, fmt.Sprintf(`{cpu: {guest: %d%s}, memory: {guest: %dGi%s}, annotations: {size: "%d"}}`, 2+2*(i%16),
			pick("", ", maxSockets: 64", ", dedicatedCPUPlacement: true"), 4+4*(i%32),
			pick("", ", overcommitPercent: 50", ", maxGuest: 256Gi", ", hugepages: {pageSize: 1Gi}"), i))
		for _, pref := range prefs {
			inputs = append(inputs, apply.Inputs{Instancetype: size, Preference: pref})
		}
	}
	return inputs
}

// BenchmarkEffectiveCatalogue expands all pairs in turn. One operation is one pair.
func BenchmarkEffectiveCatalogue(b *testing.B) {
	vm, _ := benchInputs(b)
	inputs := catalogue(b)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := apply.Effective(vm, inputs[i%len(inputs)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// The benchmark measures the time. The number of allocations is deterministic.
func TestEffective_NeedsFewAllocations(t *testing.T) {
	const most = 100
	vm, _ := benchInputs(t)
	for i, in := range catalogue(t) {
		if _, err := apply.Effective(vm, in); err != nil {
			t.Fatalf("pair %d: %v", i, err)
		}
		if got := testing.AllocsPerRun(1, func() { _, _ = apply.Effective(vm, in) }); got >= most {
			t.Fatalf("pair %d needs %v allocations, want fewer than %d", i, got, most)
		}
	}
}
