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

// walk brings the steps of a group to its power state, one after another.
type walk struct {
	steps []vmv1alpha1.VirtualMachineGroupStep
	// members are those of each step.
	members [][]member
	// generation of the group.
	generation int64
	// target is the power state, since begin.
	target vmv1alpha1.PowerState
	begin  time.Time
	now    time.Time
}

// halt is why the walk goes no further for now.
type halt struct {
	reason, message string
	// until is when it goes on by itself; zero if only news of members can tell.
	until time.Time
}

// tell asks the members of every step that may begin for the power state of the group, and
// returns why not the others; nil when all are asked. Where none is wanted nothing is waited
// for.
func (w *walk) tell() *halt {
	if w.target == "" {
		for _, step := range w.members {
			for _, m := range step {
				m.DesiredPowerState, m.DesiredSince = "", nil
				w.show(m)
			}
		}
		return nil
	}
	for k := range w.steps {
		i := w.at(k)
		if _, begun := w.begun(i); !begun {
			if h := w.before(k); h != nil {
				return h
			}
		}
		for _, m := range w.members[i] {
			if !w.told(m) {
				m.DesiredPowerState, m.DesiredSince = w.target, &metav1.MicroTime{Time: w.now}
				w.show(m)
			}
		}
	}
	return nil
}

// at is the index of the k-th step of the walk.
func (w *walk) at(k int) int {
	if w.target == vmv1alpha1.PoweredOn {
		return k
	}
	return len(w.steps) - 1 - k
}

// told is true for a member that was asked in this walk.
func (w *walk) told(m member) bool {
	return m.DesiredPowerState == w.target && m.DesiredSince != nil && !m.DesiredSince.Time.Before(w.begin)
}

// begun tells whether step i has, and when.
func (w *walk) begun(i int) (since time.Time, ok bool) {
	for _, m := range w.members[i] {
		if w.told(m) && (!ok || m.DesiredSince.Time.Before(since)) {
			since, ok = m.DesiredSince.Time, true
		}
	}
	return since, ok
}

// before is why the k-th step of the walk cannot begin; nil if it can.
func (w *walk) before(k int) *halt {
	from := w.begin
	if k > 0 {
		var h *halt
		if from, h = w.leave(k - 1); h != nil {
			return h
		}
	}
	step := &w.steps[w.at(k)]
	delay := step.PowerOnDelaySeconds
	if w.target != vmv1alpha1.PoweredOn {
		delay = step.PowerOffDelaySeconds
	}
	until := from.Add(time.Duration(delay) * time.Second)
	if delay == 0 || !until.After(w.now) {
		return nil
	}
	return &halt{vmv1alpha1.ReasonDelayed, fmt.Sprintf("step %d of %d waits until %s", w.at(k)+1, len(w.steps), until.UTC().Format(time.RFC3339)), until}
}

// leave is since when the k-th step of the walk, which has begun, lets the next one begin,
// or why it does not.
func (w *walk) leave(k int) (from time.Time, h *halt) {
	i, next := w.at(k), w.at(k+1)
	from, _ = w.begun(i)
	between := &w.steps[min(i, next)]
	if between.WaitFor != vmv1alpha1.WaitForReady {
		return from, nil
	}
	begun := from
	var waits []string
	for _, m := range w.members[i] {
		ok, since := w.passes(m)
		if !ok {
			waits = append(waits, m.Name)
		}
		if since.After(from) {
			// A condition tells whole seconds. It is in the one that follows at the latest.
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
	h = &halt{reason: vmv1alpha1.ReasonWaitingForMembers, message: fmt.Sprintf("step %d of %d waits until these %s: %s", next+1, len(w.steps), what, conditions.List(waits, ", "))}
	if between.WaitTimeoutSeconds == 0 {
		return from, h
	}
	if h.until = begun.Add(time.Duration(between.WaitTimeoutSeconds) * time.Second); h.until.After(w.now) {
		h.message += ", at most until " + h.until.UTC().Format(time.RFC3339)
		return from, h
	}
	return h.until, nil
}
