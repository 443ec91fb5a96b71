// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const gold = `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: gold}
provisioner: csi.vsphere.vmware.com
parameters: {storagepolicyname: Gold}
`

// policy requests a storage policy that is not compatible with any datastore of one zone.
func (s *zonesScene) policy() {
	s.free(1, 1<<40, "DC0_C1_DS")
	s.must(s.Apply(s.Context(), []byte(gold)))
	golden := func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.StorageClass = "gold" }
	s.create("golden", func(vm *vmv1alpha1.VirtualMachine) { golden(vm); vm.Spec.Zone = "second" })
	s.refused("golden", `zone second: storageClass "gold": no datastore can be used by storage policy "Gold": DC0_C1_DS: not compatible: Datastore does not satisfy required tag(s).`)
	_, err := s.api.VirtualMachines("default").Patch(s.Context(), "golden", types.MergePatchType, []byte(`{"spec":{"zone":null}}`), metav1.PatchOptions{})
	s.must(err)
	// The other zone has more space.
	for _, name := range []string{"golden-1", "golden-2", "golden-3"} {
		s.create(name, golden)
	}
	for _, name := range []string{"golden", "golden-1", "golden-2", "golden-3"} {
		if vm := s.ready(name); vm.Status.Zone != "default" {
			s.Errorf("%s is in zone %s, want the one that has its policy", name, vm.Status.Zone)
		}
	}
}
