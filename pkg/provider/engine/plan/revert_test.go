// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

func (fakeMachine) Revert(driver.Identity, provider.RevertTarget) driver.Operation {
	return driver.Operation{Kind: driver.KindRevert}
}

func (fakeMachine) DropSnapshotRecord() driver.Operation {
	return driver.Operation{Kind: driver.KindReconfigure, Detail: "drop"}
}

// The next action follows from the spec, the status, and the snapshot record in the virtual machine. The cases include
// every state after a process was killed between two steps of a revert.
func TestRevert_ContinuesAfterAnInterruption(t *testing.T) {
	const none, reverting, done, failed = "", "False Reverting", "True Succeeded", "False Error"
	failure := Outcomes{{Kind: driver.KindRevert, Fingerprint: Fingerprint(driver.Operation{Kind: driver.KindRevert, Detail: "a"}), Err: errors.New("no space"), Next: now.Add(time.Minute)}}
	for name, tc := range map[string]struct {
		// asked is the name in spec, target is the UID of the snapshot if it is ready, and recordUID is the UID of the
		// snapshot record in the virtual machine.
		requested, target, recordUID string
		status                       string
		last                         Outcomes
		attached                     bool
		trouble                      string
		// want is the operation, "restores" or "nothing", with the condition.
		want string
	}{
		"no revert requested":                               {"", "", "", none, nil, false, "", "nothing"},
		"requested":                                         {"s", "a", "", none, nil, false, "", "revert to a snapshot, False Reverting"},
		"killed before the request to vSphere":              {"s", "a", "", reverting, nil, false, "", "revert to a snapshot, False Reverting"},
		"killed before the status update":                   {"s", "a", "a", none, nil, false, "", "restores, False Reverting"},
		"killed before the object was restored":             {"s", "a", "a", reverting, nil, false, "", "restores, False Reverting"},
		"… and no longer requested":                         {"", "", "a", reverting, nil, false, "", "restores, False Reverting"},
		"… and the snapshot is no longer ready":             {"s", "", "a", reverting, nil, false, "", "restores, False Reverting"},
		"killed before the status update after the restore": {"", "", "a", reverting, nil, false, "", "restores, False Reverting"},
		"killed before the record was removed":              {"", "", "a", done, nil, false, "", "reconfigure"},
		"completed":                                         {"", "", "", done, nil, false, "", "nothing"},
		"another snapshot requested in the meantime":        {"t", "b", "a", reverting, nil, false, "", "revert to a snapshot, False Reverting"},
		"reverted in vSphere by an administrator":           {"", "", "a", none, nil, false, "", "reconfigure"},
		"a snapshot that a killed process created":          {"", "", "a", none, nil, false, "", "reconfigure"},
		"the requested snapshot does not exist":             {"s", "", "", failed, nil, false, "", "nothing"},
		"a missing snapshot is no longer requested":         {"", "", "", failed, nil, false, "", "nothing, withdrawn"},
		"a recent failure":                                  {"s", "a", "", reverting, failure, false, "", "again in 1m0s, False Error"},
		"a recent failure of another revert":                {"s", "b", "", reverting, failure, false, "", "revert to a snapshot, False Reverting"},
		"the virtual machine has a disk of a claim":         {"s", "a", "", none, nil, true, "", "nothing, False Invalid"},
		"its host does not respond":                         {"s", "a", "a", reverting, nil, false, "no host", "nothing"},
		"the record of a removed snapshot":                  {"", "", "removed", done, nil, false, "", "reconfigure"},
		"requested again after completion":                  {"s", "a", "", done, nil, false, "", "revert to a snapshot, False Reverting"},
	} {
		t.Run(name, func(t *testing.T) {
			got := revertOf(t, tc.requested, tc.target, tc.recordUID, tc.status, tc.last, tc.attached, tc.trouble)
			if got != tc.want {
				t.Errorf("%s; want %s", got, tc.want)
			}
		})
	}
}

// revertOf returns the operation that the revert step plans, and the condition that it sets.
func revertOf(t *testing.T, requested, target, recordUID, status string, last Outcomes, attached bool, trouble string) string {
	t.Helper()
	vm := &vmv1alpha1.VirtualMachine{}
	vm.Spec.CurrentSnapshotName = requested
	if status != "" {
		c := metav1.Condition{Type: vmv1alpha1.ConditionSnapshotSynced, Status: "False", Reason: status[len("False "):]}
		if status == "True Succeeded" {
			c.Status, c.Reason = "True", vmv1alpha1.ReasonSucceeded
		}
		meta.SetStatusCondition(&vm.Status.Conditions, c)
	}
	in := Input{VM: vm, Want: &driver.Desired{}, Machine: fakeMachine{}, Last: last, Now: now}
	in.Observation.Readable, in.Observation.Trouble = true, trouble
	if target != "" {
		in.Want.Revert = &provider.RevertTarget{Name: requested, UID: types.UID(target)}
	}
	if recordUID != "" {
		in.Observation.StoredSnapshot = &provider.StoredSnapshotRecord{UID: types.UID(recordUID)}
	}
	if attached {
		in.Observation.RetainedDisks = []string{"disk"}
	}
	var p Plan
	got, err := "nothing", reconcileRevert(&in, &p)
	switch after, again := provider.AsRequeue(err); {
	case again:
		got = "again in " + after.String()
	case err != nil:
		t.Fatal(err)
	case p.Reverted != nil:
		got = "restores"
	case p.Operation != nil:
		got = string(p.Operation.Kind)
	}
	if c := meta.FindStatusCondition(p.Conditions, vmv1alpha1.ConditionSnapshotSynced); c != nil {
		got += ", " + string(c.Status) + " " + c.Reason
	}
	if len(p.Withdrawn) > 0 {
		got += ", withdrawn"
	}
	return got
}

func TestRevert_PreventsOtherOperations(t *testing.T) {
	for name, change := range map[string]func(*Input){
		"vSphere has not reverted yet": func(in *Input) {},
		"the object is not restored yet": func(in *Input) {
			in.Observation.StoredSnapshot = &provider.StoredSnapshotRecord{UID: "a"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := runningMachine(func(in *Input) {
				in.VM.Spec.CurrentSnapshotName, in.VM.Spec.PowerState = "s", vmv1alpha1.PoweredOff
				in.Want.Revert = &provider.RevertTarget{Name: "s", UID: "a"}
				in.Machine = fakeMachine{differs: []driver.Difference{{Path: "cpu.sockets", Live: true}}}
			}, change)
			p, err := Make(in)
			if err != nil {
				t.Fatal(err)
			}
			if p.Operation != nil && p.Operation.Kind != driver.KindRevert || p.Operation == nil && p.Reverted == nil {
				t.Errorf("operation %v, restores %v; want only the revert", p.Operation, p.Reverted)
			}
			if p.Compared {
				t.Error("the virtual machine was compared with a spec that is about to be replaced")
			}
		})
	}
}
