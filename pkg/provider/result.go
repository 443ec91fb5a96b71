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

// Result is what a call found and did. It changes nothing of the caller's; Apply puts
// it into a status.
type Result struct {
	// Zone that was chosen; empty when none was in this call.
	Zone string
	// Observation to report. It is nil if nothing new is known; then the status keeps what was reported before.
	Observation *Observation
	// RestartRequired lists what needs a power cycle. It counts only with Compared.
	RestartRequired []vmv1alpha1.RestartRequirement
	// Compared is true when the virtual machine was compared with the effective spec.
	Compared bool
	// Conditions that were decided, without generation. A zero LastTransitionTime
	// stands for the time of the pass.
	Conditions []metav1.Condition
	// Withdrawn are the types of conditions that do not apply any more.
	Withdrawn []string
	// Started names the operation that was started, empty for none.
	Started string
	// Ended delivers the error of the operation that was started and is closed then;
	// nil when none was.
	Ended <-chan error
	// AttachedKnown is true if Attached of the Observation is complete, and no operation that changes it runs or was
	// started.
	AttachedKnown bool
	// Reverted is the record of the snapshot that the virtual machine was reverted to and its
	// object was not yet; nil but then.
	Reverted *Kept
	// Settled is true when the virtual machine is as the effective spec wants it, but
	// for RestartRequired, and nothing was started for its configuration.
	Settled bool
}

// Set adds a condition, or replaces one of the same type.
func (r *Result) Set(kind string, status metav1.ConditionStatus, reason, message string) {
	r.SetAt(time.Time{}, kind, status, reason, message)
}

// SetAt is Set with the time since when the condition holds: what a caller sets anew
// in every pass, and this result otherwise, would seem to change in each of them.
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

// True sets a condition that holds.
func (r *Result) True(kind string) {
	r.Set(kind, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
}

// False sets a condition that does not hold.
func (r *Result) False(kind, reason, message string) {
	r.Set(kind, metav1.ConditionFalse, reason, message)
}

// Apply puts the result of a pass over a generation at a time into a status.
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
