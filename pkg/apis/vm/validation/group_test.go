// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestValidateVirtualMachineGroup(t *testing.T) {
	type (
		group  = vmv1alpha1.VirtualMachineGroup
		member = vmv1alpha1.VirtualMachineGroupMember
		steps  = []vmv1alpha1.VirtualMachineGroupStep
	)
	first := func(change func(*vmv1alpha1.VirtualMachineGroupStep)) func(*group) {
		return func(g *group) { change(&g.Spec.BootOrder[0]) }
	}
	many := func(each ...int) func(*group) {
		return func(g *group) {
			g.Spec.BootOrder = nil
			for i, n := range each {
				var s vmv1alpha1.VirtualMachineGroupStep
				for j := range n {
					s.Members = append(s.Members, member{Name: fmt.Sprintf("vm-%d-%d", i, j)})
				}
				g.Spec.BootOrder = append(g.Spec.BootOrder, s)
			}
		}
	}
	place := func(policy vmv1alpha1.PlacementPolicy, topology vmv1alpha1.PlacementTopology) func(*group) {
		return func(g *group) {
			g.Spec.Placement = &vmv1alpha1.VirtualMachineGroupPlacement{Policy: policy, Topology: topology}
		}
	}
	for name, test := range map[string]struct {
		change func(*group)
		want   []string
	}{
		"valid":                         {func(*group) {}, nil},
		"without members":               {func(g *group) { g.Spec = vmv1alpha1.VirtualMachineGroupSpec{} }, nil},
		"the most members":              {many(256, 256), nil},
		"too many members":              {many(256, 256, 1), []string{"FieldValueInvalid spec.bootOrder"}},
		"an empty step":                 {func(g *group) { g.Spec.BootOrder = append(g.Spec.BootOrder, steps{{}}...) }, []string{"FieldValueRequired spec.bootOrder[2].members"}},
		"a member without name":         {first(func(s *vmv1alpha1.VirtualMachineGroupStep) { s.Members[0].Name = "" }), []string{"FieldValueRequired spec.bootOrder[0].members[0].name"}},
		"a member in another namespace": {first(func(s *vmv1alpha1.VirtualMachineGroupStep) { s.Members[0].Name = "prod/db" }), []string{"FieldValueInvalid spec.bootOrder[0].members[0].name"}},
		"a member of another kind":      {first(func(s *vmv1alpha1.VirtualMachineGroupStep) { s.Members[0].Kind = "Pod" }), []string{"FieldValueNotSupported spec.bootOrder[0].members[0].kind"}},
		"a duplicate member": {first(func(s *vmv1alpha1.VirtualMachineGroupStep) {
			s.Members = append(s.Members, member{Kind: "VirtualMachine", Name: "web"})
		}), []string{"FieldValueDuplicate spec.bootOrder[1].members[0]"}},
		"one name with two kinds": {first(func(s *vmv1alpha1.VirtualMachineGroupStep) {
			s.Members = append(s.Members, member{Kind: "VirtualMachineGroup", Name: "db"})
		}), nil},
		"the group itself": {first(func(s *vmv1alpha1.VirtualMachineGroupStep) {
			s.Members[0] = member{Kind: "VirtualMachineGroup", Name: "shop"}
		}), []string{"FieldValueInvalid spec.bootOrder[0].members[0].name"}},
		"a virtual machine with the name of the group": {first(func(s *vmv1alpha1.VirtualMachineGroupStep) { s.Members[0].Name = "shop" }), nil},
		"the group as its parent":                      {func(g *group) { g.Spec.GroupName = "shop" }, []string{"FieldValueInvalid spec.groupName"}},
		"an invalid parent":                            {func(g *group) { g.Spec.GroupName = "a/b" }, []string{"FieldValueInvalid spec.groupName"}},
		"an invalid power state":                       {func(g *group) { g.Spec.PowerState = "On" }, []string{"FieldValueNotSupported spec.powerState"}},
		"a delay below 0":                              {first(func(s *vmv1alpha1.VirtualMachineGroupStep) { s.PowerOnDelaySeconds = -1 }), []string{"FieldValueInvalid spec.bootOrder[0].powerOnDelaySeconds"}},
		"a delay of more than a day":                   {first(func(s *vmv1alpha1.VirtualMachineGroupStep) { s.PowerOffDelaySeconds = 86401 }), []string{"FieldValueInvalid spec.bootOrder[0].powerOffDelaySeconds"}},
		"the longest times": {first(func(s *vmv1alpha1.VirtualMachineGroupStep) {
			s.PowerOnDelaySeconds, s.PowerOffDelaySeconds, s.WaitFor, s.WaitTimeoutSeconds = 86400, 86400, vmv1alpha1.WaitForReady, 86400
		}), nil},
		"an invalid waitFor": {first(func(s *vmv1alpha1.VirtualMachineGroupStep) { s.WaitFor = "Started" }), []string{"FieldValueNotSupported spec.bootOrder[0].waitFor"}},
		"a timeout below 0": {first(func(s *vmv1alpha1.VirtualMachineGroupStep) {
			s.WaitFor, s.WaitTimeoutSeconds = vmv1alpha1.WaitForReady, -1
		}), []string{"FieldValueInvalid spec.bootOrder[0].waitTimeoutSeconds"}},
		"a timeout without a wait":  {first(func(s *vmv1alpha1.VirtualMachineGroupStep) { s.WaitTimeoutSeconds = 60 }), []string{"FieldValueForbidden spec.bootOrder[0].waitTimeoutSeconds"}},
		"together by zone":          {place("Together", "Zone"), nil},
		"apart by host":             {place("Apart", "Host"), []string{"FieldValueInvalid spec.placement.topology"}},
		"apart by rack":             {place("Apart", "Rack"), []string{"FieldValueNotSupported spec.placement.topology"}},
		"placed without a topology": {place("Apart", ""), []string{"FieldValueRequired spec.placement.topology"}},
		"placed without a policy":   {place("", "Zone"), []string{"FieldValueRequired spec.placement.policy"}},
		"an invalid policy":         {place("Near", "Zone"), []string{"FieldValueNotSupported spec.placement.policy"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := &group{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "shop"}, Spec: vmv1alpha1.VirtualMachineGroupSpec{
				PowerState: vmv1alpha1.PoweredOn, BootOrder: steps{{Members: []member{{Name: "db"}}}, {Members: []member{{Name: "web"}}}},
			}}
			test.change(g)
			if diff := cmp.Diff(test.want, fieldsOf(ValidateVirtualMachineGroup(g))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateVirtualMachineGroup_ExplainsRejectionOfHostTopology(t *testing.T) {
	g := &vmv1alpha1.VirtualMachineGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "shop"}}
	g.Spec.Placement = &vmv1alpha1.VirtualMachineGroupPlacement{Policy: vmv1alpha1.PlacementApart, Topology: "Host"}
	if errs := ValidateVirtualMachineGroup(g); len(errs) != 1 || !strings.Contains(errs[0].Detail, "requires DRS rules") {
		t.Errorf("got errors %v, want one that mentions DRS rules", errs)
	}
}

func TestValidateVirtualMachineGroupStatusUpdate(t *testing.T) {
	g := &vmv1alpha1.VirtualMachineGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "shop", ResourceVersion: "1"}}
	g.Status.PowerState = "On"
	g.Status.Members = []vmv1alpha1.VirtualMachineGroupMemberStatus{{PowerState: vmv1alpha1.PoweredOn, DesiredPowerState: "Off"}, {PowerState: "standBy"}}
	want := []string{"FieldValueNotSupported status.powerState", "FieldValueNotSupported status.members[0].desiredPowerState", "FieldValueNotSupported status.members[1].powerState"}
	if diff := cmp.Diff(want, fieldsOf(ValidateVirtualMachineGroupStatusUpdate(g, g))); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	g.Status = vmv1alpha1.VirtualMachineGroupStatus{Members: make([]vmv1alpha1.VirtualMachineGroupMemberStatus, 100_000)}
	if diff := cmp.Diff([]string{"FieldValueTooMany status.members"}, fieldsOf(ValidateVirtualMachineGroupStatusUpdate(g, g))); diff != "" {
		t.Errorf("errors of a long list (-want +got):\n%s", diff)
	}
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "db", ResourceVersion: "1"}}
	vm.Status.InheritedPowerState = "On"
	if diff := cmp.Diff([]string{"FieldValueNotSupported status.inheritedPowerState"}, fieldsOf(ValidateVirtualMachineStatusUpdate(vm, vm))); diff != "" {
		t.Errorf("errors of a virtual machine (-want +got):\n%s", diff)
	}
}
