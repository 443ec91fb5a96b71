// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/refresh"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

func TestRefresh_PrintsGenerationsAndChangesAsATable(t *testing.T) {
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "a")}, Refresh: clitest.Refreshed}
	code, out, errOut := run(t, s, "refresh", "instancetype", "a")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	want := "" +
		"NAMESPACE   VM   SOURCE     GENERATION   RESULT      CHANGES\n" +
		"dev         a    u1.small   1 → 2        refreshed   memory.guest: 2Gi → 4Gi, cpu.cores: unset → 2 (restart), nodeSelector: unset → a=b (no effect)\n"
	if diff := cmp.Diff(want, out); diff != "" {
		t.Error(diff)
	}
	if len(s.Requests) != 1 || !strings.Contains(s.Requests[0], "/a/refresh-instancetype ") {
		t.Errorf("requests %q, want one to refresh-instancetype", s.Requests)
	}
}

func TestRefresh_WaitEndsWhenTheSameReferenceIsPinned(t *testing.T) {
	it := func(revision string) vmv1alpha1.VirtualMachineStatus {
		return vmv1alpha1.VirtualMachineStatus{InstancetypeRef: &vmv1alpha1.InstancetypeRef{ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: revision}}}
	}
	for name, tc := range map[string]struct {
		kind, old string
		status    vmv1alpha1.VirtualMachineStatus
		want      bool
	}{
		"nothing captured":                       {"virtualmachineinstancetype", "a-1", vmv1alpha1.VirtualMachineStatus{InstancetypeRef: &vmv1alpha1.InstancetypeRef{}}, false},
		"the announced revision":                 {"virtualmachineinstancetype", "a-1", it("a-2"), true},
		"the announced one, which was lost":      {"virtualmachineinstancetype", "a-2", it("a-2"), true},
		"a newer one, of a later edit":           {"virtualmachineclusterinstancetype", "a-1", it("a-3"), true},
		"the old one, which was pinned again":    {"virtualmachineinstancetype", "a-1", it("a-1"), false},
		"the instance type, for the preference":  {"virtualmachineclusterpreference", "a-1", it("a-2"), false},
		"no reference, since it was taken out":   {"virtualmachineinstancetype", "a-1", vmv1alpha1.VirtualMachineStatus{}, false},
		"no preference, since it was taken out ": {"virtualmachinepreference", "a-1", it("a-3"), false},
	} {
		vm := clitest.Machine("dev", "a")
		vm.Status = tc.status
		s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{vm}, Refresh: vmv1alpha1.RefreshResult{SourceKind: tc.kind, OldRevision: tc.old, NewRevision: "a-2", Changed: true}}
		synctest.Test(t, func(t *testing.T) {
			code, _, errOut := clitest.RunInBubble(t.Context(), t, s, "refresh", "instancetype", "a", "--wait", "--timeout=1s")
			if (code == 0) != tc.want || !tc.want && !strings.Contains(errOut, `revision "a-2" yet (--timeout 1s)`) {
				t.Errorf("%s: exit code %d, %q; want it captured: %t", name, code, errOut, tc.want)
			}
		})
	}
}

func TestRefresh_WaitTimeoutReportsTheReason(t *testing.T) {
	vm := &vmv1alpha1.VirtualMachine{Status: vmv1alpha1.VirtualMachineStatus{Conditions: []metav1.Condition{
		{Type: vmv1alpha1.ConditionSynchronized, Status: metav1.ConditionFalse, Message: "finding the preference: gone"},
	}}}
	if got := refresh.Unsynchronized(vm); got != ": finding the preference: gone" {
		t.Errorf("it says %q", got)
	}
	vm.Status.Conditions[0].Status = metav1.ConditionTrue
	if got := refresh.Unsynchronized(vm) + refresh.Unsynchronized(nil); got != "" {
		t.Errorf("nothing is missing, and it says %q", got)
	}
}

func TestRefresh_OfAPreferenceUsesItsOwnSubresource(t *testing.T) {
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "a")}}
	code, out, _ := run(t, s, "refresh", "preference", "a", "--dry-run")
	if code != 0 || !strings.Contains(out, "up to date") {
		t.Errorf("exit code %d, output %q, want 0 and up to date", code, out)
	}
	if len(s.Requests) != 1 || !strings.Contains(s.Requests[0], "/a/refresh-preference?dryRun=All ") {
		t.Errorf("requests %q, want one dry run of refresh-preference", s.Requests)
	}
}

func TestRefresh_PrintsOneObjectOrAListForScripts(t *testing.T) {
	vms := []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "a"), clitest.Machine("dev", "b")}
	for name, tc := range map[string]struct {
		names []string
		kind  string
	}{
		"one VM":  {[]string{"a"}, "RefreshResult"},
		"two VMs": {[]string{"a", "b"}, "List"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := run(t, &clitest.APIServer{VMs: vms, Refresh: clitest.Refreshed}, append([]string{"refresh", "instancetype", "-o", "json"}, tc.names...)...)
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, errOut)
			}
			var got struct {
				Kind  string
				Items []any
			}
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatalf("output is no JSON: %v\n%s", err, out)
			}
			if got.Kind != tc.kind {
				t.Errorf("kind %q, want %q", got.Kind, tc.kind)
			}
		})
	}
}

func TestRefresh_WaitsUntilStatusHasTheNewRevision(t *testing.T) {
	vm := clitest.Machine("dev", "a")
	vm.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "a-2"}}
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{vm}, Refresh: clitest.Refreshed}
	if code, _, errOut := run(t, s, "refresh", "instancetype", "a", "--wait"); code != 0 {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	s.VMs[0].Status.InstancetypeRef.ControllerRevisionRef.Name = "a-1"
	code, _, errOut := run(t, s, "refresh", "instancetype", "a", "--wait", "--timeout=1ms")
	if want := "error: virtualmachine dev/a: status does not have revision \"a-2\" yet (--timeout 1ms): "; code != 3 || !strings.Contains(errOut, want) {
		t.Errorf("exit code %d, error %q, want 3 and %q", code, errOut, want)
	}
	if code, _, errOut := run(t, s, "refresh", "instancetype", "a", "--wait", "--dry-run"); code != 1 || !strings.Contains(errOut, "--wait and --dry-run are mutually exclusive") {
		t.Errorf("--wait with --dry-run: exit code %d, error %q", code, errOut)
	}
}

// lateCapture serves a VM whose status names a revision after some time.
type lateCapture struct {
	*clitest.APIServer
	after time.Time
}

func (s lateCapture) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if time.Now().After(s.after) {
		s.VMs[0].Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "a-2"}}
	}
	s.APIServer.ServeHTTP(w, r)
}

func TestRefresh_WaitsForAllVMsTogether(t *testing.T) {
	const machines = 20
	synctest.Test(t, func(t *testing.T) {
		s := &clitest.APIServer{Refresh: clitest.Refreshed}
		for i := range machines {
			vm := clitest.Machine("dev", fmt.Sprintf("vm-%02d", i))
			if i > 0 { // the first is never refreshed
				vm.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "a-2"}}
			}
			s.VMs = append(s.VMs, vm)
		}
		begin := time.Now()
		code, out, errOut := clitest.RunInBubble(t.Context(), t, s, "refresh", "instancetype", "--all", "--wait", "--timeout=30s")
		if took := time.Since(begin); took > 32*time.Second {
			t.Errorf("it took %s, want the timeout once", took)
		}
		want := "virtualmachine dev/vm-00: waiting for revision \"a-2\" in its status\n" +
			"error: virtualmachine dev/vm-00: status does not have revision \"a-2\" yet (--timeout 30s): virtualmachine dev/vm-00: waiting for revision \"a-2\" in its status\n"
		if code != 3 || errOut != want || strings.Count(out, "refreshed") != machines {
			t.Errorf("exit code %d, errors %q, want 3 and %q; output:\n%s", code, errOut, want, out)
		}
	})
}

func TestRefresh_ReportsThePendingCondition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vm := clitest.Machine("dev", "a")
		vm.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionSynchronized, Status: metav1.ConditionFalse, Reason: "NotFound", Message: "instance type small is not found"}}
		s := lateCapture{&clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{vm}, Refresh: clitest.Refreshed}, time.Now().Add(10 * time.Second)}
		code, _, errOut := clitest.RunInBubble(t.Context(), t, s, "refresh", "instancetype", "a", "--wait", "--timeout=1m")
		if want := "virtualmachine dev/a: waiting for revision \"a-2\" in its status: instance type small is not found\n"; code != 0 || errOut != want {
			t.Errorf("exit code %d, it tells %q, want %q", code, errOut, want)
		}
	})
}

func TestRefresh_AcceptsNamesOrASelector(t *testing.T) {
	vms := []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "a"), clitest.Machine("dev", "b"), clitest.Machine("prod", "c")}
	for name, tc := range map[string]struct {
		args      []string
		code      int
		refreshed []string
		says      string
	}{
		"names":                      {[]string{"a", "b"}, 0, []string{"dev/virtualmachines/a", "dev/virtualmachines/b"}, ""},
		"selector":                   {[]string{"-l", "app=web"}, 0, []string{"dev/virtualmachines/a", "dev/virtualmachines/b"}, ""},
		"all namespaces":             {[]string{"-A", "-l", "app=web"}, 0, []string{"dev/virtualmachines/a", "dev/virtualmachines/b", "prod/virtualmachines/c"}, ""},
		"one of them fails":          {[]string{"missing", "b"}, 1, []string{"dev/virtualmachines/missing", "dev/virtualmachines/b"}, "error: virtualmachine dev/missing: not found\n"},
		"a selector without match":   {[]string{"-l", "app=none"}, 0, nil, "No virtual machines match selector \"app=none\".\n"},
		"all":                        {[]string{"--all"}, 0, []string{"dev/virtualmachines/a", "dev/virtualmachines/b"}, ""},
		"all of all namespaces":      {[]string{"-A", "--all"}, 0, []string{"dev/virtualmachines/a", "dev/virtualmachines/b", "prod/virtualmachines/c"}, ""},
		"all and names":              {[]string{"--all", "a"}, 1, nil, "error: --all cannot be combined with names or --selector\n"},
		"neither names nor selector": {nil, 1, nil, "error: no virtual machine specified: give one or more names, or use --selector\n"},
	} {
		for _, program := range []string{"virtctl", "kubectl-virt"} {
			t.Run(program+" with "+name, func(t *testing.T) {
				s := &clitest.APIServer{VMs: vms, Refresh: clitest.Refreshed}
				code, _, errOut := runAs(t, program, "", s, append([]string{"refresh", "instancetype"}, tc.args...)...)
				if code != tc.code || errOut != tc.says {
					t.Errorf("exit code %d, error %q, want %d and %q", code, errOut, tc.code, tc.says)
				}
				var got []string
				for _, request := range s.Requests {
					path, _, _ := strings.Cut(strings.TrimPrefix(request, clitest.APIPrefix), "/refresh-instancetype")
					got = append(got, path)
				}
				if diff := cmp.Diff(tc.refreshed, got); diff != "" {
					t.Errorf("refreshed (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestRefresh_ToAnotherSourceShowsBoth(t *testing.T) {
	const cluster, namespaced = "virtualmachineclusterinstancetype", "virtualmachineinstancetype"
	for name, tc := range map[string]struct {
		result vmv1alpha1.RefreshResult
		want   string
	}{
		"the same":       {vmv1alpha1.RefreshResult{SourceName: "big", SourceKind: cluster, OldSourceName: "big", OldSourceKind: cluster, OldGeneration: 1, NewGeneration: 2}, "big 1 → 2 "},
		"another name":   {vmv1alpha1.RefreshResult{SourceName: "big", SourceKind: cluster, OldSourceName: "small", OldSourceKind: cluster, OldGeneration: 2, NewGeneration: 1}, "small → big 1 "},
		"another kind":   {vmv1alpha1.RefreshResult{SourceName: "big", SourceKind: namespaced, OldSourceName: "big", OldSourceKind: cluster, OldGeneration: 2, NewGeneration: 1}, cluster + "/big → " + namespaced + "/big 1 "},
		"nothing in use": {vmv1alpha1.RefreshResult{SourceName: "big", SourceKind: cluster, NewGeneration: 1}, "big 1 "},
	} {
		t.Run(name, func(t *testing.T) {
			s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "a")}, Refresh: tc.result}
			_, out, errOut := run(t, s, "refresh", "instancetype", "a")
			if got := strings.Join(strings.Fields(out), " "); !strings.Contains(got, "dev a "+tc.want) {
				t.Errorf("printed %q%s, want %q in it", got, errOut, tc.want)
			}
		})
	}
}
