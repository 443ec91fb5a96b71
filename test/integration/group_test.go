// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

func TestGroupMember_GetsItsOwnPowerStateFromPowerEndpoints(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	for name, tc := range map[string]struct {
		call      powerCall
		inherited vmv1alpha1.PowerState
		want      vmv1alpha1.PowerState
		refused   string
	}{
		"start":                        {vms.Start, vmv1alpha1.PoweredOff, vmv1alpha1.PoweredOn, ""},
		"stop":                         {vms.Stop, vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOff, ""},
		"suspend":                      {vms.Suspend, vmv1alpha1.PoweredOn, vmv1alpha1.Suspended, ""},
		"restart leaves it to inherit": {vms.Restart, vmv1alpha1.PoweredOn, "", ""},
		"suspend a member of a powered-off group": {vms.Suspend, vmv1alpha1.PoweredOff, "",
			"cannot suspend a virtual machine whose power state in its group is PoweredOff: only PoweredOn can be suspended"},
		"restart a VM that was never powered on": {vms.Restart, "", "",
			"cannot restart a virtual machine whose power state in its group is PoweredOff: only PoweredOn can be restarted"},
	} {
		t.Run(name, func(t *testing.T) {
			vm := inlineVM("")
			vm.GenerateName, vm.Spec.GroupName = "member-", "shop"
			vm = createVM(t, c, vm)
			if vm.Spec.PowerState != "" {
				t.Fatalf("a new member has spec.powerState %s", vm.Spec.PowerState)
			}
			vm.Status.InheritedPowerState = tc.inherited
			if _, err := vms.UpdateStatus(t.Context(), vm, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			_, err := tc.call(t.Context(), vm.Name, &vmv1alpha1.PowerOptions{}, metav1.CreateOptions{})
			if tc.refused == "" && err != nil || tc.refused != "" && (!apierrors.IsConflict(err) || !strings.Contains(err.Error(), tc.refused)) {
				t.Fatalf("answer: %v, want %q", err, tc.refused)
			}
			if got := getVM(t, c, vm.Name); got.Spec.PowerState != tc.want {
				t.Errorf("spec.powerState is %q, want %q", got.Spec.PowerState, tc.want)
			}
		})
	}
}

func TestGroupMember_PowerStateIsReturnedToTheGroup(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	vm := createVM(t, c, inlineVM("late"))
	if vm.Spec.PowerState != vmv1alpha1.PoweredOn {
		t.Fatalf("spec.powerState is %q, want the default of a VM without a group", vm.Spec.PowerState)
	}
	for _, step := range []struct {
		patch string
		want  vmv1alpha1.PowerState
	}{
		{`{"spec":{"groupName":"shop"}}`, vmv1alpha1.PoweredOn}, // the previous value is kept
		{`{"spec":{"powerState":null}}`, ""},
		{`{"metadata":{"labels":{"a":"b"}}}`, ""},
		{`{"spec":{"groupName":null}}`, vmv1alpha1.PoweredOn},
	} {
		got, err := vms.Patch(t.Context(), vm.Name, types.MergePatchType, []byte(step.patch), metav1.PatchOptions{})
		if err != nil {
			t.Fatalf("%s: %v", step.patch, err)
		}
		if got.Spec.PowerState != step.want {
			t.Errorf("after %s spec.powerState is %q, want %q", step.patch, got.Spec.PowerState, step.want)
		}
	}
}

func TestGroup_IsAppliedUnchanged(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	groups := c.VmV1alpha1().VirtualMachineGroups(namespace)
	const manifest = `{"apiVersion":"vm.slipway.dev/v1alpha1","kind":"VirtualMachineGroup","metadata":{"name":"shop"},
		"spec":{"bootOrder":[{"members":[{"name":"db"}],"waitFor":"Ready"},{"members":[{"kind":"VirtualMachineGroup","name":"web"}]}]}}`
	apply := func() *vmv1alpha1.VirtualMachineGroup {
		t.Helper()
		got, err := groups.Patch(t.Context(), "shop", types.ApplyPatchType, []byte(manifest), metav1.PatchOptions{FieldManager: "git"})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	g := apply()
	if g.Spec.PowerState != "" || g.Status.ObservedGeneration != -1 {
		t.Errorf("a new group has powerState %q and observedGeneration %d", g.Spec.PowerState, g.Status.ObservedGeneration)
	}
	g.Status.PowerState, g.Status.Members = vmv1alpha1.PoweredOn, []vmv1alpha1.VirtualMachineGroupMemberStatus{{Kind: vmv1alpha1.MachineMemberKind, Name: "db"}}
	if _, err := groups.UpdateStatus(t.Context(), g, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	// As virtctl start does: another client owns the field.
	if _, err := groups.Patch(t.Context(), "shop", types.MergePatchType, []byte(`{"spec":{"powerState":"PoweredOn"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	again := apply()
	if again.Spec.PowerState != vmv1alpha1.PoweredOn || again.Generation != 2 || len(again.Status.Members) != 1 {
		t.Errorf("applied again it has powerState %q, generation %d and %d members in its status", again.Spec.PowerState, again.Generation, len(again.Status.Members))
	}
	again.Spec.BootOrder[0].Members = append(again.Spec.BootOrder[0].Members, vmv1alpha1.VirtualMachineGroupMember{Name: "db"})
	if _, err := groups.Update(t.Context(), again, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `spec.bootOrder[0].members[1]: Duplicate value: "VirtualMachine db"`) {
		t.Errorf("a member that is named twice: %v", err)
	}
}
