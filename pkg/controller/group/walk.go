// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// walk sets the desired power state of the steps of a group, one after another.
type walk struct {
	steps []vmv1alpha1.VirtualMachineGroupStep
	// members has the members of each step.
	members [][]member
	// generation of the group.
	generation int64
	// target is the desired power state of the group, which was set at begin.
	target vmv1alpha1.PowerState
	begin  time.Time
	now    time.Time
}

// halt is the reason why the next step does not begin yet.
type halt struct {
	reason, message string
	// until is the time at which the walk continues without an event, or zero.
	until time.Time
}

// advance sets the desired power state of the members of each step that can begin. It returns why the next step cannot
// begin, or nil if all steps have begun. If the group has no desired power state, no step waits.
func (w *walk) advance() *halt {
	if w.target == "" {
		for _, step := range w.members {
			for _, m := range step {
				m.DesiredPowerState, m.DesiredSince = "", nil
				w.setStatus(m)
			}
		}
		return nil
	}
	for k := range w.steps {
		i := w.stepIndex(k)
		if _, begun := w.beginOf(i); !begun {
			if h := w.mayBegin(k); h != nil {
				return h
			}
		}
		for _, m := range w.members[i] {
			if !w.isSet(m) {
				m.DesiredPowerState, m.DesiredSince = w.target, &metav1.MicroTime{Time: w.now}
				w.setStatus(m)
			}
		}
	}
	return nil
}

// stepIndex returns the index of the k-th step of the walk.
func (w *walk) stepIndex(k int) int {
	if w.target == vmv1alpha1.PoweredOn {
		return k
	}
	return len(w.steps) - 1 - k
}

// isSet reports whether the desired power state of a member was set in this walk.
func (w *walk) isSet(m member) bool {
	return m.DesiredPowerState == w.target && m.DesiredSince != nil && !m.DesiredSince.Time.Before(w.begin)
}

// beginOf returns when step i has begun, and whether it has.
func (w *walk) beginOf(i int) (since time.Time, ok bool) {
	for _, m := range w.members[i] {
		if w.isSet(m) && (!ok || m.DesiredSince.Time.Before(since)) {
			since, ok = m.DesiredSince.Time, true
		}
	}
	return since, ok
}

// mayBegin returns why the k-th step of the walk cannot begin, or nil if it can.
func (w *walk) mayBegin(k int) *halt {
	from := w.begin
	if k > 0 {
		var h *halt
		if from, h = w.mayEnd(k - 1); h != nil {
			return h
		}
	}
	step := &w.steps[w.stepIndex(k)]
	delay := step.PowerOnDelaySeconds
	if w.target != vmv1alpha1.PoweredOn {
		delay = step.PowerOffDelaySeconds
	}
	until := from.Add(time.Duration(delay) * time.Second)
	if delay == 0 || !until.After(w.now) {
		return nil
	}
	return &halt{vmv1alpha1.ReasonDelayed, fmt.Sprintf("step %d of %d waits until %s", w.stepIndex(k)+1, len(w.steps), until.UTC().Format(time.RFC3339)), until}
}

// mayEnd returns since when the next step can begin after the k-th step of the walk, which has begun, or why it cannot.
func (w *walk) mayEnd(k int) (from time.Time, h *halt) {
	i, next := w.stepIndex(k), w.stepIndex(k+1)
	from, _ = w.beginOf(i)
	between := &w.steps[min(i, next)]
	if between.WaitFor != vmv1alpha1.WaitForReady {
		return from, nil
	}
	begun := from
	var waits []string
	for _, m := range w.members[i] {
		ok, since := w.isDone(m)
		if !ok {
			waits = append(waits, m.Name)
		}
		if since.After(from) {
			// Conditions have a resolution of one second.
			from = since.Add(time.Second)
		}
	}
	if len(waits) == 0 {
		return from, nil
	}
	what := "are Ready"
	if w.target != vmv1alpha1.PoweredOn {
		what = "are not running"
	}
	h = &halt{reason: vmv1alpha1.ReasonWaitingForMembers, message: fmt.Sprintf("step %d of %d waits until these %s: %s", next+1, len(w.steps), what, conditions.JoinLimited(waits, ", "))}
	if between.WaitTimeoutSeconds == 0 {
		return from, h
	}
	if h.until = begun.Add(time.Duration(between.WaitTimeoutSeconds) * time.Second); h.until.After(w.now) {
		h.message += ", at most until " + h.until.UTC().Format(time.RFC3339)
		return from, h
	}
	return h.until, nil
}
