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

// reconcileRevert makes the virtual machine what it was at the snapshot that its spec names,
// then has its object restored from the record that comes back with it.
//
// The record tells how far a revert has come, and nothing else needs to be remembered: a
// snapshot counts as ready only when the virtual machine itself has no record of it any more,
// so that one which has it was reverted to it. It is removed when the object does not ask for
// a revert any more. Whoever dies in between leaves a virtual machine from which this goes on.
func reconcileRevert(in *Input, p *Plan) error {
	name, to, kept := in.VM.Spec.CurrentSnapshotName, in.Want.Revert, in.Observation.Kept
	switch {
	case !in.Observation.Readable || in.Observation.Trouble != "":
		return nil // The steps that follow say so.
	case kept != nil && (to != nil && to.UID == kept.UID || to == nil && Reverting(in.VM)):
		p.Reverted = kept
		p.False(vmv1alpha1.ConditionSnapshotSynced, vmv1alpha1.ReasonReverting, "vSphere has reverted the virtual machine; its object is restored")
		return nil
	case to != nil:
		return in.revert(p, to)
	case name != "":
		return nil // Who knows the snapshots says why there is none to revert to.
	}
	if c := meta.FindStatusCondition(in.VM.Status.Conditions, vmv1alpha1.ConditionSnapshotSynced); c != nil && c.Status != metav1.ConditionTrue {
		p.Withdrawn = append(p.Withdrawn, vmv1alpha1.ConditionSnapshotSynced)
	}
	if kept == nil {
		return nil
	}
	op := in.Machine.DropKept()
	if in.Last.Held(op, in.Now) == nil {
		p.Operation = &op
	}
	return nil
}

// revert plans the revert, unless the same failed a moment ago.
func (in *Input) revert(p *Plan, to *provider.RevertTarget) error {
	if n := len(in.Observation.Attached); n > 0 {
		p.False(vmv1alpha1.ConditionSnapshotSynced, vmv1alpha1.ReasonInvalid,
			fmt.Sprintf("spec.currentSnapshotName: %q: the virtual machine has %d disks of claims, which a revert would take from it: remove their volumes first", to.Name, n))
		return nil
	}
	op := in.Machine.Revert(in.Want.Identity, *to)
	op.Detail = string(to.UID)
	if hold := in.Last.Held(op, in.Now); hold != nil {
		p.Held = true
		p.False(vmv1alpha1.ConditionSnapshotSynced, hold.Reason, hold.Message)
		return &provider.RequeueError{After: hold.Wait, Reason: "the last attempt to " + string(op.Kind) + ": " + hold.Message}
	}
	p.False(vmv1alpha1.ConditionSnapshotSynced, vmv1alpha1.ReasonReverting, fmt.Sprintf("reverting to snapshot %q", to.Name))
	p.Operation = &op
	return nil
}

// Reverting is true from when a revert of vm is begun until its object is restored.
func Reverting(vm *vmv1alpha1.VirtualMachine) bool {
	c := meta.FindStatusCondition(vm.Status.Conditions, vmv1alpha1.ConditionSnapshotSynced)
	return c != nil && c.Status == metav1.ConditionFalse && c.Reason == vmv1alpha1.ReasonReverting
}
