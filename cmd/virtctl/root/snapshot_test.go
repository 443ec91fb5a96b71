// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"io"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

func TestSnapshot_RejectsInvalidFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"accepts between 1 and 2 arg(s), received 0":         {"snapshot", "create"},
		"--keep 0: must be at least 1":                       {"snapshot", "create", "web", "--keep", "0"},
		`--quiesce "1m": must be a duration from 5m to 4h`:   {"snapshot", "create", "web", "--quiesce=1m"},
		`--quiesce "soon": must be a duration from 5m to 4h`: {"snapshot", "create", "web", "--quiesce=soon"},
		"accepts 2 arg(s), received 1":                       {"snapshot", "revert", "web"},
		"requires at least 1 arg(s)":                         {"snapshot", "delete"},
	} {
		s := &clitest.APIServer{}
		if code, _, errOut := run(t, s, args...); code == 0 || !strings.Contains(errOut, want) || len(s.Requests) != 0 {
			t.Errorf("%v: code %d, %q, requests %v; want none and %q", args, code, errOut, s.Requests, want)
		}
	}
}

func TestSnapshot_KeepDeletesTheOldestAndCountsOnlyReadyOnes(t *testing.T) {
	made := func(name string, age int, change ...func(*vmv1alpha1.VirtualMachineSnapshot)) vmv1alpha1.VirtualMachineSnapshot {
		s := vmv1alpha1.VirtualMachineSnapshot{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Unix(int64(1000-age), 0))}}
		s.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
		for _, f := range change {
			f(&s)
		}
		return s
	}
	failed := func(s *vmv1alpha1.VirtualMachineSnapshot) { s.Status.Conditions[0].Status = metav1.ConditionFalse }
	deleted := func(s *vmv1alpha1.VirtualMachineSnapshot) { s.DeletionTimestamp = &metav1.Time{Time: clitest.Noon} }
	all := []vmv1alpha1.VirtualMachineSnapshot{made("b", 3), made("new", 1), made("a", 3), made("failed", 9, failed), made("gone", 8, deleted), made("c", 2)}
	const snapshots = clitest.APIPrefix + "dev/virtualmachinesnapshots"
	for keep, want := range map[string][]string{"1": {"a", "b", "c"}, "3": {"a"}, "4": nil, "9": nil} {
		s := &snapshotServer{APIServer: clitest.APIServer{Answers: map[string]any{
			snapshots: vmv1alpha1.VirtualMachineSnapshotList{Items: all}, snapshots + "/new": made("new", 1),
		}}}
		if code, _, errOut := runAs(t, "virtctl", "", s, "snapshot", "create", "web", "new", "--keep", keep); code != 0 {
			t.Errorf("with %s kept: exit code %d, %s", keep, code, errOut)
		}
		if diff := cmp.Diff(want, s.deleted); diff != "" {
			t.Errorf("with %s kept (-want +got):\n%s", keep, diff)
		}
	}
}

// snapshotServer creates the snapshot new and records deletions.
type snapshotServer struct {
	clitest.APIServer
	deleted []string
}

func (s *snapshotServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/virtualmachinesnapshots"):
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"metadata":{"name":"new"}}`)
	case r.Method == http.MethodDelete:
		s.deleted = append(s.deleted, path.Base(r.URL.Path))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
	default:
		s.APIServer.ServeHTTP(w, r)
	}
}

func TestSnapshot_TreeShowsParents(t *testing.T) {
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{clitest.Machine("ns", "web")}}
	if code, out, errOut := run(t, s, "-n", "ns", "snapshot", "list", "web"); code != 0 || out != "virtualmachine ns/web has no snapshots\n" {
		t.Errorf("exit code %d, %q%s", code, out, errOut)
	}
	s.VMs[0].Status.Snapshots = []vmv1alpha1.VirtualMachineSnapshotNode{
		{UniqueID: "snapshot-1", Name: "one", SnapshotName: "one"}, {UniqueID: "snapshot-2", Name: "by hand", Parent: "snapshot-1"},
	}
	if code, out, errOut := run(t, s, "-n", "ns", "snapshot", "list", "web"); code != 0 || !strings.Contains(out, "\n  by hand   <no object>") {
		t.Errorf("exit code %d, %s\n%s", code, errOut, out)
	}
}

func TestSnapshot_DeleteEndsWithTheResult(t *testing.T) {
	s := &snapshotServer{}
	const want = "virtualmachinesnapshot dev/old will be deleted\nvirtualmachinesnapshot dev/old is deleted\n"
	if code, out, errOut := runAs(t, "virtctl", "", s, "snapshot", "delete", "old", "--wait"); code != 0 || out != want {
		t.Errorf("exit code %d, %q, %s; want %q", code, out, errOut, want)
	}
}

// The controller writes the VM at the same time: a request that names a resource version would conflict.
func TestSnapshotRevert_PatchesOneFieldOfAnyVersion(t *testing.T) {
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "web")}}
	code, out, errOut := run(t, s, "snapshot", "revert", "web", "before")
	if code != 0 || out != "virtualmachine dev/web will be reverted to before\n" {
		t.Errorf("exit code %d, %q, %q", code, out, errOut)
	}
	want := []string{clitest.APIPrefix + `dev/virtualmachines/web {"spec":{"currentSnapshotName":"before"}}`}
	if diff := cmp.Diff(want, s.Requests); diff != "" {
		t.Error(diff)
	}
}
