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

func (inert) Revert(driver.Identity, provider.RevertTarget) driver.Operation {
	return driver.Operation{Kind: driver.KindRevert}
}

func (inert) DropKept() driver.Operation {
	return driver.Operation{Kind: driver.KindReconfigure, Detail: "drop"}
}

// What happens next to a virtual machine follows from what it is asked for, what its status
// says, and which record vSphere has in it: each state that a process may leave behind when it
// is killed between two steps of a revert is one of these.
func TestRevert_ContinuesAfterAnInterruption(t *testing.T) {
	const none, reverting, done, failed = "", "False Reverting", "True Succeeded", "False Error"
	failure := Outcomes{{Kind: driver.KindRevert, Fingerprint: Fingerprint(driver.Operation{Kind: driver.KindRevert, Detail: "a"}), Err: errors.New("no space"), Next: now.Add(time.Minute)}}
	for name, tc := range map[string]struct {
		// asked is the name in spec, target the UID of the snapshot if it is ready, kept that of
		// the record in the virtual machine.
		asked, target, kept string
		status              string
		last                Outcomes
		attached            bool
		trouble             string
		// want is the operation, restores or nothing, with the condition that is set.
		want string
	}{
		"nothing is asked for":                            {"", "", "", none, nil, false, "", "nothing"},
		"asked for":                                       {"s", "a", "", none, nil, false, "", "revert to a snapshot, False Reverting"},
		"killed before vSphere was asked":                 {"s", "a", "", reverting, nil, false, "", "revert to a snapshot, False Reverting"},
		"killed before status said so":                    {"s", "a", "a", none, nil, false, "", "restores, False Reverting"},
		"killed before the object was restored":           {"s", "a", "a", reverting, nil, false, "", "restores, False Reverting"},
		"… and nobody asks any more":                      {"", "", "a", reverting, nil, false, "", "restores, False Reverting"},
		"… and the snapshot is not ready any more":        {"s", "", "a", reverting, nil, false, "", "restores, False Reverting"},
		"killed before status says that it is restored":   {"", "", "a", reverting, nil, false, "", "restores, False Reverting"},
		"killed before the record was removed":            {"", "", "a", done, nil, false, "", "reconfigure"},
		"all is done":                                     {"", "", "", done, nil, false, "", "nothing"},
		"another snapshot is asked for meanwhile":         {"t", "b", "a", reverting, nil, false, "", "revert to a snapshot, False Reverting"},
		"reverted in vSphere by an administrator":         {"", "", "a", none, nil, false, "", "reconfigure"},
		"a snapshot that was taken by a killed process":   {"", "", "a", none, nil, false, "", "reconfigure"},
		"asked for what is not there":                     {"s", "", "", failed, nil, false, "", "nothing"},
		"no longer asked for what was not there":          {"", "", "", failed, nil, false, "", "nothing, withdrawn"},
		"it has failed a moment ago":                      {"s", "a", "", reverting, failure, false, "", "again in 1m0s, False Error"},
		"another one has failed a moment ago":             {"s", "b", "", reverting, failure, false, "", "revert to a snapshot, False Reverting"},
		"the virtual machine has a disk of a claim":       {"s", "a", "", none, nil, true, "", "nothing, False Invalid"},
		"its host does not answer":                        {"s", "a", "a", reverting, nil, false, "no host", "nothing"},
		"the record of one that was removed in between":   {"", "", "gone", done, nil, false, "", "reconfigure"},
		"asked for again although it is what it was then": {"s", "a", "", done, nil, false, "", "revert to a snapshot, False Reverting"},
	} {
		t.Run(name, func(t *testing.T) {
			got := revertOf(t, tc.asked, tc.target, tc.kept, tc.status, tc.last, tc.attached, tc.trouble)
			if got != tc.want {
				t.Errorf("%s; want %s", got, tc.want)
			}
		})
	}
}

// revertOf is what the step plans, and the condition that it sets.
func revertOf(t *testing.T, asked, target, kept, status string, last Outcomes, attached bool, trouble string) string {
	t.Helper()
	vm := &vmv1alpha1.VirtualMachine{}
	vm.Spec.CurrentSnapshotName = asked
	if status != "" {
		c := metav1.Condition{Type: vmv1alpha1.ConditionSnapshotSynced, Status: "False", Reason: status[len("False "):]}
		if status == "True Succeeded" {
			c.Status, c.Reason = "True", vmv1alpha1.ReasonSucceeded
		}
		meta.SetStatusCondition(&vm.Status.Conditions, c)
	}
	in := Input{VM: vm, Want: &driver.Want{}, Machine: inert{}, Last: last, Now: now}
	in.Observation.Readable, in.Observation.Trouble = true, trouble
	if target != "" {
		in.Want.Revert = &provider.RevertTarget{Name: asked, UID: types.UID(target)}
	}
	if kept != "" {
		in.Observation.Kept = &provider.Kept{UID: types.UID(kept)}
	}
	if attached {
		in.Observation.Attached = []string{"disk"}
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
		"vSphere has yet to": func(in *Input) {},
		"its object has yet to": func(in *Input) {
			in.Observation.Kept = &provider.Kept{UID: "a"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := runningMachine(func(in *Input) {
				in.VM.Spec.CurrentSnapshotName, in.VM.Spec.PowerState = "s", vmv1alpha1.PoweredOff
				in.Want.Revert = &provider.RevertTarget{Name: "s", UID: "a"}
				in.Machine = inert{differs: []driver.Difference{{Path: "cpu.sockets", Live: true}}}
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
