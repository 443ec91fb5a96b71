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

// reconcileSchema finds the data that is missing in a virtual machine whose record has an older schema or which has no
// record. A virtual machine with no missing data is not changed. Missing data is filled in only once, because the
// record then has the current schema.
func reconcileSchema(in *Input, p *Plan) error {
	if in.Observation.Readable && in.Observation.RecordHead.Schema < vmrecord.Schema {
		p.metadata = in.Machine.MissingMetadata(in.Want, in.Observation.RecordHead.Schema)
	}
	return nil
}

// reconcileBackup stores the object record in the virtual machine. If the stored record is newer than the object, the
// object comes from an old backup. Then nothing is written, because the object's spec may be outdated.
func reconcileBackup(in *Input, p *Plan) error {
	if !in.Observation.Readable {
		return nil
	}
	have := in.Observation.RecordHead
	now := vmrecord.HeadOf(in.VM).WithGroups(in.Groups, have)
	switch age := have.Compare(now); {
	case age == vmrecord.Same && have.Groups == now.Groups && len(p.metadata) == 0:
		p.Set(vmv1alpha1.ConditionBackupUpToDate, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, omittedGroups(in.Groups))
		return nil
	case age == vmrecord.Newer, age == vmrecord.Older && in.hadNewerRecord():
		if err := in.checkPrecedence(); err != nil {
			p.False(vmv1alpha1.ConditionBackupUpToDate, vmv1alpha1.ReasonRecordNewer, err.Error())
			p.False(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonRecordNewer, err.Error())
			return &provider.NoRequeueError{Err: err}
		}
	}
	text, err := vmrecord.Text(in.VM, in.Revisions, in.Groups, in.Machine.Record())
	switch {
	case errors.Is(err, vmrecord.ErrTooLarge):
		p.False(vmv1alpha1.ConditionBackupUpToDate, vmv1alpha1.ReasonTooLarge, err.Error()+describeRecord(have))
		return nil
	case err != nil:
		p.False(vmv1alpha1.ConditionBackupUpToDate, vmv1alpha1.ReasonError, err.Error()+describeRecord(have))
		return nil // the instance type's condition changes before a retry helps
	}
	if len(p.metadata) == 0 && have.SameGeneration(now) && in.hasSameRevisions() {
		p.metadataAfter = in.RecordedAt.Add(in.MinRecordAge)
	}
	p.metadata = append(p.metadata, in.Machine.StoreRecord(driver.Record{Head: now, Text: text}))
	return nil
}

// hasSameRevisions reports whether the stored record has the revisions that the object has pinned.
func (in *Input) hasSameRevisions() bool {
	r, err := vmrecord.Decode(in.Machine.Record())
	return err == nil && r.HasPinnedRevisions(in.VM)
}

// Record returns the record to store in a new virtual machine. It is empty if the record cannot be created;
// reconcileBackup reports the reason after the create.
func Record(req *provider.Request) driver.Record {
	text, err := vmrecord.Text(req.VM, req.Revisions, req.Groups, "")
	if err != nil {
		return driver.Record{}
	}
	return driver.Record{Head: vmrecord.HeadOf(req.VM).WithGroups(req.Groups, vmrecord.Head{}), Text: text}
}

// omittedGroups returns a message if groups are omitted from the record; otherwise an empty string.
func omittedGroups(groups vmrecord.Groups) string {
	if !groups.TooLarge {
		return ""
	}
	return fmt.Sprintf("the record does not include the VirtualMachineGroups of this virtual machine: they exceed %d bytes", vmrecord.MaxGroups)
}

// describeRecord describes the currently stored record, for messages.
func describeRecord(have vmrecord.Head) string {
	if have == (vmrecord.Head{}) {
		return "; no record is stored"
	}
	return fmt.Sprintf("; the stored record has generation %d", have.Generation)
}

// hadNewerRecord reports whether an earlier reconcile has found a record that is newer than the object, and this is not
// resolved. The object's generation may have increased since then.
func (in *Input) hadNewerRecord() bool {
	c := meta.FindStatusCondition(in.VM.Status.Conditions, vmv1alpha1.ConditionBackupUpToDate)
	return c != nil && c.Reason == vmv1alpha1.ReasonRecordNewer
}

// checkPrecedence returns nil if the object takes precedence over a newer record: both are equal, or a user has set the
// annotation.
func (in *Input) checkPrecedence() error {
	have := strconv.FormatInt(in.Observation.RecordHead.Generation, 10)
	if in.VM.Annotations[vmv1alpha1.AnnotationOverwriteRecord] == have {
		return nil
	}
	if r, err := vmrecord.Decode(in.Machine.Record()); err == nil && r.Describes(in.VM) {
		return nil
	}
	return fmt.Errorf("the object is older than its record in vSphere (generation %s), for example after a restore of the database. The virtual machine is not changed. "+
		"To restore the object from the record, use virtctl recover; to keep the object, set the annotation %s: %q", have, vmv1alpha1.AnnotationOverwriteRecord, have)
}

// planRecordWrite plans a separate write of p.metadata if no configuration change writes it.
func (in *Input) planRecordWrite(p *Plan) error {
	if p.Operation != nil || p.Reverted != nil || len(p.metadata) == 0 || in.Observation.Trouble != "" || !in.Owned {
		return nil
	}
	if in.Observation.PowerState == vmv1alpha1.Suspended {
		p.False(vmv1alpha1.ConditionBackupUpToDate, vmv1alpha1.ReasonSuspended, "the record is written when the virtual machine is no longer suspended"+describeRecord(in.Observation.RecordHead))
		return nil
	}
	if wait := p.metadataAfter.Sub(in.Now); wait > 0 {
		const why = "only labels, annotations or groups have changed; the record is rewritten later"
		p.Held = true
		p.False(vmv1alpha1.ConditionBackupUpToDate, vmv1alpha1.ReasonPending, why)
		return &provider.RequeueError{After: wait, Reason: why}
	}
	op := in.Machine.Configure(p.metadata)
	if hold := in.Last.HoldFor(op, in.Now); hold != nil {
		p.Held = true
		p.False(vmv1alpha1.ConditionBackupUpToDate, hold.Reason, hold.Message)
		return &provider.RequeueError{After: hold.Wait, Reason: hold.Message}
	}
	p.Operation = &op
	return nil
}
