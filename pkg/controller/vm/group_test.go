// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// groupOf returns the group "all" with members. It requests a power state for each of them.
func groupOf(state vmv1alpha1.PowerState, members ...string) *vmv1alpha1.VirtualMachineGroup {
	g := &vmv1alpha1.VirtualMachineGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "all", UID: "uid-all", Generation: 1}}
	for _, name := range members {
		member := vmv1alpha1.VirtualMachineGroupMember{Kind: vmv1alpha1.MachineMemberKind, Name: name}
		g.Spec.BootOrder = append(g.Spec.BootOrder, vmv1alpha1.VirtualMachineGroupStep{Members: []vmv1alpha1.VirtualMachineGroupMember{member}})
		g.Status.Members = append(g.Status.Members, vmv1alpha1.VirtualMachineGroupMemberStatus{Kind: member.Kind, Name: name, DesiredPowerState: state})
	}
	return g
}

const on, off = vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOff

// inGroup adds a virtual machine to the group "all", with its own power state if own is not empty.
func inGroup(own vmv1alpha1.PowerState) func(*vmv1alpha1.VirtualMachine) {
	return func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.GroupName, vm.Spec.PowerState = "all", own }
}

func TestStatus_UpdatesTheGroupLinkedCondition(t *testing.T) {
	for name, tc := range map[string]struct {
		vm      func(*vmv1alpha1.VirtualMachine)
		group   *vmv1alpha1.VirtualMachineGroup
		is      string
		message string
	}{
		"in no group":          {func(*vmv1alpha1.VirtualMachine) {}, groupOf(on, "vm"), "", ""},
		"group does not exist": {inGroup(on), nil, "False/NotFound", `VirtualMachineGroup "all" does not exist`},
		"group lists others":   {inGroup(on), groupOf(on, "other"), "False/NotLinked", `spec.bootOrder of VirtualMachineGroup "all" does not list this virtual machine`},
		"group lists it too":   {inGroup(on), groupOf(on, "other", "vm"), "True/Succeeded", ""},
		"group without status": {inGroup(""), &vmv1alpha1.VirtualMachineGroup{ObjectMeta: groupOf("").ObjectMeta, Spec: groupOf("", "vm").Spec}, "True/Succeeded", ""},
		"group lists its name": {inGroup(on), groupOf(on, "vm"), "True/Succeeded", ""},
		"group lists a group with its name": {inGroup(on), func() *vmv1alpha1.VirtualMachineGroup {
			g := groupOf(on, "vm")
			g.Spec.BootOrder[0].Members[0].Kind = vmv1alpha1.GroupMemberKind
			return g
		}(), "False/NotLinked", `spec.bootOrder of VirtualMachineGroup "all" does not list this virtual machine`},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{running(tc.vm), photon()}
			if tc.group != nil {
				objects = append(objects, tc.group)
			}
			h := newHarness(t, objects...)
			h.mustReconcile()
			if got := h.condition(vmv1alpha1.ConditionGroupLinked); got != tc.is {
				t.Fatalf("GroupLinked is %q, want %q", got, tc.is)
			}
			if tc.is != "" {
				if got := findCondition(h.vm(), vmv1alpha1.ConditionGroupLinked).Message; got != tc.message {
					t.Errorf("message %q, want %q", got, tc.message)
				}
			}
			h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.GroupName = "" })
			h.mustReconcile()
			if got := h.condition(vmv1alpha1.ConditionGroupLinked); got != "" {
				t.Errorf("GroupLinked is %q of a virtual machine in no group", got)
			}
		})
	}
}

func TestGroup_MembersInheritThePowerState(t *testing.T) {
	for name, tc := range map[string]struct {
		own      vmv1alpha1.PowerState
		group    *vmv1alpha1.VirtualMachineGroup
		inherits vmv1alpha1.PowerState
		wants    vmv1alpha1.PowerState
		phase    vmv1alpha1.VirtualMachinePhase
		observed vmv1alpha1.PowerState
	}{
		"inherits on":              {"", groupOf(on, "vm"), on, on, vmv1alpha1.PhaseStarting, off},
		"inherits off":             {"", groupOf(off, "vm"), off, off, vmv1alpha1.PhaseStopping, on},
		"own state":                {on, groupOf(off, "vm"), "", on, vmv1alpha1.PhaseRunning, on},
		"group without state":      {"", groupOf("", "vm"), "", on, vmv1alpha1.PhaseRunning, on},
		"group without state, off": {"", groupOf("", "vm"), "", off, vmv1alpha1.PhaseStopped, off},
		"group does not list it":   {"", groupOf(off, "other"), "", on, vmv1alpha1.PhaseRunning, on},
		"group does not exist":     {"", nil, "", off, vmv1alpha1.PhaseStopped, off},
		"off in a suspended group": {"", groupOf(vmv1alpha1.Suspended, "vm"), vmv1alpha1.Suspended, off, vmv1alpha1.PhaseStopped, off},
		"on in a suspended group":  {"", groupOf(vmv1alpha1.Suspended, "vm"), vmv1alpha1.Suspended, vmv1alpha1.Suspended, vmv1alpha1.PhaseStopping, on},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{running(inGroup(tc.own), func(vm *vmv1alpha1.VirtualMachine) { vm.Status.PowerState = tc.observed }), photon()}
			if tc.group != nil {
				objects = append(objects, tc.group)
			}
			h := newHarness(t, objects...)
			h.mustReconcile()
			vm := h.vm()
			asked := h.provider.requests[0].VM
			got := []any{vm.Status.InheritedPowerState, vm.DesiredPowerState(vm.Status.PowerState), vm.Status.Phase, vm.Spec.PowerState, asked.DesiredPowerState(asked.Status.PowerState)}
			if diff := cmp.Diff([]any{tc.inherits, tc.wants, tc.phase, tc.own, tc.wants}, got); diff != "" {
				t.Errorf("inherited, desired, phase, spec, and requested state (-want +got):\n%s", diff)
			}
			before := h.api.writes()
			h.mustReconcile()
			if n := h.api.writes() - before; n != 0 {
				t.Errorf("%d writes by the next reconcile", n)
			}
		})
	}
}

func TestGroup_QueuesOnlyAffectedVMs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inherits := stable(named("inherits"), inGroup(""))
		own := stable(named("own"), inGroup(on))
		alone := stable(named("alone"))
		a := assemble(t, inherits, own, alone)
		a.watch(t)
		a.drain()
		ctx, groups := context.Background(), a.api.VmV1alpha1().VirtualMachineGroups("ns")
		group := groupOf("", "inherits", "own", "alone")
		update := func(change func()) func() error {
			return func() (err error) {
				change()
				group, err = groups.Update(ctx, group, metav1.UpdateOptions{})
				return err
			}
		}
		for _, step := range []struct {
			name string
			do   func() error
			want []string
		}{
			{"created", func() (err error) { group, err = groups.Create(ctx, group, metav1.CreateOptions{}); return err }, []string{"inherits", "own"}},
			{"it requests a power state", update(func() {
				for i := range group.Status.Members {
					group.Status.Members[i].DesiredPowerState = on
				}
			}), []string{"inherits"}},
			{"its status shows a member", update(func() { group.Status.Members[0].PowerState = on }), nil},
			{"its labels change, which one VM stores", update(func() { group.Labels = map[string]string{"a": "b"} }), []string{"inherits"}},
			{"the VM that stores it is deleted", func() error {
				return a.api.VmV1alpha1().VirtualMachines("ns").Delete(ctx, "inherits", metav1.DeleteOptions{})
			}, []string{"inherits", "own"}},
			{"it no longer lists one", update(func() { group.Spec.BootOrder = group.Spec.BootOrder[:1] }), []string{"own"}},
			{"deleted", func() error { return groups.Delete(ctx, "all", metav1.DeleteOptions{}) }, []string{"own"}},
		} {
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			synctest.Wait()
			var names []string
			for _, got := range byNameOf(a.drain()) {
				names = append(names, got.Name)
			}
			if diff := cmp.Diff(step.want, names); diff != "" {
				t.Errorf("%s: it wakes (-want +got):\n%s", step.name, diff)
			}
		}
	})
}

func TestGroup_ProviderGetsTheZonesOfOtherMembers(t *testing.T) {
	placed := func(name, zone, group string) *vmv1alpha1.VirtualMachine {
		vm := fresh(named(name))
		vm.Spec.GroupName, vm.Status.Zone = group, zone
		return vm
	}
	for name, tc := range map[string]struct {
		vm     func(*vmv1alpha1.VirtualMachine)
		policy vmv1alpha1.PlacementPolicy
		want   *provider.Placement
	}{
		"apart": {func(*vmv1alpha1.VirtualMachine) {}, vmv1alpha1.PlacementApart, &provider.Placement{
			Policy: vmv1alpha1.PlacementApart, Group: "all",
			Others: map[types.NamespacedName]string{{Namespace: "ns", Name: "a"}: "zone-a", {Namespace: "ns", Name: "new"}: ""},
		}},
		"no policy":                  {func(*vmv1alpha1.VirtualMachine) {}, "", nil},
		"it is in a zone":            {func(vm *vmv1alpha1.VirtualMachine) { vm.Status.Zone = "zone-b" }, vmv1alpha1.PlacementTogether, nil},
		"it requests a zone":         {func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Zone = "zone-b" }, vmv1alpha1.PlacementTogether, nil},
		"it is in another group":     {func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.GroupName = "other" }, vmv1alpha1.PlacementTogether, nil},
		"the group does not list it": {named("stranger"), vmv1alpha1.PlacementTogether, nil},
	} {
		t.Run(name, func(t *testing.T) {
			group := groupOf("", "vm", "a", "new", "elsewhere", "absent")
			if tc.policy != "" {
				group.Spec.Placement = &vmv1alpha1.VirtualMachineGroupPlacement{Policy: tc.policy, Topology: vmv1alpha1.PlacementTopologyZone}
			}
			vm := fresh(inGroup(""), tc.vm)
			h := newHarness(t, vm, placed("a", "zone-a", "all"), placed("new", "", "all"), placed("elsewhere", "zone-c", "other"), group)
			if diff := cmp.Diff(tc.want, h.group.Placement(vm)); diff != "" {
				t.Errorf("placement (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGroup_ProviderGetsTheGroupsStoredWithAVM(t *testing.T) {
	h := newHarness(t, running(inGroup(on)), photon(), groupOf("", "vm"))
	h.mustReconcile()
	if got := h.provider.requests[0].Groups; !got.Known || len(got.Kept) != 1 || got.Kept[0].Name != "all" {
		t.Errorf("groups that are stored with it: %+v, want all", got)
	}
}
