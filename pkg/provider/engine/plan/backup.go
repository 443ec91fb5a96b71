// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// reconcileSchema finds what a machine lacks whose record an older schema has written, or
// that has none. One that lacks nothing is not written to; what was filled in once is not
// filled in again, for the record says so from then on.
func reconcileSchema(in *Input, p *Plan) error {
	if in.Observation.Readable && in.Observation.Recorded.Schema < vmrecord.Schema {
		p.kept = in.Machine.Lacking(in.Want, in.Observation.Recorded.Schema)
	}
	return nil
}

// reconcileBackup has the machine keep a record of the object as it is. While the record is
// newer than the object nothing is written, neither the record nor anything else: the object
// is of a time before, and what it says was changed since.
func reconcileBackup(in *Input, p *Plan) error {
	if !in.Observation.Readable {
		return nil
	}
	have := in.Observation.Recorded
	now := vmrecord.HeadOf(in.VM).With(in.Groups, have)
	switch age := have.Compare(now); {
	case age == vmrecord.Same && have.Groups == now.Groups && len(p.kept) == 0:
		p.Set(vmv1alpha1.ConditionBackupUpToDate, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, withoutGroups(in.Groups))
		return nil
	case age == vmrecord.Newer, age == vmrecord.Older && in.wasNewer():
		if err := in.counts(); err != nil {
			p.False(vmv1alpha1.ConditionBackupUpToDate, vmv1alpha1.ReasonRecordNewer, err.Error())
			p.False(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonRecordNewer, err.Error())
			return &provider.NoRequeueError{Err: err}
		}
	}
	text, err := vmrecord.Text(in.VM, in.Revisions, in.Groups, in.Machine.Record())
	switch {
	case errors.Is(err, vmrecord.ErrTooLarge):
		p.False(vmv1alpha1.ConditionBackupUpToDate, vmv1alpha1.ReasonTooLarge, err.Error()+remains(have))
		return nil
	case err != nil:
		p.False(vmv1alpha1.ConditionBackupUpToDate, vmv1alpha1.ReasonError, err.Error()+remains(have))
		return nil // The condition of the instance type says when there is more to do.
	}
	if len(p.kept) == 0 && have.SameGeneration(now) && in.sameRevisions() {
		p.keepAfter = in.Recorded.Add(in.RecordPause)
	}
	p.kept = append(p.kept, in.Machine.Keep(driver.Record{Head: now, Text: text}))
	return nil
}

// sameRevisions is true when the machine keeps a record with what the object has captured.
func (in *Input) sameRevisions() bool {
	r, err := vmrecord.Decode(in.Machine.Record())
	return err == nil && r.Captures(in.VM)
}

// Record is what a new machine keeps of the object of req from its beginning. Where it can keep nothing the
// backup says why, once the machine is there.
func Record(req *provider.Request) driver.Record {
	text, err := vmrecord.Text(req.VM, req.Revisions, req.Groups, "")
	if err != nil {
		return driver.Record{}
	}
	return driver.Record{Head: vmrecord.HeadOf(req.VM).With(req.Groups, vmrecord.Head{}), Text: text}
}

// withoutGroups says that a record has not all that it shall have; empty if it has.
func withoutGroups(groups vmrecord.Groups) string {
	if !groups.TooLarge {
		return ""
	}
	return fmt.Sprintf("the VirtualMachineGroups that would be kept with this virtual machine are not: they have more than %d bytes", vmrecord.MaxGroups)
}

// remains says what the machine keeps as long as it is not given another record.
func remains(have vmrecord.Head) string {
	if have == (vmrecord.Head{}) {
		return "; there is no record"
	}
	return fmt.Sprintf("; the record is that of generation %d", have.Generation)
}

// wasNewer is true when a pass has found the record newer than the object, whose generations
// are counted on since, and nobody has said yet which of the two counts.
func (in *Input) wasNewer() bool {
	c := meta.FindStatusCondition(in.VM.Status.Conditions, vmv1alpha1.ConditionBackupUpToDate)
	return c != nil && c.Reason == vmv1alpha1.ReasonRecordNewer
}

// counts returns nil when the object counts although the machine keeps a newer record of it:
// because both say the same, or because somebody has said so.
func (in *Input) counts() error {
	have := strconv.FormatInt(in.Observation.Recorded.Generation, 10)
	if in.VM.Annotations[vmv1alpha1.AnnotationOverwriteRecord] == have {
		return nil
	}
	if r, err := vmrecord.Decode(in.Machine.Record()); err == nil && r.Describes(in.VM) {
		return nil
	}
	return fmt.Errorf("the object is older than its record of generation %s in vSphere, as in a store that was restored, and nothing is changed by it: "+
		"virtctl recover makes it what the record says, and the annotation %s: %q lets the object count", have, vmv1alpha1.AnnotationOverwriteRecord, have)
}

// keep writes what is to be kept with the machine by itself, where the configuration did not.
func (in *Input) keep(p *Plan) error {
	if p.Operation != nil || p.Reverted != nil || len(p.kept) == 0 || in.Observation.Trouble != "" || !in.Owned {
		return nil
	}
	if in.Observation.PowerState == vmv1alpha1.Suspended {
		p.False(vmv1alpha1.ConditionBackupUpToDate, vmv1alpha1.ReasonSuspended, "the record is written when the virtual machine is not suspended any more"+remains(in.Observation.Recorded))
		return nil
	}
	if wait := p.keepAfter.Sub(in.Now); wait > 0 {
		const why = "labels, annotations or groups have changed, for which alone the record is not written again at once"
		p.Held = true
		p.False(vmv1alpha1.ConditionBackupUpToDate, vmv1alpha1.ReasonPending, why)
		return &provider.RequeueError{After: wait, Reason: why}
	}
	op := in.Machine.Configure(p.kept)
	if hold := in.Last.Held(op, in.Now); hold != nil {
		p.Held = true
		p.False(vmv1alpha1.ConditionBackupUpToDate, hold.Reason, hold.Message)
		return &provider.RequeueError{After: hold.Wait, Reason: hold.Message}
	}
	p.Operation = &op
	return nil
}
