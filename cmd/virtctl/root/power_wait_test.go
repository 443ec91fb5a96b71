// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/power"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

// powered is a VM with conditions of a generation.
func powered(generation int64, state vmv1alpha1.PowerState, conditions ...metav1.Condition) *vmv1alpha1.VirtualMachine {
	vm := clitest.Machine("dev", "a")
	vm.UID, vm.Generation = "uid", generation
	vm.Spec.PowerState, vm.Status.PowerState, vm.Status.PrintableStatus = vmv1alpha1.PoweredOn, state, "Starting"
	for _, c := range conditions {
		if c.ObservedGeneration == 0 {
			c.ObservedGeneration = generation
		}
		vm.Status.Conditions = append(vm.Status.Conditions, c)
	}
	return &vm
}

func TestPower_WaitEndsWhenTheStatusIsUpToDate(t *testing.T) {
	const on, off = vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOff
	powerIs := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: vmv1alpha1.ConditionPowerStateSynced, Status: status, Reason: reason, Message: message}
	}
	of := func(generation int64, c metav1.Condition) metav1.Condition {
		c.ObservedGeneration = generation
		return c
	}
	is := func(conditionType, message string) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Message: message}
	}
	synced := powerIs(metav1.ConditionTrue, "Succeeded", "")
	asked := powered(3, off)
	changed := func(vm *vmv1alpha1.VirtualMachine, change func(*vmv1alpha1.VirtualMachine)) *vmv1alpha1.VirtualMachine {
		change(vm)
		return vm
	}
	at := func(text string) *metav1.Time {
		when, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return &metav1.Time{Time: when}
	}
	restart := changed(powered(3, on), func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.NextRestartTime = "2026-01-02T03:04:05Z" })
	for name, tc := range map[string]struct {
		asked, vm    *vmv1alpha1.VirtualMachine
		ready        bool
		done         bool
		doing, fails string
	}{
		"no condition yet":                       {asked: asked, vm: powered(3, off), doing: "Starting"},
		"a condition of the previous generation": {asked: asked, vm: powered(3, off, of(2, synced)), doing: "Starting"},
		"a failure of the previous generation":   {asked: asked, vm: powered(3, off, of(2, powerIs(metav1.ConditionFalse, "Error", "no space")), of(2, is("Stalled", "x"))), doing: "Starting"},
		"it is powered on":                       {asked: asked, vm: powered(3, off, powerIs(metav1.ConditionFalse, "PoweringOn", "")), doing: "PoweringOn"},
		"it is held":                             {asked: asked, vm: powered(3, off, powerIs(metav1.ConditionFalse, "HeldByCheck", "power on is held by cmdb")), doing: "power on is held by cmdb"},
		"it is on":                               {asked: asked, vm: powered(3, on, synced), done: true, doing: "PoweredOn"},
		"it is on, of a later spec":              {asked: asked, vm: powered(4, on, synced), done: true, doing: "PoweredOn"},
		"it is on and not ready":                 {asked: asked, vm: powered(3, on, synced), ready: true, doing: "Starting"},
		"it is on and was ready":                 {asked: asked, vm: powered(3, on, synced, of(2, is("Ready", ""))), ready: true, doing: "Starting"},
		"it is on and ready":                     {asked: asked, vm: powered(3, on, synced, is("Ready", "")), ready: true, done: true, doing: "Ready"},
		"it failed":                              {asked: asked, vm: powered(3, off, powerIs(metav1.ConditionFalse, "Error", "no space")), fails: "no space; the server will retry"},
		"it cannot become so":                    {asked: asked, vm: powered(3, off, is("Stalled", "the class is not found")), fails: "Stalled: the class is not found"},
		"it is on, a part is refused":            {asked: asked, vm: powered(3, on, synced, is("Stalled", "volumes[d]: no slot")), done: true, doing: "PoweredOn"},
		"it starts, a part is refused":           {asked: asked, vm: powered(3, off, powerIs(metav1.ConditionFalse, "PoweringOn", ""), is("Stalled", "volumes[d]: no slot")), doing: "PoweringOn"},
		"it is left off":                         {asked: asked, vm: powered(3, off, powerIs(metav1.ConditionFalse, "GuestShutdown", "shut down"), is("Stalled", "PowerStateSynced is False: shut down")), fails: "Stalled: PowerStateSynced is False: shut down"},
		"it is left off, and its start is requested": {asked: asked, vm: changed(powered(3, off, powerIs(metav1.ConditionFalse, "GuestShutdown", "shut down"), is("Stalled", "PowerStateSynced is False: shut down")),
			func(vm *vmv1alpha1.VirtualMachine) {
				vm.Annotations = map[string]string{vmv1alpha1.AnnotationStartRequested: "2026-01-02T03:04:05Z"}
			}), doing: "shut down"},
		"it is paused":                 {asked: asked, vm: powered(3, off, is("Paused", "by annotation")), fails: "Paused: by annotation"},
		"another one has its name":     {asked: asked, vm: changed(powered(3, on, synced), func(vm *vmv1alpha1.VirtualMachine) { vm.UID = "another" }), fails: "it was deleted, and a new object has the same name"},
		"it is deleted":                {asked: asked, vm: changed(powered(3, on, synced), func(vm *vmv1alpha1.VirtualMachine) { vm.DeletionTimestamp = at("2026-01-02T03:04:05Z") }), fails: "being deleted"},
		"another client powers it off": {asked: asked, vm: changed(powered(4, on, synced), func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.PowerState = off }), fails: "a different power state: PoweredOff"},
		"it is yet to be restarted":    {asked: restart, vm: powered(3, on, synced), doing: "Restarting"},
		"it was restarted before":      {asked: restart, vm: changed(powered(3, on, synced), func(vm *vmv1alpha1.VirtualMachine) { vm.Status.LastRestartTime = at("2026-01-02T03:04:04Z") }), doing: "Restarting"},
		"it was restarted":             {asked: restart, vm: changed(powered(3, on, synced), func(vm *vmv1alpha1.VirtualMachine) { vm.Status.LastRestartTime = at("2026-01-02T03:04:05Z") }), done: true, doing: "PoweredOn"},
	} {
		t.Run(name, func(t *testing.T) {
			done, doing, err := power.Settled(tc.asked, tc.vm, tc.ready)
			if (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("error %v, want %q", err, tc.fails)
			}
			if diff := cmp.Diff([]any{tc.done, tc.doing}, []any{done, doing}); diff != "" {
				t.Errorf("done, doing (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPower_WaitReportsEachVMAndFailsWithTheConditionMessage(t *testing.T) {
	good := *powered(1, vmv1alpha1.PoweredOn, metav1.Condition{Type: vmv1alpha1.ConditionPowerStateSynced, Status: metav1.ConditionTrue})
	bad := *powered(1, vmv1alpha1.PoweredOff, metav1.Condition{Type: vmv1alpha1.ConditionPowerStateSynced, Status: metav1.ConditionFalse, Reason: "Error", Message: "no licence"})
	bad.Name = "b"
	code, out, errOut := run(t, &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{good, bad}}, "start", "a", "b", "--wait")
	want := []any{
		1, "virtualmachine dev/a will be powered on\nvirtualmachine dev/b will be powered on\nvirtualmachine dev/a is PoweredOn\n",
		"error: virtualmachine dev/b: no licence; the server will retry\n",
	}
	if diff := cmp.Diff(want, []any{code, out, errOut}); diff != "" {
		t.Error(diff)
	}
}

func TestPower_WaitTimeoutReportsPendingVMs(t *testing.T) {
	slow := *powered(1, vmv1alpha1.PoweredOff)
	code, out, errOut := run(t, &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{slow}}, "start", "a", "missing", "--wait", "--timeout", "1ms")
	if code != 3 || !strings.Contains(errOut, "\nerror: virtualmachine dev/a: not completed within --timeout 1ms; the server continues") ||
		!strings.HasPrefix(errOut, "error: virtualmachine dev/missing: not found\n") {
		t.Errorf("exit code %d, output %q, errors %q; want 3 and what it waited for", code, out, errOut)
	}
}

func TestPower_WaitRejectsInvalidFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"ready alone":      {[]string{"start", "a", "--ready"}, "error: --ready requires --wait\n"},
		"a dry run":        {[]string{"start", "a", "--wait", "--dry-run"}, "error: --wait and --dry-run are mutually exclusive\n"},
		"no time":          {[]string{"stop", "a", "--wait", "--timeout", "0s"}, "error: --timeout 0s: must be more than 0s\n"},
		"ready and a stop": {[]string{"stop", "a", "--wait", "--ready"}, "error: unknown flag: --ready\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "a")}}
			code, _, errOut := run(t, s, tc.args...)
			if code != 1 || errOut != tc.want || len(s.Requests) != 0 {
				t.Errorf("exit code %d, errors %q, requests %q; want 1, %q and none", code, errOut, s.Requests, tc.want)
			}
		})
	}
}
