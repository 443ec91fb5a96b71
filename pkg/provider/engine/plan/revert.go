// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// reconcileRevert plans the revert to the snapshot in spec.currentSnapshotName, and then reports the record from which
// the object must be restored.
//
// The record that is stored in the virtual machine shows the progress of a revert, so no other state is needed. A new
// snapshot is ready only after its record was removed from the virtual machine. So a virtual machine that has the
// record was reverted to the snapshot. The record is removed after the object no longer requests the revert. If the
// process exits during a revert, the next process continues it.
func reconcileRevert(in *Input, p *Plan) error {
	name, to, stored := in.VM.Spec.CurrentSnapshotName, in.Want.Revert, in.Observation.StoredSnapshot
	switch {
	case !in.Observation.Readable || in.Observation.Trouble != "":
		return nil // later steps report it
	case stored != nil && (to != nil && to.UID == stored.UID || to == nil && IsReverting(in.VM)):
		p.Reverted = stored
		p.False(vmv1alpha1.ConditionSnapshotSynced, vmv1alpha1.ReasonReverting, "vSphere has reverted the virtual machine; the object is being restored")
		return nil
	case to != nil:
		return in.revert(p, to)
	case name != "":
		return nil // the controller reports why the snapshot cannot be used
	}
	if c := meta.FindStatusCondition(in.VM.Status.Conditions, vmv1alpha1.ConditionSnapshotSynced); c != nil && c.Status != metav1.ConditionTrue {
		p.Withdrawn = append(p.Withdrawn, vmv1alpha1.ConditionSnapshotSynced)
	}
	if stored == nil {
		return nil
	}
	op := in.Machine.DropSnapshotRecord()
	if in.Last.HoldFor(op, in.Now) == nil {
		p.Operation = &op
	}
	return nil
}

// revert plans the revert, unless the same operation recently failed.
func (in *Input) revert(p *Plan, to *provider.RevertTarget) error {
	if n := len(in.Observation.RetainedDisks); n > 0 {
		p.False(vmv1alpha1.ConditionSnapshotSynced, vmv1alpha1.ReasonInvalid,
			fmt.Sprintf("spec.currentSnapshotName: %q: a revert would detach %d disks of claims: remove their volumes first", to.Name, n))
		return nil
	}
	op := in.Machine.Revert(in.Want.Identity, *to)
	op.Detail = string(to.UID)
	if hold := in.Last.HoldFor(op, in.Now); hold != nil {
		p.Held = true
		p.False(vmv1alpha1.ConditionSnapshotSynced, hold.Reason, hold.Message)
		return &provider.RequeueError{After: hold.Wait, Reason: "the last attempt to " + string(op.Kind) + ": " + hold.Message}
	}
	p.False(vmv1alpha1.ConditionSnapshotSynced, vmv1alpha1.ReasonReverting, fmt.Sprintf("reverting to snapshot %q", to.Name))
	p.Operation = &op
	return nil
}

// IsReverting reports whether a revert of vm has started and its object is not restored yet.
func IsReverting(vm *vmv1alpha1.VirtualMachine) bool {
	c := meta.FindStatusCondition(vm.Status.Conditions, vmv1alpha1.ConditionSnapshotSynced)
	return c != nil && c.Status == metav1.ConditionFalse && c.Reason == vmv1alpha1.ReasonReverting
}
