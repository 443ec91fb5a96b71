// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

func TestPower_CallsTheSubresourceForEveryName(t *testing.T) {
	for _, verb := range []string{"start", "stop", "restart", "suspend"} {
		t.Run(verb, func(t *testing.T) {
			s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "a"), clitest.Machine("dev", "b")}}
			code, out, errOut := run(t, s, verb, "a", "b")
			if code != 0 || errOut != "" {
				t.Fatalf("exit code %d, standard error %q", code, errOut)
			}
			if got := strings.Count(out, "\n"); got != 2 {
				t.Errorf("printed %d lines, want one for each of 2 VMs:\n%s", got, out)
			}
			for i, name := range []string{"a", "b"} {
				want := clitest.APIPrefix + "dev/virtualmachines/" + name + "/" + verb
				if i >= len(s.Requests) || !strings.HasPrefix(s.Requests[i], want+" ") {
					t.Errorf("requests %q, want number %d to be POST %s", s.Requests, i, want)
				}
			}
		})
	}
}

func TestPower_SendsModeAndDryRun(t *testing.T) {
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "a")}}
	code, out, errOut := run(t, s, "stop", "a", "--mode", "Hard", "--dry-run")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	if diff := cmp.Diff("virtualmachine dev/a will be powered off (dry run)\n", out); diff != "" {
		t.Error(diff)
	}
	if len(s.Requests) != 1 || !strings.Contains(s.Requests[0], "dryRun=All") || !strings.Contains(s.Requests[0], "Hard") {
		t.Errorf("requests %q, want dryRun=All in the query and the mode in the body", s.Requests)
	}
}

func TestPower_StartReportsWhyTheVMIsNotPoweredOn(t *testing.T) {
	lost := clitest.Machine("dev", "a")
	lost.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionSynchronized, Status: metav1.ConditionFalse,
		Message: `its revision is not found; "virtctl -n dev refresh instancetype a" takes the newest generation`}}
	for verb, want := range map[string]string{
		"start": "warning: virtualmachine dev/a cannot be powered on until this is resolved: " + lost.Status.Conditions[0].Message + "\n",
		"stop":  "",
	} {
		if _, _, errOut := run(t, &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{lost}}, verb, "a"); errOut != want {
			t.Errorf("%s: standard error %q, want %q", verb, errOut, want)
		}
	}
}

func TestPower_WarnsAboutARejectedConfiguration(t *testing.T) {
	refused := func(reason string, change func(*vmv1alpha1.VirtualMachine)) vmv1alpha1.VirtualMachine {
		vm := clitest.Machine("dev", "a")
		vm.Status.PowerState, vm.Status.FirstStartTime = vmv1alpha1.PoweredOff, ptr.To(clitest.Before(time.Hour))
		vm.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionConfigurationSynced, Status: metav1.ConditionFalse, Reason: reason, Message: "volumes[d]: no slot"}}
		change(&vm)
		return vm
	}
	as := func(*vmv1alpha1.VirtualMachine) {}
	const warning = "warning: virtualmachine dev/a: part of its configuration is rejected, "
	const runs, waits = warning + "and it keeps running with its current configuration: volumes[d]: no slot\n", warning + "and it cannot be powered on for the first time until this is corrected: volumes[d]: no slot\n"
	for name, tc := range map[string]struct {
		verb string
		vm   vmv1alpha1.VirtualMachine
		want string
	}{
		"start":              {"start", refused(vmv1alpha1.ReasonInvalid, as), runs},
		"start, not allowed": {"start", refused(vmv1alpha1.ReasonNotAllowed, as), runs},
		"restart":            {"restart", refused(vmv1alpha1.ReasonInvalid, as), runs},
		"suspend":            {"suspend", refused(vmv1alpha1.ReasonInvalid, as), runs},
		"stop":               {"stop", refused(vmv1alpha1.ReasonInvalid, as), ""},
		"never ran":          {"start", refused(vmv1alpha1.ReasonInvalid, func(vm *vmv1alpha1.VirtualMachine) { vm.Status.FirstStartTime = nil }), waits},
		"is being changed":   {"start", refused(vmv1alpha1.ReasonInProgress, as), ""},
		"network is missing": {"restart", refused(vmv1alpha1.ReasonWaitingForPrerequisites, as), ""},
		"network is refused": {"restart", refused(vmv1alpha1.ReasonWaitingForPrerequisites, func(vm *vmv1alpha1.VirtualMachine) {
			vm.Status.Conditions = append(vm.Status.Conditions, metav1.Condition{Type: vmv1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonNotAllowed, Message: "volumes[d]: no slot"})
		}), runs},
	} {
		if _, _, errOut := run(t, &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{tc.vm}}, tc.verb, "a"); errOut != tc.want {
			t.Errorf("%s: standard error %q, want %q", name, errOut, tc.want)
		}
	}
}

func TestPower_TriesEveryNameAndPrintsOneLinePerFailure(t *testing.T) {
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "b")}}
	code, out, errOut := run(t, s, "start", "missing", "b")
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if diff := cmp.Diff("error: virtualmachine dev/missing: not found\n", errOut); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("virtualmachine dev/b will be powered on\n", out); diff != "" {
		t.Error(diff)
	}
}

func TestPower_SelectsByNamesOrSelector(t *testing.T) {
	vms := []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "a"), clitest.Machine("prod", "b")}
	for name, tc := range map[string]struct {
		args      []string
		code      int
		out, fail string
	}{
		"selector in the namespace":     {[]string{"start", "-l", "app=web"}, 0, "virtualmachine dev/a will be powered on\n", ""},
		"selector in all namespaces":    {[]string{"start", "-A", "-l", "app=web"}, 0, "virtualmachine dev/a will be powered on\nvirtualmachine prod/b will be powered on\n", ""},
		"selector that matches nothing": {[]string{"start", "-l", "app=none"}, 0, "", "No virtual machines match selector \"app=none\".\n"},
		"nothing given":                 {[]string{"start"}, 1, "", "error: no virtual machine specified: give one or more names, or use --selector\n"},
		"names and selector":            {[]string{"start", "a", "-l", "app=web"}, 1, "", "error: names and --selector are mutually exclusive: got 1 name(s) and selector \"app=web\"\n"},
		"names in all namespaces":       {[]string{"start", "a", "-A"}, 1, "", "error: --all-namespaces requires --selector and cannot be combined with names\n"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := run(t, &clitest.APIServer{VMs: vms}, tc.args...)
			if diff := cmp.Diff([]any{tc.code, tc.out, tc.fail}, []any{code, out, errOut}); diff != "" {
				t.Error(diff)
			}
		})
	}
}
