// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestMember_KeepsItsOwnPowerState(t *testing.T) {
	f := newFixture(t)
	f.group("shop", on, awaited("db", "spare"), step("web"))
	f.vms["spare"].Spec.PowerState = off
	f.settle()
	if f.power("spare") != off || f.power("web") != on {
		t.Errorf("spare is %s and web %s, want it to be left off and web not to wait for it", f.power("spare"), f.power("web"))
	}
	if f.desiredState("shop", "spare") != on {
		t.Errorf("the desired power state of spare is %q, want that of the group", f.desiredState("shop", "spare"))
	}
	f.vms["spare"].Spec.PowerState = ""
	f.settle()
	if f.power("spare") != on {
		t.Errorf("spare is %s after its own power state was unset", f.power("spare"))
	}
	f.vms["db"].Spec.PowerState = on
	f.set("shop", off)
	f.settle()
	if got := f.running("db", "spare", "web"); got != "db" {
		t.Errorf("%q run, want only db, which has its own power state", got)
	}
	if is, message := f.conditionOf("shop", vmv1alpha1.ConditionReady); is != "True Succeeded" {
		t.Errorf("Ready is %s: %s", is, message)
	}
}

func TestMember_IsNotReadyWhileItIsBeingDeleted(t *testing.T) {
	f := newFixture(t)
	f.group("shop", on, awaited("db"), step("web"))
	f.vms["db"].DeletionTimestamp = &metav1.Time{Time: f.now}
	f.settle()
	if is, _ := conditionText(f.member("shop", "db").Conditions, vmv1alpha1.ConditionReady); is != "False Deleting" || f.power("web") != off {
		t.Errorf("Ready of db is %s, and web is %s; want web to wait for another db", is, f.power("web"))
	}
}

func TestMember_StaysOffIfItCannotBeSuspended(t *testing.T) {
	f := newFixture(t)
	f.group("shop", "", awaited("db"), step("web"))
	f.vms["db"].Status.PowerState = on
	f.settle()
	f.set("shop", suspended)
	f.settle()
	if f.power("db") != suspended || f.power("web") != off {
		t.Errorf("db is %s and web %s, want it suspended, and web off as before", f.power("db"), f.power("web"))
	}
	if is, message := f.conditionOf("shop", vmv1alpha1.ConditionReady); is != "True Succeeded" {
		t.Errorf("Ready is %s: %s", is, message)
	}
}

func TestMember_DoesNotDelayPowerOffBeforeItIsCreated(t *testing.T) {
	f := newFixture(t)
	f.group("shop", on, awaited("db"), step("web"))
	f.condition(f.vms["web"], vmv1alpha1.ConditionCreated, false)
	f.vms["web"].Status.PowerState = ""
	f.settle()
	f.set("shop", off)
	f.settle()
	if f.power("db") != off {
		t.Error("db runs on because web does not exist in vSphere")
	}
}

func TestMember_IsPoweredOnImmediatelyIfAddedLate(t *testing.T) {
	f := newFixture(t)
	f.group("shop", on, awaited("db"), step("web"))
	f.settle()
	f.edit("shop", func(g *group) {
		g.Spec.BootOrder[0].Members = append(g.Spec.BootOrder[0].Members, step("db-1").Members...)
	})
	f.settle()
	if is, message := f.conditionOf("shop", vmv1alpha1.ConditionReady); is != "False NotLinked" || message != `VirtualMachine "db-1" does not exist` {
		t.Errorf("Ready is %s: %s", is, message)
	}
	f.vm("db-1", "shop")
	f.settle()
	if f.power("db-1") != on || f.power("web") != on {
		t.Errorf("db-1 is %s and web %s", f.power("db-1"), f.power("web"))
	}
	f.edit("shop", func(g *group) { // insert a step between two steps that have already run
		g.Spec.BootOrder = []vmv1alpha1.VirtualMachineGroupStep{g.Spec.BootOrder[0], awaited("cache"), g.Spec.BootOrder[1]}
	})
	f.vm("cache", "shop")
	f.unready["cache"] = true
	f.order = nil
	f.settle()
	if diff := cmp.Diff([]string{"cache PoweredOn"}, f.order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestMember_ReportsThatItIsNotLinked(t *testing.T) {
	for name, tc := range map[string]struct {
		change      func(f *fixture)
		is, message string
		waits       bool
	}{
		"no such virtual machine": {func(f *fixture) { delete(f.vms, "db") }, "False NotFound", `VirtualMachine "db" does not exist`, true},
		"no group name": {func(f *fixture) { f.vms["db"].Spec.GroupName = "" }, "False NotLinked",
			`spec.groupName of VirtualMachine "db" is empty, and must be shop`, true},
		"one of another group": {func(f *fixture) { f.vms["db"].Spec.GroupName = "other" }, "False NotLinked",
			`spec.groupName of VirtualMachine "db" is other`, true},
		"one that is linked": {func(*fixture) {}, "True Succeeded", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.group("shop", on, awaited("db"), step("web"))
			tc.change(f)
			f.settle()
			if is, message := conditionText(f.member("shop", "db").Conditions, vmv1alpha1.ConditionGroupLinked); is != tc.is || message != tc.message {
				t.Errorf("GroupLinked of db is %s: %s; want %s: %s", is, message, tc.is, tc.message)
			}
			if waited := f.power("web") == off; waited != tc.waits {
				t.Errorf("web waits: %t, want %t", waited, tc.waits)
			}
			f.set("shop", off)
			f.settle()
			if f.power("web") != off || f.desiredState("shop", "db") != off {
				t.Error("a member that is not linked prevents others from being powered off")
			}
		})
	}
}
