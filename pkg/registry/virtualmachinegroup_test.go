// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachinegroup"
)

func TestGroupTable_CountsMembers(t *testing.T) {
	is := func(kind string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Succeeded"}
	}
	g := &vmv1alpha1.VirtualMachineGroup{}
	g.Spec.BootOrder = []vmv1alpha1.VirtualMachineGroupStep{{Members: make([]vmv1alpha1.VirtualMachineGroupMember, 3)}}
	cells := func() []any {
		t.Helper()
		table, err := virtualmachinegroup.Kind().Table.ConvertToTable(t.Context(), g, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := table.Rows[0].Cells
		return []any{c[1], c[2], c[3], c[4], c[7]}
	}
	if diff := cmp.Diff([]any{"", "", "0/3", "", ""}, cells()); diff != "" {
		t.Errorf("power, requested, members, ready and message of a new group (-want +got):\n%s", diff)
	}
	g.Status.PowerState = vmv1alpha1.PoweredOn
	g.Status.Members = []vmv1alpha1.VirtualMachineGroupMemberStatus{
		{DesiredPowerState: vmv1alpha1.PoweredOn, Conditions: []metav1.Condition{is("GroupLinked"), is("Ready")}},
		{DesiredPowerState: vmv1alpha1.PoweredOn, Conditions: []metav1.Condition{is("GroupLinked")}},
		{DesiredPowerState: vmv1alpha1.PoweredOff, Conditions: []metav1.Condition{is("Ready")}},
	}
	g.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "WaitingForMembers", Message: "step 2 waits"}}
	if diff := cmp.Diff([]any{"PoweredOn", "2/3", "1/3", "WaitingForMembers", "step 2 waits"}, cells()); diff != "" {
		t.Errorf("power, requested, members, ready and message (-want +got):\n%s", diff)
	}
}
