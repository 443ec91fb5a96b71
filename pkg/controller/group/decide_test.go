// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func equal(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

func TestGroup_IsPoweredOnInOrderAndOffInReverse(t *testing.T) {
	for name, tc := range map[string]struct {
		state vmv1alpha1.PowerState
		from  vmv1alpha1.PowerState
		want  []string
	}{
		"on":      {on, off, []string{"db PoweredOn", "app PoweredOn", "web PoweredOn"}},
		"off":     {off, on, []string{"web PoweredOff", "app PoweredOff", "db PoweredOff"}},
		"suspend": {suspended, on, []string{"web Suspended", "app Suspended", "db Suspended"}},
		"resume":  {on, suspended, []string{"db PoweredOn", "app PoweredOn", "web PoweredOn"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.group("shop", on, awaited("db"), awaited("app"), step("web"))
			f.settle()
			f.set("shop", tc.from)
			f.settle()
			f.order = nil
			f.set("shop", tc.state)
			f.settle()
			if diff := cmp.Diff(tc.want, f.order); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
			if is, message := f.conditionOf("shop", vmv1alpha1.ConditionReady); is != "True Succeeded" {
				t.Errorf("Ready is %s: %s", is, message)
			}
		})
	}
}

func TestStep_WaitsUntilThePreviousIsReady(t *testing.T) {
	f := newFixture(t)
	f.group("shop", on, awaited("db-0", "db-1"), step("web"))
	f.unready["db-1"] = true
	f.advance(time.Hour)
	if f.power("db-0") != on || f.power("db-1") != on || f.power("web") != off {
		t.Errorf("db-0 is %s, db-1 %s, web %s; want web to wait", f.power("db-0"), f.power("db-1"), f.power("web"))
	}
	for _, kind := range []string{vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ConditionReady} {
		is, message := f.conditionOf("shop", kind)
		if is != "False WaitingForMembers" || message != "step 2 of 2 waits until these are Ready: db-1" {
			t.Errorf("%s is %s: %s", kind, is, message)
		}
	}
	if is, _ := conditionText(f.member("shop", "web").Conditions, vmv1alpha1.ConditionPowerStateSynced); is != "False Pending" {
		t.Errorf("PowerStateSynced of web is %s, want a reason that its step has not begun", is)
	}
	delete(f.unready, "db-1")
	f.settle()
	if f.power("web") != on {
		t.Error("web is not on although db-1 is Ready")
	}
	f.unready["db-0"] = true // a step that has begun stays so
	f.settle()
	if f.power("web") != on {
		t.Error("web was powered off because db-0 is not Ready any more")
	}
	if is, message := f.conditionOf("shop", vmv1alpha1.ConditionReady); is != "False NotReady" || message != "not Ready: db-0" {
		t.Errorf("Ready is %s: %s", is, message)
	}
}

func TestStep_IsPoweredOffAfterLaterSteps(t *testing.T) {
	f := newFixture(t)
	f.group("shop", on, awaited("db"), step("web"))
	f.settle()
	f.held["web"] = true
	f.set("shop", off)
	f.advance(time.Hour)
	if f.power("db") != on {
		t.Error("the database is off before the web server")
	}
	if is, message := f.conditionOf("shop", vmv1alpha1.ConditionPowerStateSynced); is != "False WaitingForMembers" || message != "step 1 of 2 waits until these are not running: web" {
		t.Errorf("PowerStateSynced is %s: %s", is, message)
	}
	delete(f.held, "web")
	f.settle()
	if f.power("db") != off {
		t.Error("the database runs on")
	}
}

func TestStep_WaitsUntilItsTimeout(t *testing.T) {
	for name, state := range map[string]vmv1alpha1.PowerState{"on": on, "off": off} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			first := awaited("db")
			first.WaitTimeoutSeconds = 60
			f.group("shop", map[vmv1alpha1.PowerState]vmv1alpha1.PowerState{on: off, off: on}[state], first, step("web"))
			f.settle()
			stuck, waiting := "db", "web"
			if state == off {
				stuck, waiting = "web", "db"
			}
			f.held[stuck] = true
			f.set("shop", state)
			f.advance(59 * time.Second)
			if f.desiredState("shop", waiting) == state {
				t.Fatal("the wait ended before its time")
			}
			if _, message := f.conditionOf("shop", vmv1alpha1.ConditionPowerStateSynced); !cmp.Equal(message[len(message)-len("at most until 2026-01-01T00:01:00Z"):], "at most until 2026-01-01T00:01:00Z") {
				t.Errorf("PowerStateSynced does not contain the time limit: %s", message)
			}
			f.advance(time.Second)
			if f.desiredState("shop", waiting) != state || f.power(waiting) != state {
				t.Errorf("%s is %s a minute later, want %s", waiting, f.power(waiting), state)
			}
			if is, _ := f.conditionOf("shop", vmv1alpha1.ConditionReady); is == "True Succeeded" {
				t.Errorf("the group is Ready although %s is not", stuck)
			}
		})
	}
}

func TestDelay_CountsFromThePreviousStep(t *testing.T) {
	f := newFixture(t)
	db, app, web := step("db"), step("app"), step("web")
	db.PowerOnDelaySeconds, app.PowerOnDelaySeconds, web.PowerOnDelaySeconds = 1, 10, 100
	db.PowerOffDelaySeconds, app.PowerOffDelaySeconds, web.PowerOffDelaySeconds = 3, 2, 1
	f.group("shop", on, db, app, web)
	for _, at := range []struct {
		after time.Duration
		want  string
	}{
		{0, ""}, {999 * time.Millisecond, ""}, {time.Millisecond, "db"}, {9999 * time.Millisecond, "db"}, {time.Millisecond, "db app"},
		{99 * time.Second, "db app"}, {time.Second, "db app web"},
	} {
		f.advance(at.after)
		if got := f.running("db", "app", "web"); got != at.want {
			t.Errorf("at %s %q run, want %q", f.now, got, at.want)
		}
	}
	f.set("shop", off)
	for i, want := range []string{"db app web", "db app", "db app", "db", "db", "db", ""} {
		f.advance(0)
		if got := f.running("db", "app", "web"); got != want {
			t.Errorf("%d s after it was stopped %q run, want %q", i, got, want)
		}
		f.advance(time.Second)
	}
}

func (f *fixture) running(names ...string) (out string) {
	for _, name := range names {
		if f.power(name) == on {
			if out != "" {
				out += " "
			}
			out += name
		}
	}
	return out
}

func TestDelay_IsNotShortenedAfterAWait(t *testing.T) {
	f := newFixture(t)
	web := step("web")
	web.PowerOnDelaySeconds = 10
	f.group("shop", on, awaited("db"), web)
	f.unready["db"] = true
	f.advance(1500 * time.Millisecond)
	delete(f.unready, "db")
	f.settle() // at 1.5 s, of which a condition keeps 1 s
	if is, message := f.conditionOf("shop", vmv1alpha1.ConditionReady); is != "False Delayed" || message != "step 2 of 2 waits until 2026-01-01T00:00:12Z" {
		t.Errorf("Ready is %s: %s", is, message)
	}
	f.advance(10 * time.Second)
	if f.power("web") != off {
		t.Error("web was powered on less than 10 s after db was Ready")
	}
	f.advance(time.Second)
	if f.power("web") != on {
		t.Error("web is off")
	}
}

func TestGroup_DoesNotChangeMembersWithoutAPowerState(t *testing.T) {
	f := newFixture(t)
	f.group("shop", "", awaited("db"), step("web"))
	f.vms["db"].Status.PowerState = on
	f.settle()
	if len(f.order) > 0 {
		t.Errorf("these were powered: %v", f.order)
	}
	if is, _ := f.conditionOf("shop", vmv1alpha1.ConditionReady); is != "True Succeeded" {
		t.Errorf("Ready is %s", is)
	}
	f.set("shop", on)
	f.settle()
	f.order = nil
	f.set("shop", "")
	f.settle()
	if len(f.order) > 0 || f.member("shop", "web").DesiredSince != nil {
		t.Errorf("a group without a desired power state powered %v", f.order)
	}
	f.set("shop", off)
	f.settle()
	delete(f.groups, "shop")
	f.order = nil
	f.settle()
	if len(f.order) > 0 {
		t.Errorf("when the group was deleted these were powered: %v", f.order)
	}
}

func TestGroup_ChangesDirectionInTheMiddle(t *testing.T) {
	f := newFixture(t)
	f.group("shop", on, awaited("db"), awaited("app"), step("web"))
	f.unready["app"] = true
	f.settle()
	if got := f.running("db", "app", "web"); got != "db app" {
		t.Fatalf("%q run", got)
	}
	f.order = nil
	f.set("shop", off)
	f.settle()
	if diff := cmp.Diff([]string{"app PoweredOff", "db PoweredOff"}, f.order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestGroup_RestartsWithEachNewPowerState(t *testing.T) {
	f := newFixture(t)
	db, web := step("db"), step("web")
	web.PowerOnDelaySeconds, db.PowerOffDelaySeconds = 60, 100
	f.group("shop", on, db, web)
	f.advance(time.Minute)
	f.set("shop", off)
	f.advance(50 * time.Second) // web is off, and the power-off of db has not begun
	f.set("shop", on)
	f.advance(59 * time.Second)
	if f.power("db") != on || f.power("web") != off {
		t.Errorf("db is %s and web %s, want web to wait for its delay again", f.power("db"), f.power("web"))
	}
	f.advance(time.Second)
	if f.power("web") != on {
		t.Error("web is off")
	}
}

func TestStep_NeedsNoEventIfItsMembersHaveTheDesiredState(t *testing.T) {
	f := newFixture(t)
	f.group("shop", on, awaited("db"), awaited("app"), step("web"))
	f.settle()
	f.held["db"], f.held["app"] = true, true
	f.set("shop", off)
	f.settle()
	f.set("shop", on)
	status, _ := decide(f.groups["shop"], f.findVM, f.findGroup, f.now) // one call: nothing changes in between
	for _, m := range status.Members {
		if m.DesiredPowerState != on {
			t.Errorf("the desired power state of %s is %s, want %s", m.Name, m.DesiredPowerState, on)
		}
	}
}

func TestReconcile_ChangesNothingForAStableGroup(t *testing.T) {
	f := newFixture(t)
	f.group("shop", on, awaited("db"), step("web", "gone"))
	delete(f.vms, "gone")
	f.settle()
	f.now = f.now.Add(time.Hour)
	g := f.groups["shop"]
	status, until := decide(g, f.findVM, f.findGroup, f.now)
	if diff := cmp.Diff(&g.Status, status); diff != "" || !until.IsZero() {
		t.Errorf("again at %s, and the status changes (-before +after):\n%s", until, diff)
	}
}

func TestGroup_FitsIntoAnObjectAtMaximumSize(t *testing.T) {
	f := newFixture(t)
	var steps []vmv1alpha1.VirtualMachineGroupStep
	for i := range 64 {
		var names []string
		for j := range vmv1alpha1.MaxGroupMembers / 64 {
			names = append(names, fmt.Sprintf("%0253d", i*1000+j))
		}
		steps = append(steps, awaited(names...))
	}
	f.group("shop", on, steps...)
	f.settle()
	if n := f.groups["shop"].Size(); n > 1<<20 {
		t.Errorf("it has %d bytes", n)
	}
	if is, message := f.conditionOf("shop", vmv1alpha1.ConditionReady); is != "True Succeeded" {
		t.Errorf("Ready is %s: %s", is, message)
	}
}
