// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Step is the action of one reconcile for a Pod.
type Step string

// Steps of a plan. A drain is done when no Pod has one of the first six.
const (
	// EvictNow is the step of a Pod in the lowest outstanding group that is evicted now.
	EvictNow Step = "EvictNow"
	// EvictLater is the step of a Pod in a later group.
	EvictLater Step = "EvictLater"
	// Deleting is the step of a Pod that is deleted but still exists.
	Deleting Step = "Deleting"
	// WaitNow is the step of a Pod in the lowest outstanding group that must complete.
	WaitNow Step = "WaitNow"
	// WaitLater is the step of a Pod that must complete after earlier groups.
	WaitLater Step = "WaitLater"
	// Blocked is the step of a Pod whose behavior could not be determined.
	Blocked Step = "Blocked"
	// Completed is the step of a Pod that had to complete and has completed.
	Completed Step = "Completed"
	// Ignored is the step of a skipped Pod.
	Ignored Step = "Ignored"
)

// Entry is a Pod of a plan.
type Entry struct {
	// Pod contains the fields of the Pod that are used by the plan.
	Pod *corev1.Pod
	// Decision is the behavior for the Pod.
	Decision
	// Step is the action of this reconcile.
	Step Step
	// failure describes why the eviction failed. It is nil if it did not.
	failure *failure
}

// isOutstanding reports whether the drain must wait for the Pod.
func (e Entry) isOutstanding() bool {
	return e.Step != Completed && e.Step != Ignored && e.Step != podNotFound
}

// Note returns why the eviction of the Pod failed or why its behavior is undecided. Otherwise it returns the warnings.
func (e Entry) Note() string {
	switch {
	case e.failure != nil:
		return e.failure.text
	case e.Err != nil:
		return e.Err.Error()
	default:
		return strings.Join(e.Warnings, ", ")
	}
}

// Plan contains all Pods of a Node, sorted by namespace and name.
type Plan []Entry

// NewPlan returns the plan for all pods of a Node.
func NewPlan(pods []*corev1.Pod, inputs DecisionInputs) Plan {
	plan := make(Plan, 0, len(pods))
	lowest := int32(math.MaxInt32)
	for _, pod := range pods {
		e := Entry{Pod: pod, Decision: Decide(pod, inputs)}
		switch {
		case e.Behavior == BehaviorSkip:
			e.Step = Ignored
		case e.Behavior == BehaviorWaitCompleted && isFinished(pod):
			e.Step = Completed
		default:
			// Deleted and undecided Pods also block later groups.
			lowest = min(lowest, e.Order)
		}
		plan = append(plan, e)
	}
	for i := range plan {
		if plan[i].isOutstanding() {
			plan[i].Step = plan[i].stepFor(lowest)
		}
	}
	slices.SortFunc(plan, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Pod.Namespace, b.Pod.Namespace), cmp.Compare(a.Pod.Name, b.Pod.Name))
	})
	return plan
}

// stepFor returns the step of an outstanding Pod. lowest is the lowest outstanding group.
func (e Entry) stepFor(lowest int32) Step {
	now := e.Order == lowest
	switch {
	case e.Behavior == BehaviorUndecided:
		return Blocked
	case e.Behavior == BehaviorWaitCompleted && now:
		return WaitNow
	case e.Behavior == BehaviorWaitCompleted:
		return WaitLater
	case e.Pod.DeletionTimestamp != nil:
		return Deleting
	case now:
		return EvictNow
	default:
		return EvictLater
	}
}

// Done reports whether no Pod is outstanding.
func (p Plan) Done() bool {
	return !slices.ContainsFunc(p, Entry.isOutstanding)
}

// entriesWithStep returns the Pods with a step.
func (p Plan) entriesWithStep(step Step) []Entry {
	var found []Entry
	for _, e := range p {
		if e.Step == step {
			found = append(found, e)
		}
	}
	return found
}

// Skipped returns the Pods that the drain skips.
func (p Plan) Skipped() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, e := range p.entriesWithStep(Ignored) {
		pods = append(pods, e.Pod)
	}
	return pods
}
