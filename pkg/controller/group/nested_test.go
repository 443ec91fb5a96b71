// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestChildGroup_HasThePowerStateOfItsParent(t *testing.T) {
	f := newFixture(t)
	f.group("data", "", awaited("db"), step("cache")).Spec.GroupName = "shop"
	f.group("front", "", step("web")).Spec.GroupName = "shop"
	f.group("shop", on, awaited("group/data"), step("group/front"))
	f.settle()
	if diff := cmp.Diff([]string{"db PoweredOn", "cache PoweredOn", "web PoweredOn"}, f.order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	f.order = nil
	f.set("shop", off)
	f.settle()
	if diff := cmp.Diff([]string{"web PoweredOff", "cache PoweredOff", "db PoweredOff"}, f.order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	for name := range f.groups {
		if is, message := f.conditionOf(name, vmv1alpha1.ConditionReady); is != "True Succeeded" {
			t.Errorf("group %s has Ready %s: %s", name, is, message)
		}
	}
}

func TestChildGroup_IsReadyWhenAllItsMembersAre(t *testing.T) {
	f := newFixture(t)
	f.group("data", "", step("db", "cache")).Spec.GroupName = "shop"
	f.group("shop", on, awaited("group/data"), step("web"))
	f.unready["cache"] = true
	f.settle()
	if f.power("web") != off {
		t.Error("web is on although cache is not Ready")
	}
	if is, message := f.conditionOf("shop", vmv1alpha1.ConditionReady); is != "False WaitingForMembers" || message != "step 2 of 2 waits until these are Ready: data" {
		t.Errorf("Ready is %s: %s", is, message)
	}
	delete(f.unready, "cache")
	f.settle()
	if f.power("web") != on {
		t.Error("web is off")
	}
}

func TestChildGroup_StatusOfAnOlderGenerationDoesNotCount(t *testing.T) {
	f := newFixture(t)
	f.group("data", "", step("db")).Spec.GroupName = "shop"
	f.group("shop", on, awaited("group/data"), step("web"))
	f.settle()
	f.edit("data", func(g *group) {
		g.Spec.BootOrder[0].Members = append(g.Spec.BootOrder[0].Members, step("cache").Members...)
	})
	status, _ := decide(f.groups["shop"], f.findVM, f.findGroup, f.now)
	if is, _ := conditionText(status.Conditions, vmv1alpha1.ConditionReady); is == "True Succeeded" {
		t.Error("the group is Ready because of an outdated status of a child group")
	}
}

func TestChildGroup_KeepsItsOwnPowerState(t *testing.T) {
	f := newFixture(t)
	f.group("data", on, step("db")).Spec.GroupName = "shop"
	f.group("shop", off, awaited("group/data"), step("web"))
	f.settle()
	if f.power("db") != on || f.power("web") != off {
		t.Errorf("db is %s and web %s", f.power("db"), f.power("web"))
	}
	f.set("data", "")
	f.settle()
	if f.power("db") != off {
		t.Errorf("db is %s when its group leaves its power state unset", f.power("db"))
	}
}

func TestChildGroup_SetsGroupLinked(t *testing.T) {
	for name, tc := range map[string]struct {
		change      func(f *fixture)
		is, message string
	}{
		"no group":   {func(f *fixture) { f.groups["data"].Spec.GroupName = "" }, "", ""},
		"in a group": {func(*fixture) {}, "True Succeeded", ""},
		"in a group that does not exist": {func(f *fixture) { delete(f.groups, "shop") }, "False NotFound",
			`VirtualMachineGroup "shop" in spec.groupName does not exist`},
		"in a group that does not name it": {func(f *fixture) { f.edit("shop", func(g *group) { g.Spec.BootOrder = nil }) }, "False NotLinked",
			`spec.bootOrder of VirtualMachineGroup "shop" does not name this group`},
		"in a cycle": {func(f *fixture) {
			f.edit("shop", func(g *group) { g.Spec.GroupName = "data" })
			f.edit("data", func(g *group) { g.Spec.BootOrder = append(g.Spec.BootOrder, step("group/shop")) })
		}, "False Invalid", "spec.groupName of these groups forms a cycle: data, shop, data"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.group("data", "", step("db")).Spec.GroupName = "shop"
			f.group("shop", on, awaited("group/data"), step("web"))
			tc.change(f)
			f.settle()
			if is, message := f.conditionOf("data", vmv1alpha1.ConditionGroupLinked); is != tc.is || message != tc.message {
				t.Errorf("GroupLinked is %q: %s; want %q: %s", is, message, tc.is, tc.message)
			}
			if setPowerState := f.power("db") == on; setPowerState != (tc.is == "True Succeeded") {
				t.Errorf("db is %s, GroupLinked %q", f.power("db"), tc.is)
			}
		})
	}
}

func TestGroups_DoNotWaitForEachOtherInACycle(t *testing.T) {
	f := newFixture(t)
	f.group("a", on, awaited("group/b"), step("x")).Spec.GroupName = "b"
	f.group("b", on, awaited("group/a"), step("y")).Spec.GroupName = "a"
	f.group("c", "", step("z")).Spec.GroupName = "a"
	f.edit("a", func(g *group) {
		g.Spec.BootOrder[0].Members = append(g.Spec.BootOrder[0].Members, step("group/c").Members...)
	})
	f.settle()
	for _, name := range []string{"a", "b"} {
		if is, _ := f.conditionOf(name, vmv1alpha1.ConditionGroupLinked); is != "False Invalid" {
			t.Errorf("GroupLinked of %s is %s", name, is)
		}
	}
	if is, _ := f.conditionOf("c", vmv1alpha1.ConditionGroupLinked); is != "True Succeeded" || f.power("z") != on {
		t.Errorf("c, which is in the circle by one of it, has GroupLinked %s, and z is %s", is, f.power("z"))
	}
	f.set("a", off)
	f.set("b", off)
	f.settle() // comes to rest
}

func TestGroups_HaveAMaximumDepth(t *testing.T) {
	f := newFixture(t)
	const deepest = vmv1alpha1.MaxGroupDepth + 1
	for i := range deepest + 1 {
		g := f.group(fmt.Sprintf("g%d", i), "", step(fmt.Sprintf("vm%d", i)))
		if i < deepest {
			g.Spec.BootOrder = append(g.Spec.BootOrder, step(fmt.Sprintf("group/g%d", i+1)))
		}
		if i > 0 {
			g.Spec.GroupName = fmt.Sprintf("g%d", i-1)
		}
	}
	f.set("g0", on)
	f.settle()
	for i := range deepest {
		if vm := fmt.Sprintf("vm%d", i); f.power(vm) != on {
			t.Errorf("%s is off, which is in %d groups above its own", vm, i)
		}
	}
	is, message := f.conditionOf(fmt.Sprintf("g%d", deepest), vmv1alpha1.ConditionGroupLinked)
	if want := "nested more than 8 levels deep: g9, g8, g7, g6, g5, g4, g3, g2, g1, g0"; is != "False Invalid" || message != want {
		t.Errorf("GroupLinked of the deepest is %s: %s", is, message)
	}
	if f.power(fmt.Sprintf("vm%d", deepest)) != off {
		t.Error("the deepest follows")
	}
	if is, message := conditionText(f.member("g8", "group/g9").Conditions, vmv1alpha1.ConditionGroupLinked); is != "False Invalid" {
		t.Errorf("GroupLinked of the member is %s: %s", is, message)
	}
}
