// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"fmt"
	"testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// benchInputs is a virtual machine with disks and interfaces, and an instance
// type and a preference of the size that catalogues have.
func benchInputs(b *testing.B) (*vmv1alpha1.VirtualMachine, apply.Inputs) {
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

// BenchmarkEffectiveCatalogue expands every pair of 60 instance types and 50
// preferences in turn; one operation is one pair.
func BenchmarkEffectiveCatalogue(b *testing.B) {
	vm, in := benchInputs(b)
	inputs := make([]apply.Inputs, 0, 60*50)
	for i := range 60 {
		size := in.Instancetype.DeepCopy()
		size.CPU.Guest = int32(2 * (1 + i%8))
		size.CPU.MaxSockets = nil
		for j := range 50 {
			pref := in.Preference.DeepCopy()
			pref.Annotations = map[string]string{"os": fmt.Sprint(j)}
			inputs = append(inputs, apply.Inputs{Instancetype: size, Preference: pref})
		}
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := apply.Effective(vm, inputs[i%len(inputs)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
