// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

func TestSnapshotSaysWhatIsWrongWithItsFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"accepts between 1 and 2 arg(s), received 0": {"snapshot", "create"},
		"--keep: 0: must be 1 or more":               {"snapshot", "create", "web", "--keep", "0"},
		`--quiesce: "1m": must be a duration`:        {"snapshot", "create", "web", "--quiesce=1m"},
		`--quiesce: "soon": must be a duration`:      {"snapshot", "create", "web", "--quiesce=soon"},
		"accepts 2 arg(s), received 1":               {"snapshot", "revert", "web"},
		"requires at least 1 arg(s)":                 {"snapshot", "delete"},
	} {
		s := &clitest.APIServer{}
		if code, _, errOut := run(t, s, args...); code == 0 || !strings.Contains(errOut, want) || len(s.Requests) != 0 {
			t.Errorf("%v: code %d, %q, requests %v; want none and %q", args, code, errOut, s.Requests, want)
		}
	}
}

func TestTheOldestAreSuperfluousAndOnlyThoseThatAreReadyCount(t *testing.T) {
	made := func(name string, age int, change ...func(*vmv1alpha1.VirtualMachineSnapshot)) vmv1alpha1.VirtualMachineSnapshot {
		s := vmv1alpha1.VirtualMachineSnapshot{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Unix(int64(1000-age), 0))}}
		s.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
		for _, f := range change {
			f(&s)
		}
		return s
	}
	failed := func(s *vmv1alpha1.VirtualMachineSnapshot) { s.Status.Conditions[0].Status = metav1.ConditionFalse }
	deleted := func(s *vmv1alpha1.VirtualMachineSnapshot) { s.DeletionTimestamp = &metav1.Time{} }
	all := []vmv1alpha1.VirtualMachineSnapshot{made("b", 3), made("new", 1), made("a", 3), made("failed", 9, failed), made("gone", 8, deleted), made("c", 2)}
	for keep, want := range map[int][]string{1: {"a", "b", "c"}, 3: {"a"}, 4: nil, 9: nil} {
		var got []string
		for _, s := range superfluous(all, keep) {
			got = append(got, s.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with %d kept (-want +got):\n%s", keep, diff)
		}
	}
}

func TestTheTreeShowsWhatFollowsWhat(t *testing.T) {
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}}
	var out strings.Builder
	if err := printTree(&out, vm); err != nil || out.String() != "virtualmachine ns/web has no snapshots\n" {
		t.Errorf("%v, %q", err, out.String())
	}
	vm.Status.Snapshots = []vmv1alpha1.VirtualMachineSnapshotNode{
		{UniqueID: "snapshot-1", Name: "one", SnapshotName: "one"}, {UniqueID: "snapshot-2", Name: "by hand", Parent: "snapshot-1"},
	}
	out.Reset()
	if err := printTree(&out, vm); err != nil || !strings.Contains(out.String(), "\n  by hand   <not of an object>") {
		t.Errorf("%v,\n%s", err, out.String())
	}
}
