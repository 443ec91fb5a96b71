// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestChildGroup_FollowsItsParent(t *testing.T) {
	w := newWorld(t)
	w.group("data", "", waits("db"), step("cache")).Spec.GroupName = "shop"
	w.group("front", "", step("web")).Spec.GroupName = "shop"
	w.group("shop", on, waits("group/data"), step("group/front"))
	w.settle()
	if diff := cmp.Diff([]string{"db PoweredOn", "cache PoweredOn", "web PoweredOn"}, w.order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	w.order = nil
	w.set("shop", off)
	w.settle()
	if diff := cmp.Diff([]string{"web PoweredOff", "cache PoweredOff", "db PoweredOff"}, w.order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	for name := range w.groups {
		if is, message := w.conditionOf(name, vmv1alpha1.ConditionReady); is != "True Succeeded" {
			t.Errorf("group %s has Ready %s: %s", name, is, message)
		}
	}
}

func TestChildGroup_IsReadyWhenAllItsMembersAre(t *testing.T) {
	w := newWorld(t)
	w.group("data", "", step("db", "cache")).Spec.GroupName = "shop"
	w.group("shop", on, waits("group/data"), step("web"))
	w.unready["cache"] = true
	w.settle()
	if w.power("web") != off {
		t.Error("web is on although cache is not Ready")
	}
	if is, message := w.conditionOf("shop", vmv1alpha1.ConditionReady); is != "False WaitingForMembers" || message != "step 2 of 2 waits until these are Ready: data" {
		t.Errorf("Ready is %s: %s", is, message)
	}
	delete(w.unready, "cache")
	w.settle()
	if w.power("web") != on {
		t.Error("web is off")
	}
}

func TestChildGroup_StatusOfAnOlderGenerationDoesNotCount(t *testing.T) {
	w := newWorld(t)
	w.group("data", "", step("db")).Spec.GroupName = "shop"
	w.group("shop", on, waits("group/data"), step("web"))
	w.settle()
	w.edit("data", func(g *group) {
		g.Spec.BootOrder[0].Members = append(g.Spec.BootOrder[0].Members, step("cache").Members...)
	})
	status, _ := decide(w.groups["shop"], w.findVM, w.findGroup, w.now)
	if is, _ := says(status.Conditions, vmv1alpha1.ConditionReady); is == "True Succeeded" {
		t.Error("the group is Ready because of an outdated status of one of its groups")
	}
}

func TestChildGroup_WithItsOwnPowerStateKeepsIt(t *testing.T) {
	w := newWorld(t)
	w.group("data", on, step("db")).Spec.GroupName = "shop"
	w.group("shop", off, waits("group/data"), step("web"))
	w.settle()
	if w.power("db") != on || w.power("web") != off {
		t.Errorf("db is %s and web %s", w.power("db"), w.power("web"))
	}
	w.set("data", "")
	w.settle()
	if w.power("db") != off {
		t.Errorf("db is %s when its group leaves its power state unset", w.power("db"))
	}
}

func TestChildGroup_GroupLinked(t *testing.T) {
	for name, tc := range map[string]struct {
		change      func(w *world)
		is, message string
	}{
		"in none": {func(w *world) { w.groups["data"].Spec.GroupName = "" }, "", ""},
		"in one":  {func(*world) {}, "True Succeeded", ""},
		"in a missing group": {func(w *world) { delete(w.groups, "shop") }, "False NotFound",
			`VirtualMachineGroup "shop" in spec.groupName does not exist`},
		"in one that does not name it": {func(w *world) { w.edit("shop", func(g *group) { g.Spec.BootOrder = nil }) }, "False NotLinked",
			`spec.bootOrder of VirtualMachineGroup "shop" does not name this group`},
		"in a circle": {func(w *world) {
			w.edit("shop", func(g *group) { g.Spec.GroupName = "data" })
			w.edit("data", func(g *group) { g.Spec.BootOrder = append(g.Spec.BootOrder, step("group/shop")) })
		}, "False Invalid", "spec.groupName of these groups forms a cycle: data, shop, data"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.group("data", "", step("db")).Spec.GroupName = "shop"
			w.group("shop", on, waits("group/data"), step("web"))
			tc.change(w)
			w.settle()
			if is, message := w.conditionOf("data", vmv1alpha1.ConditionGroupLinked); is != tc.is || message != tc.message {
				t.Errorf("GroupLinked is %q: %s; want %q: %s", is, message, tc.is, tc.message)
			}
			if follows := w.power("db") == on; follows != (tc.is == "True Succeeded") {
				t.Errorf("db is %s, GroupLinked %q", w.power("db"), tc.is)
			}
		})
	}
}

func TestGroups_InACycleDoNotWaitForEachOther(t *testing.T) {
	w := newWorld(t)
	w.group("a", on, waits("group/b"), step("x")).Spec.GroupName = "b"
	w.group("b", on, waits("group/a"), step("y")).Spec.GroupName = "a"
	w.group("c", "", step("z")).Spec.GroupName = "a"
	w.edit("a", func(g *group) {
		g.Spec.BootOrder[0].Members = append(g.Spec.BootOrder[0].Members, step("group/c").Members...)
	})
	w.settle()
	for _, name := range []string{"a", "b"} {
		if is, _ := w.conditionOf(name, vmv1alpha1.ConditionGroupLinked); is != "False Invalid" {
			t.Errorf("GroupLinked of %s is %s", name, is)
		}
	}
	if is, _ := w.conditionOf("c", vmv1alpha1.ConditionGroupLinked); is != "True Succeeded" || w.power("z") != on {
		t.Errorf("c, which is in the circle by one of it, has GroupLinked %s, and z is %s", is, w.power("z"))
	}
	w.set("a", off)
	w.set("b", off)
	w.settle() // comes to rest
}

func TestGroups_HaveAMaximumDepth(t *testing.T) {
	w := newWorld(t)
	const deepest = vmv1alpha1.MaxGroupDepth + 1
	for i := range deepest + 1 {
		g := w.group(fmt.Sprintf("g%d", i), "", step(fmt.Sprintf("vm%d", i)))
		if i < deepest {
			g.Spec.BootOrder = append(g.Spec.BootOrder, step(fmt.Sprintf("group/g%d", i+1)))
		}
		if i > 0 {
			g.Spec.GroupName = fmt.Sprintf("g%d", i-1)
		}
	}
	w.set("g0", on)
	w.settle()
	for i := range deepest {
		if vm := fmt.Sprintf("vm%d", i); w.power(vm) != on {
			t.Errorf("%s is off, which is in %d groups above its own", vm, i)
		}
	}
	is, message := w.conditionOf(fmt.Sprintf("g%d", deepest), vmv1alpha1.ConditionGroupLinked)
	if want := "nested more than 8 levels deep: g9, g8, g7, g6, g5, g4, g3, g2, g1, g0"; is != "False Invalid" || message != want {
		t.Errorf("GroupLinked of the deepest is %s: %s", is, message)
	}
	if w.power(fmt.Sprintf("vm%d", deepest)) != off {
		t.Error("the deepest follows")
	}
	if is, message := says(w.member("g8", "group/g9").Conditions, vmv1alpha1.ConditionGroupLinked); is != "False Invalid" {
		t.Errorf("GroupLinked of the member is %s: %s", is, message)
	}
}
