// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachinegroup describes the resource virtualmachinegroups.
package virtualmachinegroup

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Kind describes virtualmachinegroups.
func Kind() standard.Kind[*vmv1alpha1.VirtualMachineGroup] {
	type group = *vmv1alpha1.VirtualMachineGroup
	type column = table.Column[group]
	return standard.Kind[group]{
		Plural:     vmv1alpha1.Resource("virtualmachinegroups"),
		Singular:   vmv1alpha1.Resource("virtualmachinegroup"),
		ShortNames: []string{"vmgroup", "vmgroups", "vmg", "vmgs", "svmg", "svmgs"},
		Version:    vmv1alpha1.SchemeGroupVersion.String(),
		Categories: []string{"slipway"},
		Namespaced: true,
		New:        func() group { return &vmv1alpha1.VirtualMachineGroup{} },
		NewList:    func() runtime.Object { return &vmv1alpha1.VirtualMachineGroupList{} },
		Spec:       func(g group) any { return g.Spec },
		Status: &standard.Status[group]{
			Drop: func(g group) {
				g.Status = vmv1alpha1.VirtualMachineGroupStatus{ObservedGeneration: standard.Unobserved}
			},
			Keep:     func(g, stored group) { g.Status = stored.Status },
			KeepSpec: func(g, stored group) { g.Spec = stored.Spec },
			Validate: validation.ValidateVirtualMachineGroupStatusUpdate,
		},
		Validate:       validation.ValidateVirtualMachineGroup,
		ValidateUpdate: validation.ValidateVirtualMachineGroupUpdate,
		Table: table.New(
			column{Name: "Power", Type: "string", Description: "Desired power state of the members; empty if none is set.",
				Value: func(g group) any { return string(g.Status.PowerState) }},
			column{Name: "Requested", Type: "string", Description: "Number of members for which the power state has been requested, and number of all members.", Value: asked},
			column{Name: "Members", Type: "string", Description: "Number of members that are linked and ready, and number of all members.", Value: ready},
			column{Name: "Ready", Type: "string", Description: "True if all members are ready; otherwise the reason.",
				Value: func(g group) any { return conditions.ColumnValue(g.Status.Conditions, vmv1alpha1.ConditionReady) }},
			column{Name: "Group", Type: "string", Wide: true, Description: "Name of the parent group.",
				Value: func(g group) any { return g.Spec.GroupName }},
			column{Name: "Message", Type: "string", Wide: true, Description: "Message of the condition Ready.", Value: message},
		),
	}
}

func count(g *vmv1alpha1.VirtualMachineGroup, is func(*vmv1alpha1.VirtualMachineGroupMemberStatus) bool) any {
	n := 0
	for i := range g.Status.Members {
		if is(&g.Status.Members[i]) {
			n++
		}
	}
	return fmt.Sprintf("%d/%d", n, len(g.Members()))
}

func asked(g *vmv1alpha1.VirtualMachineGroup) any {
	if g.Status.PowerState == "" {
		return nil
	}
	return count(g, func(m *vmv1alpha1.VirtualMachineGroupMemberStatus) bool {
		return m.DesiredPowerState == g.Status.PowerState
	})
}

func ready(g *vmv1alpha1.VirtualMachineGroup) any {
	return count(g, func(m *vmv1alpha1.VirtualMachineGroupMemberStatus) bool {
		return conditions.IsTrue(m.Conditions, vmv1alpha1.ConditionGroupLinked) && conditions.IsTrue(m.Conditions, vmv1alpha1.ConditionReady)
	})
}

func message(g *vmv1alpha1.VirtualMachineGroup) any {
	if c := conditions.Find(g.Status.Conditions, vmv1alpha1.ConditionReady); c != nil {
		return c.Message
	}
	return nil
}
