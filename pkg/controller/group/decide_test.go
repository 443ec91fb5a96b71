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
			w := newWorld(t)
			w.group("shop", on, waits("db"), waits("app"), step("web"))
			w.settle()
			w.set("shop", tc.from)
			w.settle()
			w.order = nil
			w.set("shop", tc.state)
			w.settle()
			if diff := cmp.Diff(tc.want, w.order); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
			if is, message := w.conditionOf("shop", vmv1alpha1.ConditionReady); is != "True Succeeded" {
				t.Errorf("Ready is %s: %s", is, message)
			}
		})
	}
}

func TestStep_WaitsUntilThePreviousIsReady(t *testing.T) {
	w := newWorld(t)
	w.group("shop", on, waits("db-0", "db-1"), step("web"))
	w.unready["db-1"] = true
	w.pass(time.Hour)
	if w.power("db-0") != on || w.power("db-1") != on || w.power("web") != off {
		t.Errorf("db-0 is %s, db-1 %s, web %s; want web to wait", w.power("db-0"), w.power("db-1"), w.power("web"))
	}
	for _, kind := range []string{vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ConditionReady} {
		is, message := w.conditionOf("shop", kind)
		if is != "False WaitingForMembers" || message != "step 2 of 2 waits until these are Ready: db-1" {
			t.Errorf("%s is %s: %s", kind, is, message)
		}
	}
	if is, _ := says(w.member("shop", "web").Conditions, vmv1alpha1.ConditionPowerStateSynced); is != "False Pending" {
		t.Errorf("PowerStateSynced of web is %s, want a reason that its step has not begun", is)
	}
	delete(w.unready, "db-1")
	w.settle()
	if w.power("web") != on {
		t.Error("web is not on although db-1 is Ready")
	}
	w.unready["db-0"] = true // a step that has begun stays so
	w.settle()
	if w.power("web") != on {
		t.Error("web was powered off because db-0 is not Ready any more")
	}
	if is, message := w.conditionOf("shop", vmv1alpha1.ConditionReady); is != "False NotReady" || message != "not Ready: db-0" {
		t.Errorf("Ready is %s: %s", is, message)
	}
}

func TestStep_RunsUntilLaterStepsAreOff(t *testing.T) {
	w := newWorld(t)
	w.group("shop", on, waits("db"), step("web"))
	w.settle()
	w.held["web"] = true
	w.set("shop", off)
	w.pass(time.Hour)
	if w.power("db") != on {
		t.Error("the database is off before the web server")
	}
	if is, message := w.conditionOf("shop", vmv1alpha1.ConditionPowerStateSynced); is != "False WaitingForMembers" || message != "step 1 of 2 waits until these are not running: web" {
		t.Errorf("PowerStateSynced is %s: %s", is, message)
	}
	delete(w.held, "web")
	w.settle()
	if w.power("db") != off {
		t.Error("the database runs on")
	}
}

func TestStep_WaitHasATimeout(t *testing.T) {
	for name, state := range map[string]vmv1alpha1.PowerState{"on": on, "off": off} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			first := waits("db")
			first.WaitTimeoutSeconds = 60
			w.group("shop", map[vmv1alpha1.PowerState]vmv1alpha1.PowerState{on: off, off: on}[state], first, step("web"))
			w.settle()
			stuck, waiting := "db", "web"
			if state == off {
				stuck, waiting = "web", "db"
			}
			w.held[stuck] = true
			w.set("shop", state)
			w.pass(59 * time.Second)
			if w.told("shop", waiting) == state {
				t.Fatal("the wait ended before its time")
			}
			if _, message := w.conditionOf("shop", vmv1alpha1.ConditionPowerStateSynced); !cmp.Equal(message[len(message)-len("at most until 2026-01-01T00:01:00Z"):], "at most until 2026-01-01T00:01:00Z") {
				t.Errorf("PowerStateSynced does not report the time: %s", message)
			}
			w.pass(time.Second)
			if w.told("shop", waiting) != state || w.power(waiting) != state {
				t.Errorf("%s is %s a minute later, want %s", waiting, w.power(waiting), state)
			}
			if is, _ := w.conditionOf("shop", vmv1alpha1.ConditionReady); is == "True Succeeded" {
				t.Errorf("the group is Ready although %s is not", stuck)
			}
		})
	}
}

func TestDelay_CountsFromThePreviousStep(t *testing.T) {
	w := newWorld(t)
	db, app, web := step("db"), step("app"), step("web")
	db.PowerOnDelaySeconds, app.PowerOnDelaySeconds, web.PowerOnDelaySeconds = 1, 10, 100
	db.PowerOffDelaySeconds, app.PowerOffDelaySeconds, web.PowerOffDelaySeconds = 3, 2, 1
	w.group("shop", on, db, app, web)
	for _, at := range []struct {
		after time.Duration
		want  string
	}{
		{0, ""}, {999 * time.Millisecond, ""}, {time.Millisecond, "db"}, {9999 * time.Millisecond, "db"}, {time.Millisecond, "db app"},
		{99 * time.Second, "db app"}, {time.Second, "db app web"},
	} {
		w.pass(at.after)
		if got := w.running("db", "app", "web"); got != at.want {
			t.Errorf("at %s %q run, want %q", w.now, got, at.want)
		}
	}
	w.set("shop", off)
	for i, want := range []string{"db app web", "db app", "db app", "db", "db", "db", ""} {
		w.pass(0)
		if got := w.running("db", "app", "web"); got != want {
			t.Errorf("%d s after it was stopped %q run, want %q", i, got, want)
		}
		w.pass(time.Second)
	}
}

func (w *world) running(names ...string) (out string) {
	for _, name := range names {
		if w.power(name) == on {
			if out != "" {
				out += " "
			}
			out += name
		}
	}
	return out
}

func TestDelay_AfterAWaitIsNotShortened(t *testing.T) {
	w := newWorld(t)
	web := step("web")
	web.PowerOnDelaySeconds = 10
	w.group("shop", on, waits("db"), web)
	w.unready["db"] = true
	w.pass(1500 * time.Millisecond)
	delete(w.unready, "db")
	w.settle() // at 1.5 s, of which a condition keeps 1 s
	if is, message := w.conditionOf("shop", vmv1alpha1.ConditionReady); is != "False Delayed" || message != "step 2 of 2 waits until 2026-01-01T00:00:12Z" {
		t.Errorf("Ready is %s: %s", is, message)
	}
	w.pass(10 * time.Second)
	if w.power("web") != off {
		t.Error("web was powered on less than 10 s after db was Ready")
	}
	w.pass(time.Second)
	if w.power("web") != on {
		t.Error("web is off")
	}
}

func TestGroup_WithoutPowerStateDoesNotChangeMembers(t *testing.T) {
	w := newWorld(t)
	w.group("shop", "", waits("db"), step("web"))
	w.vms["db"].Status.PowerState = on
	w.settle()
	if len(w.order) > 0 {
		t.Errorf("these were powered: %v", w.order)
	}
	if is, _ := w.conditionOf("shop", vmv1alpha1.ConditionReady); is != "True Succeeded" {
		t.Errorf("Ready is %s", is)
	}
	w.set("shop", on)
	w.settle()
	w.order = nil
	w.set("shop", "")
	w.settle()
	if len(w.order) > 0 || w.member("shop", "web").DesiredSince != nil {
		t.Errorf("a group without a desired power state powered %v", w.order)
	}
	w.set("shop", off)
	w.settle()
	delete(w.groups, "shop")
	w.order = nil
	w.settle()
	if len(w.order) > 0 {
		t.Errorf("when the group was deleted these were powered: %v", w.order)
	}
}

func TestGroup_ChangesDirectionInTheMiddle(t *testing.T) {
	w := newWorld(t)
	w.group("shop", on, waits("db"), waits("app"), step("web"))
	w.unready["app"] = true
	w.settle()
	if got := w.running("db", "app", "web"); got != "db app" {
		t.Fatalf("%q run", got)
	}
	w.order = nil
	w.set("shop", off)
	w.settle()
	if diff := cmp.Diff([]string{"app PoweredOff", "db PoweredOff"}, w.order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestGroup_RestartsWithEachNewPowerState(t *testing.T) {
	w := newWorld(t)
	db, web := step("db"), step("web")
	web.PowerOnDelaySeconds, db.PowerOffDelaySeconds = 60, 100
	w.group("shop", on, db, web)
	w.pass(time.Minute)
	w.set("shop", off)
	w.pass(50 * time.Second) // web is off, and db has no request yet
	w.set("shop", on)
	w.pass(59 * time.Second)
	if w.power("db") != on || w.power("web") != off {
		t.Errorf("db is %s and web %s, want web to wait for its delay again", w.power("db"), w.power("web"))
	}
	w.pass(time.Second)
	if w.power("web") != on {
		t.Error("web is off")
	}
}

func TestStep_WhoseMembersAreInTheDesiredStateNeedsNoEvent(t *testing.T) {
	w := newWorld(t)
	w.group("shop", on, waits("db"), waits("app"), step("web"))
	w.settle()
	w.held["db"], w.held["app"] = true, true
	w.set("shop", off)
	w.settle()
	w.set("shop", on)
	status, _ := decide(w.groups["shop"], w.findVM, w.findGroup, w.now) // one call: nothing changes in between
	for _, m := range status.Members {
		if m.DesiredPowerState != on {
			t.Errorf("the requested power state of %s is %s, want %s", m.Name, m.DesiredPowerState, on)
		}
	}
}

func TestReconcile_OfAStableGroupChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.group("shop", on, waits("db"), step("web", "gone"))
	delete(w.vms, "gone")
	w.settle()
	w.now = w.now.Add(time.Hour)
	g := w.groups["shop"]
	status, until := decide(g, w.findVM, w.findGroup, w.now)
	if diff := cmp.Diff(&g.Status, status); diff != "" || !until.IsZero() {
		t.Errorf("again at %s, and the status changes (-before +after):\n%s", until, diff)
	}
}

func TestGroup_OfMaximumSizeFitsIntoAnObject(t *testing.T) {
	w := newWorld(t)
	var steps []vmv1alpha1.VirtualMachineGroupStep
	for i := range 64 {
		var names []string
		for j := range vmv1alpha1.MaxGroupMembers / 64 {
			names = append(names, fmt.Sprintf("%0253d", i*1000+j))
		}
		steps = append(steps, waits(names...))
	}
	w.group("shop", on, steps...)
	w.settle()
	if n := w.groups["shop"].Size(); n > 1<<20 {
		t.Errorf("it has %d bytes", n)
	}
	if is, message := w.conditionOf("shop", vmv1alpha1.ConditionReady); is != "True Succeeded" {
		t.Errorf("Ready is %s: %s", is, message)
	}
}
