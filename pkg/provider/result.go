// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Result is the outcome of a call. Apply writes it into a status; the call itself does not change the object.
type Result struct {
	// Zone is the zone that this call has chosen; empty if it has chosen none.
	Zone string
	// Observation is the observed state. If it is nil, the status is not changed.
	Observation *Observation
	// RestartRequired lists the fields that need a power cycle. It is valid only if Compared is true.
	RestartRequired []vmv1alpha1.RestartRequirement
	// Compared is true if the virtual machine was compared with the effective spec.
	Compared bool
	// Conditions are the conditions to set, without observed generation. If LastTransitionTime is zero, Apply uses the
	// time of the reconcile.
	Conditions []metav1.Condition
	// Withdrawn are the types of conditions to remove.
	Withdrawn []string
	// Started is the name of the operation that was started; empty for none.
	Started string
	// Ended receives the error of the started operation and is then closed. It is nil if none was started.
	Ended <-chan error
	// AttachedKnown is true if Observation.RetainedDisks is complete and no running or started operation changes it.
	AttachedKnown bool
	// Reverted is the record of the snapshot to which the virtual machine was reverted, if the object does not reflect
	// the revert yet; otherwise nil.
	Reverted *StoredSnapshotRecord
	// Settled is true if the virtual machine matches the effective spec, except for RestartRequired, and no operation
	// was started for its configuration.
	Settled bool
}

// Set adds a condition, or replaces one of the same type.
func (r *Result) Set(kind string, status metav1.ConditionStatus, reason, message string) {
	r.SetAt(time.Time{}, kind, status, reason, message)
}

// SetAt is like Set, with the time of the last transition. Use it if the caller sets the same condition to another
// value in every reconcile. Otherwise the current time would change the status in every reconcile.
func (r *Result) SetAt(at time.Time, kind string, status metav1.ConditionStatus, reason, message string) {
	c := metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
	if !at.IsZero() {
		c.LastTransitionTime = metav1.NewTime(at)
	}
	for i := range r.Conditions {
		if r.Conditions[i].Type == kind {
			r.Conditions[i] = c
			return
		}
	}
	r.Conditions = append(r.Conditions, c)
}

// True sets a condition to True.
func (r *Result) True(kind string) {
	r.Set(kind, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
}

// False sets a condition to False.
func (r *Result) False(kind, reason, message string) {
	r.Set(kind, metav1.ConditionFalse, reason, message)
}

// Apply writes the result of a reconcile of the given generation at the given time into a status.
func (r *Result) Apply(st *vmv1alpha1.VirtualMachineStatus, generation int64, now time.Time) {
	if r.Zone != "" {
		st.Zone = r.Zone
	}
	if r.Observation != nil {
		r.Observation.report(st)
		if running := st.PowerState == vmv1alpha1.PoweredOn || st.PowerState == vmv1alpha1.Suspended; running && st.FirstStartTime == nil {
			st.FirstStartTime = &metav1.Time{Time: now.Truncate(time.Second)}
		}
	}
	if r.Compared {
		st.RestartRequired = r.RestartRequired
	}
	for _, kind := range r.Withdrawn {
		meta.RemoveStatusCondition(&st.Conditions, kind)
	}
	for _, c := range r.Conditions {
		c.ObservedGeneration = generation
		at := now
		if !c.LastTransitionTime.IsZero() {
			at = c.LastTransitionTime.Time
		}
		conditions.Set(&st.Conditions, at, c)
	}
}
