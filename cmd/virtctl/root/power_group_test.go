// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/power"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

func TestPower_SetsThePowerStateOfGroups(t *testing.T) {
	const path = clitest.APIPrefix + "dev/virtualmachinegroups/shop"
	for name, tc := range map[string]struct {
		args      []string
		requests  []string
		out, fail string
		code      int
	}{
		"start":   {[]string{"start", "group/shop"}, []string{path + ` {"spec":{"powerState":"PoweredOn"}}`}, "virtualmachinegroup dev/shop will be powered on\n", "", 0},
		"stop":    {[]string{"stop", "vmgroup/shop"}, []string{path + ` {"spec":{"powerState":"PoweredOff"}}`}, "virtualmachinegroup dev/shop will be powered off\n", "", 0},
		"suspend": {[]string{"suspend", "virtualmachinegroup/shop"}, []string{path + ` {"spec":{"powerState":"Suspended"}}`}, "virtualmachinegroup dev/shop will be suspended\n", "", 0},
		"dry run": {[]string{"stop", "group/shop", "--dry-run"}, []string{path + `?dryRun=All {"spec":{"powerState":"PoweredOff"}}`},
			"virtualmachinegroup dev/shop will be powered off (dry run)\n", "", 0},
		"with a virtual machine": {[]string{"start", "a", "group/shop"}, []string{path + ` {"spec":{"powerState":"PoweredOn"}}`, clitest.APIPrefix + "dev/virtualmachines/a/start"},
			"virtualmachinegroup dev/shop will be powered on\nvirtualmachine dev/a will be powered on\n", "", 0},
		"one that is not there": {[]string{"stop", "group/none", "group/shop"},
			[]string{clitest.APIPrefix + `dev/virtualmachinegroups/none {"spec":{"powerState":"PoweredOff"}}`, path + ` {"spec":{"powerState":"PoweredOff"}}`},
			"virtualmachinegroup dev/shop will be powered off\n", "error: virtualmachinegroup dev/none: not found\n", 1},
		"restart": {[]string{"restart", "group/shop"}, nil, "", "error: \"group/shop\" is a group, which this command does not accept: specify its virtual machines; kubectl get vmgroup shop -o wide shows what the group is waiting for\n", 1},
		"a mode":  {[]string{"stop", "group/shop", "--mode", "Hard"}, nil, "", "error: --mode applies to virtual machines only: each member of a group has its own setting\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "a")}, Groups: []string{"shop"}}
			code, out, errOut := run(t, s, tc.args...)
			if diff := cmp.Diff([]any{tc.code, tc.out, tc.fail}, []any{code, out, errOut}); diff != "" {
				t.Errorf("code, output and errors (-want +got):\n%s", diff)
			}
			requests := s.Requests
			for i, r := range requests {
				if len(r) > len(tc.requests[i]) && tc.requests[i][len(tc.requests[i])-1] != '}' {
					requests[i] = r[:len(tc.requests[i])] // the body is that of a virtual machine
				}
			}
			if diff := cmp.Diff(tc.requests, requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPower_WaitForAGroupReportsItsConditions(t *testing.T) {
	condition := func(generation int64, kind, reason, message string) metav1.Condition {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: generation}
		if reason == "Succeeded" {
			c.Status = metav1.ConditionTrue
		}
		return c
	}
	group := func(state vmv1alpha1.PowerState, conditions ...metav1.Condition) *vmv1alpha1.VirtualMachineGroup {
		g := &vmv1alpha1.VirtualMachineGroup{ObjectMeta: metav1.ObjectMeta{UID: "uid", Generation: 3}}
		g.Spec.PowerState, g.Status.Conditions = state, conditions
		return g
	}
	const on, synced = vmv1alpha1.PoweredOn, vmv1alpha1.ConditionPowerStateSynced
	asked, another := group(on), group(on)
	another.UID = "another"
	for name, tc := range map[string]struct {
		now          *vmv1alpha1.VirtualMachineGroup
		ready        bool
		done         bool
		doing, fails string
	}{
		"no condition yet":      {now: group(on), doing: "waiting for the server"},
		"an outdated condition": {now: group(on, condition(2, synced, "Succeeded", "")), doing: "waiting for the server"},
		"a step waits":          {now: group(on, condition(3, synced, "WaitingForMembers", "step 2 of 3 waits")), doing: "step 2 of 3 waits"},
		"all are on":            {now: group(on, condition(3, synced, "Succeeded", "")), done: true, doing: "PoweredOn"},
		"all are on, one is not ready": {now: group(on, condition(3, synced, "Succeeded", ""), condition(3, vmv1alpha1.ConditionReady, "NotReady", "not Ready: db")),
			ready: true, doing: "not Ready: db"},
		"all are ready":            {now: group(on, condition(4, vmv1alpha1.ConditionReady, "Succeeded", "")), ready: true, done: true, doing: "Ready"},
		"another client stops it":  {now: group(vmv1alpha1.PoweredOff, condition(4, synced, "Succeeded", "")), fails: "a different power state: PoweredOff"},
		"another one has its name": {now: another, fails: "it was deleted, and a new object has the same name"},
	} {
		t.Run(name, func(t *testing.T) {
			done, doing, err := power.SettledGroup(asked, tc.now, tc.ready)
			if (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("error %v, want %q", err, tc.fails)
			}
			if diff := cmp.Diff([]any{tc.done, tc.doing}, []any{done, doing}); diff != "" {
				t.Errorf("done, doing (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPower_WaitsForGroupsAndVMsTogether(t *testing.T) {
	vm := *powered(1, vmv1alpha1.PoweredOn, metav1.Condition{Type: vmv1alpha1.ConditionPowerStateSynced, Status: metav1.ConditionTrue})
	code, out, errOut := run(t, &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{vm}, Groups: []string{"shop"}}, "start", "a", "group/shop", "--wait", "--timeout", "1ms")
	const asked = "virtualmachinegroup dev/shop will be powered on\nvirtualmachine dev/a will be powered on\n"
	const left = "error: virtualmachinegroup dev/shop: not completed within --timeout 1ms; the server continues"
	if code != 3 || !strings.HasPrefix(out, asked) || !strings.Contains(errOut, left) {
		t.Errorf("exit code %d, output %q, errors %q; want 3 and that the group is not done", code, out, errOut)
	}
}
