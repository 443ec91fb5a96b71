// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// added adds a zone and its vCenter with the examples while virtual machines run.
func (s *zonesScene) added() {
	s.create("early", func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Zone = "late" })
	s.refused("early", "zone late: the Zone does not exist")
	zones, err := os.ReadFile("../../artifacts/examples/zones.yaml")
	s.must(err)
	zone, _, _ := strings.Cut(string(zones), "\n---\n")
	s.must(s.Apply(s.Context(), []byte(strings.NewReplacer("name: zone-a", "name: late", "vCenter: default", "vCenter: late").Replace(zone))))
	s.condition("zone late", s.zone("late"), vmv1alpha1.ConditionReady, `False NotFound there is no VCenter "late"`)
	s.refused("early", `zone late: there is no VCenter "late"`)

	example, err := os.ReadFile("../../artifacts/examples/vcenter.yaml")
	s.must(err)
	v := s.VCenterOf(2)
	s.must(s.Apply(s.Context(), []byte(strings.NewReplacer(
		"name: vcenter", "name: late", "name: default", "name: late", "https://vcenter.example.com/sdk", v.URL,
		"00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33", v.Thumbprint,
		"slipway@vsphere.local", v.Username, "change-me", v.Password).Replace(string(example)))))
	s.condition("the VCenter", func() ([]metav1.Condition, error) {
		vc, err := s.api.VCenters().Get(s.Context(), "late", metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return vc.Status.Conditions, nil
	}, vmv1alpha1.ConditionReady, "True")
	s.zonesReady("late")
	if vm := s.ready("early"); vm.Status.Zone != "late" {
		s.Errorf("the VM that requested the zone is in zone %s", vm.Status.Zone)
	}
	// The other zones are in use, and this one is almost empty.
	s.free(1, 8<<30, "LocalDS_0", "LocalDS_1", "DC0_C1_DS")
	s.create("late", nil)
	if vm := s.ready("late"); vm.Status.Zone != "late" {
		s.Errorf("a VM without a zone is in zone %s, want the one with most space", vm.Status.Zone)
	}
}
