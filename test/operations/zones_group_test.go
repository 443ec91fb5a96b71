// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// grouped creates the members of groups with affinity and with anti-affinity at the same time.
func (s *zonesScene) grouped() {
	for policy, want := range map[vmv1alpha1.PlacementPolicy]int{vmv1alpha1.PlacementTogether: 1, vmv1alpha1.PlacementApart: 3} {
		group := &vmv1alpha1.VirtualMachineGroup{ObjectMeta: metav1.ObjectMeta{Name: "placed", Namespace: "default"}}
		group.Spec.PowerState = vmv1alpha1.PoweredOn
		group.Spec.Placement = &vmv1alpha1.VirtualMachineGroupPlacement{Policy: policy, Topology: vmv1alpha1.PlacementTopologyZone}
		var step vmv1alpha1.VirtualMachineGroupStep
		for i := range 3 {
			step.Members = append(step.Members, vmv1alpha1.VirtualMachineGroupMember{Name: fmt.Sprintf("placed-%d", i)})
		}
		group.Spec.BootOrder = []vmv1alpha1.VirtualMachineGroupStep{step}
		_, err := s.api.VirtualMachineGroups("default").Create(s.Context(), group, metav1.CreateOptions{})
		s.must(err)
		for _, m := range step.Members {
			s.create(m.Name, func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.GroupName = group.Name })
		}
		in := map[string]string{}
		zones := map[string]bool{}
		for _, m := range step.Members {
			in[m.Name] = s.ready(m.Name).Status.Zone
			zones[in[m.Name]] = true
		}
		if len(zones) != want {
			s.Errorf("members that are to be %s are in zones %v, want %d of them", policy, in, want)
		}
		s.must(s.api.VirtualMachineGroups("default").Delete(s.Context(), group.Name, metav1.DeleteOptions{}))
		for _, m := range step.Members {
			s.must(s.api.VirtualMachines("default").Delete(s.Context(), m.Name, metav1.DeleteOptions{}))
			s.awaitDeleted(m.Name, func() error {
				_, err := s.api.VirtualMachines("default").Get(s.Context(), m.Name, metav1.GetOptions{})
				return err
			})
		}
	}
}
