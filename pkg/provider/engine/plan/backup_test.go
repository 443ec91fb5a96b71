// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/api/meta"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// recordMachine is a fakeMachine with a stored record.
type recordMachine struct {
	fakeMachine
	text    string
	missing []driver.Difference
	// written receives the record to store.
	written *driver.Record
}

func (k recordMachine) StoreRecord(r driver.Record) driver.Difference {
	if k.written != nil {
		*k.written = r
	}
	return k.fakeMachine.StoreRecord(r)
}

func (k recordMachine) Record() string { return k.text }

func (k recordMachine) MissingMetadata(*driver.Desired, int) []driver.Difference {
	return slices.Clone(k.missing)
}

func (recordMachine) Configure(changes []driver.Difference) driver.Operation {
	return driver.Operation{Kind: driver.KindReconfigure, Changes: changes, Run: func(context.Context) error { return nil }}
}

// inputWithRecord returns the input for a running machine without differences that has a record of its object,
// generation 4.
func inputWithRecord(change func(*Input, *recordMachine)) Input {
	return runningMachine(func(in *Input) {
		in.VM.UID, in.VM.Generation, in.Owned = "u", 4, true
		in.VM.Spec.GroupName, in.Groups = "shop", groups(1)
		in.Observation.RecordHead = vmrecord.HeadOf(in.VM).WithGroups(in.Groups, vmrecord.Head{})
		text, err := vmrecord.Text(in.VM, nil, in.Groups, "")
		if err != nil {
			panic(err)
		}
		m := &recordMachine{text: text}
		change(in, m)
		in.Machine = m
	})
}

// groups returns the groups of a virtual machine: the group shop with the given delay between its steps.
func groups(delay int32) vmrecord.Groups {
	shop := &vmv1alpha1.VirtualMachineGroup{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	shop.Spec.BootOrder = []vmv1alpha1.VirtualMachineGroupStep{{Members: []vmv1alpha1.VirtualMachineGroupMember{{Name: "vm"}}, PowerOnDelaySeconds: delay}}
	return vmrecord.Namespace{
		Group:   func(string) *vmv1alpha1.VirtualMachineGroup { return shop },
		Machine: func(string) *vmv1alpha1.VirtualMachine { return nil },
	}.GroupsOf(&vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Name: "vm"}, Spec: vmv1alpha1.VirtualMachineSpec{GroupName: "shop"}})
}

// withChangedLabel changes a label at the given time after the record was written.
func withChangedLabel(after time.Duration, change func(*Input, *recordMachine)) func(*Input, *recordMachine) {
	return func(in *Input, k *recordMachine) {
		in.VM.Labels = map[string]string{"a": "b"}
		in.Recorded, in.RecordPause = in.Now.Add(-after), time.Minute
		if change != nil {
			change(in, k)
		}
	}
}

func TestMake_BackupAndSchemaUpgrade(t *testing.T) {
	live := driver.Difference{Path: "cpu.shares", Live: true}
	missing := driver.Difference{Path: "metadata.interfaces", Live: true, IsMetadata: true}
	newer := func(in *Input) { in.Observation.RecordHead.Generation = 9; in.VM.Spec.GuestID = "changed" }
	paused := func(in *Input) {
		in.VM.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionBackupUpToDate, Status: "False", Reason: vmv1alpha1.ReasonRecordNewer}}
	}
	for name, tc := range map[string]struct {
		change func(*Input, *recordMachine)
		want   string
	}{
		"schema upgrade: current schema":                          {func(*Input, *recordMachine) {}, " True Succeeded"},
		"schema upgrade: current schema, missing data is ignored": {func(_ *Input, k *recordMachine) { k.missing = []driver.Difference{missing} }, " True Succeeded"},
		"schema upgrade: older schema with missing data": {func(in *Input, k *recordMachine) {
			in.Observation.RecordHead.Schema, k.missing = 0, []driver.Difference{missing}
		}, "metadata.interfaces,metadata.record "},
		"schema upgrade: older schema without missing data": {func(in *Input, _ *recordMachine) { in.Observation.RecordHead.Schema = 0 }, " True Succeeded"},
		"backup: no record": {func(in *Input, _ *recordMachine) { in.Observation.RecordHead = vmrecord.Head{} }, "metadata.record "},
		"backup: record of another object": {func(in *Input, _ *recordMachine) {
			in.Observation.RecordHead.UID, in.Observation.RecordHead.Generation = "v", 9
		}, "metadata.record "},
		"backup: the object has changed":             {func(in *Input, _ *recordMachine) { in.VM.Generation = 5 }, "metadata.record "},
		"backup: labels have changed":                {func(in *Input, _ *recordMachine) { in.VM.Labels = map[string]string{"a": "b"} }, "metadata.record "},
		"backup: the group has changed":              {func(in *Input, _ *recordMachine) { in.Groups = groups(2) }, "metadata.record "},
		"backup: another VM stores the group now":    {func(in *Input, _ *recordMachine) { in.Groups = vmrecord.Groups{Known: true} }, "metadata.record "},
		"backup: the group is not known":             {func(in *Input, _ *recordMachine) { in.Groups = vmrecord.Groups{} }, " True Succeeded"},
		"backup: with other changes":                 {func(in *Input, k *recordMachine) { in.VM.Generation, k.differs = 5, []driver.Difference{live} }, "cpu.shares,metadata.record "},
		"backup: before a power change":              {func(in *Input, _ *recordMachine) { in.VM.Generation, in.VM.Spec.PowerState = 5, vmv1alpha1.PoweredOff }, "metadata.record "},
		"backup: the configuration is refused":       {func(in *Input, k *recordMachine) { in.VM.Generation, k.refuses = 5, true }, "metadata.record  ends"},
		"backup: without an effective spec":          {func(in *Input, _ *recordMachine) { in.VM.Generation, in.Want.Effective = 5, nil }, "metadata.record "},
		"backup: not for a machine without an owner": {func(in *Input, _ *recordMachine) { in.VM.Generation, in.Owned = 5, false }, " "},
		"backup: not for an unreachable machine":     {func(in *Input, _ *recordMachine) { in.VM.Generation, in.Observation.Trouble = 5, "disconnected" }, "  ends"},
		"backup: not for a suspended machine": {func(in *Input, _ *recordMachine) {
			in.VM.Generation, in.Observation.PowerState, in.VM.Spec.PowerState = 5, vmv1alpha1.Suspended, vmv1alpha1.Suspended
		}, " False Suspended"},
		"backup: not for an unreadable machine": {func(in *Input, _ *recordMachine) {
			in.VM.Generation, in.Observation.Readable, in.Observation.Trouble = 5, false, "x"
		}, "  ends"},
		"backup: a revision is missing": {func(in *Input, _ *recordMachine) {
			in.VM.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "lost"}}
		}, " False Error"},
		"backup error NoRequeue: the record is newer": {func(in *Input, k *recordMachine) {
			newer(in)
			k.differs, k.missing, in.VM.Spec.PowerState = []driver.Difference{live}, []driver.Difference{missing}, vmv1alpha1.PoweredOff
		}, " False RecordNewer ends"},
		"backup: the record was newer, then the object changed": {func(in *Input, _ *recordMachine) { newer(in); paused(in); in.VM.Generation = 10 }, " False RecordNewer ends"},
		"backup: the record was newer but is equal":             {func(in *Input, _ *recordMachine) { in.Observation.RecordHead.Generation = 9; paused(in) }, "metadata.record "},
		"backup: the annotation selects the object": {func(in *Input, _ *recordMachine) {
			newer(in)
			in.VM.Annotations = map[string]string{vmv1alpha1.AnnotationOverwriteRecord: "9"}
		}, "metadata.record "},
		"backup: the annotation is for another record": {func(in *Input, _ *recordMachine) {
			newer(in)
			in.VM.Annotations = map[string]string{vmv1alpha1.AnnotationOverwriteRecord: "8"}
		}, " False RecordNewer ends"},
		"backup error Requeue: a failed write": {func(in *Input, _ *recordMachine) {
			in.VM.Generation, in.VM.Spec.PowerState = 5, vmv1alpha1.PoweredOff
			op := driver.Operation{Kind: driver.KindReconfigure, Changes: []driver.Difference{fakeMachine{}.StoreRecord(driver.Record{Head: vmrecord.HeadOf(in.VM).WithGroups(in.Groups, vmrecord.Head{})})}}
			in.Last = Outcomes{{Kind: op.Kind, Fingerprint: Fingerprint(op), Err: errors.New("denied"), Next: in.Now.Add(time.Minute)}}
		}, "power off False Error"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := planSummary(inputWithRecord(tc.change)); got != tc.want {
				t.Errorf("%q, want %q (error %v)", got, tc.want, err)
			}
		})
	}
}

// planSummary returns the planned operation, BackupUpToDate, and whether the plan ends there.
func planSummary(in Input) (got string, err error) {
	p, err := Make(in)
	if op := p.Operation; op != nil && op.Kind == driver.KindReconfigure {
		var paths []string
		for _, c := range op.Changes {
			paths = append(paths, c.Path)
		}
		got = strings.Join(paths, ",")
	} else if op != nil {
		got = string(op.Kind)
	}
	got += " "
	if c := meta.FindStatusCondition(p.Conditions, vmv1alpha1.ConditionBackupUpToDate); c != nil {
		got += string(c.Status) + " " + c.Reason
	}
	if provider.IsNoRequeue(err) {
		got += " ends"
	}
	return got, err
}

func TestBackup_DelaysARewriteForLabelsOnly(t *testing.T) {
	live := driver.Difference{Path: "cpu.shares", Live: true}
	for name, tc := range map[string]struct {
		change func(*Input, *recordMachine)
		want   string
	}{
		"labels have changed soon after the last record": {withChangedLabel(30*time.Second, nil), " False Pending"},
		"labels have changed after the pause":            {withChangedLabel(time.Minute, nil), "metadata.record "},
		"the group has changed soon after":               {withChangedLabel(30*time.Second, func(in *Input, _ *recordMachine) { in.VM.Labels, in.Groups = nil, groups(2) }), " False Pending"},
		"soon after, and the spec has also changed":      {withChangedLabel(time.Second, func(in *Input, _ *recordMachine) { in.VM.Generation = 5 }), "metadata.record "},
		"soon after, with other changes":                 {withChangedLabel(time.Second, func(_ *Input, k *recordMachine) { k.differs = []driver.Difference{live} }), "cpu.shares,metadata.record "},
		"soon after, by an older schema":                 {withChangedLabel(time.Second, func(in *Input, _ *recordMachine) { in.Observation.RecordHead.Schema = 0 }), "metadata.record "},
		"soon after, and a revision was pinned": {withChangedLabel(time.Second, func(in *Input, _ *recordMachine) {
			in.VM.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "r"}}
			in.Revisions = []*itv1alpha1.ControllerRevision{{ObjectMeta: metav1.ObjectMeta{Name: "r"}}}
		}), "metadata.record "},
		"soon after, and the power state must change": {withChangedLabel(time.Second, func(in *Input, _ *recordMachine) { in.VM.Spec.PowerState = vmv1alpha1.PoweredOff }), "power off False Pending"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := planSummary(inputWithRecord(tc.change)); got != tc.want {
				t.Errorf("%q, want %q (error %v)", got, tc.want, err)
			}
		})
	}
}

func TestBackup_KeepsTheRecordedGroupsWhileGroupsAreUnknown(t *testing.T) {
	var written driver.Record
	if _, err := Make(inputWithRecord(func(in *Input, k *recordMachine) {
		in.VM.Generation, in.Groups, k.written = 5, vmrecord.Groups{}, &written
	})); err != nil {
		t.Fatal(err)
	}
	r, err := vmrecord.Decode(written.Text)
	if err != nil || len(r.Groups) != 1 || r.Groups[0].Name != "shop" || r.Generation != 5 || written.Head.Groups == "" {
		t.Errorf("record %+v with head %s, error %v; want generation 5 with group shop", r, written.Head, err)
	}
}
