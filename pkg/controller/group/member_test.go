// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestMember_WithItsOwnPowerStateKeepsIt(t *testing.T) {
	w := newWorld(t)
	w.group("shop", on, waits("db", "spare"), step("web"))
	w.vms["spare"].Spec.PowerState = off
	w.settle()
	if w.power("spare") != off || w.power("web") != on {
		t.Errorf("spare is %s and web %s, want it to be left off and web not to wait for it", w.power("spare"), w.power("web"))
	}
	if w.told("shop", "spare") != on {
		t.Errorf("the requested power state of spare is %q, want its current one if its own is unset", w.told("shop", "spare"))
	}
	w.vms["spare"].Spec.PowerState = ""
	w.settle()
	if w.power("spare") != on {
		t.Errorf("spare is %s after it left its own unset", w.power("spare"))
	}
	w.vms["db"].Spec.PowerState = on
	w.set("shop", off)
	w.settle()
	if got := w.running("db", "spare", "web"); got != "db" {
		t.Errorf("%q run, want db by its own", got)
	}
	if is, message := w.conditionOf("shop", vmv1alpha1.ConditionReady); is != "True Succeeded" {
		t.Errorf("Ready is %s: %s", is, message)
	}
}

func TestMember_ThatIsBeingDeletedIsNotReady(t *testing.T) {
	w := newWorld(t)
	w.group("shop", on, waits("db"), step("web"))
	w.vms["db"].DeletionTimestamp = &metav1.Time{Time: w.now}
	w.settle()
	if is, _ := says(w.member("shop", "db").Conditions, vmv1alpha1.ConditionReady); is != "False Deleting" || w.power("web") != off {
		t.Errorf("Ready of db is %s, and web is %s; want web to wait for another db", is, w.power("web"))
	}
}

func TestMember_ThatCannotBeSuspendedStaysOff(t *testing.T) {
	w := newWorld(t)
	w.group("shop", "", waits("db"), step("web"))
	w.vms["db"].Status.PowerState = on
	w.settle()
	w.set("shop", suspended)
	w.settle()
	if w.power("db") != suspended || w.power("web") != off {
		t.Errorf("db is %s and web %s, want it suspended, and web off as before", w.power("db"), w.power("web"))
	}
	if is, message := w.conditionOf("shop", vmv1alpha1.ConditionReady); is != "True Succeeded" {
		t.Errorf("Ready is %s: %s", is, message)
	}
}

func TestMember_ThatWasNotCreatedDoesNotDelayPowerOff(t *testing.T) {
	w := newWorld(t)
	w.group("shop", on, waits("db"), step("web"))
	w.condition(w.vms["web"], vmv1alpha1.ConditionCreated, false)
	w.vms["web"].Status.PowerState = ""
	w.settle()
	w.set("shop", off)
	w.settle()
	if w.power("db") != off {
		t.Error("db runs on because web does not exist in vSphere")
	}
}

func TestMember_ThatIsAddedLateIsPoweredOnImmediately(t *testing.T) {
	w := newWorld(t)
	w.group("shop", on, waits("db"), step("web"))
	w.settle()
	w.edit("shop", func(g *group) {
		g.Spec.BootOrder[0].Members = append(g.Spec.BootOrder[0].Members, step("db-1").Members...)
	})
	w.settle()
	if is, message := w.conditionOf("shop", vmv1alpha1.ConditionReady); is != "False NotLinked" || message != `VirtualMachine "db-1" does not exist` {
		t.Errorf("Ready is %s: %s", is, message)
	}
	w.vm("db-1", "shop")
	w.settle()
	if w.power("db-1") != on || w.power("web") != on {
		t.Errorf("db-1 is %s and web %s", w.power("db-1"), w.power("web"))
	}
	w.edit("shop", func(g *group) { // a step in the middle of the running ones
		g.Spec.BootOrder = []vmv1alpha1.VirtualMachineGroupStep{g.Spec.BootOrder[0], waits("cache"), g.Spec.BootOrder[1]}
	})
	w.vm("cache", "shop")
	w.unready["cache"] = true
	w.order = nil
	w.settle()
	if diff := cmp.Diff([]string{"cache PoweredOn"}, w.order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestMember_ThatIsNotLinkedIsReported(t *testing.T) {
	for name, tc := range map[string]struct {
		change      func(w *world)
		is, message string
		waits       bool
	}{
		"no such virtual machine": {func(w *world) { delete(w.vms, "db") }, "False NotFound", `VirtualMachine "db" does not exist`, true},
		"no group name": {func(w *world) { w.vms["db"].Spec.GroupName = "" }, "False NotLinked",
			`spec.groupName of VirtualMachine "db" is empty, and must be shop`, true},
		"one of another group": {func(w *world) { w.vms["db"].Spec.GroupName = "other" }, "False NotLinked",
			`spec.groupName of VirtualMachine "db" is other`, true},
		"one that is linked": {func(*world) {}, "True Succeeded", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.group("shop", on, waits("db"), step("web"))
			tc.change(w)
			w.settle()
			if is, message := says(w.member("shop", "db").Conditions, vmv1alpha1.ConditionGroupLinked); is != tc.is || message != tc.message {
				t.Errorf("GroupLinked of db is %s: %s; want %s: %s", is, message, tc.is, tc.message)
			}
			if waited := w.power("web") == off; waited != tc.waits {
				t.Errorf("web waits: %t, want %t", waited, tc.waits)
			}
			w.set("shop", off)
			w.settle()
			if w.power("web") != off || w.told("shop", "db") != off {
				t.Error("a member that is not linked prevents others from being powered off")
			}
		})
	}
}
