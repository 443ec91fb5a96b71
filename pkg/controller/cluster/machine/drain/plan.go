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

// Step is what a pass does about one Pod.
type Step string

// Steps of a plan. A drain is done when no Pod has one of the first six.
const (
	// EvictNow is a Pod of the lowest group that is outstanding, to be evicted in this pass.
	EvictNow Step = "EvictNow"
	// EvictLater is a Pod of a later group.
	EvictLater Step = "EvictLater"
	// Deleting is a Pod that is deleted and not yet gone.
	Deleting Step = "Deleting"
	// WaitNow is a Pod of the lowest group that is outstanding, to be waited for.
	WaitNow Step = "WaitNow"
	// WaitLater is a Pod that is waited for when those of earlier groups are gone.
	WaitLater Step = "WaitLater"
	// Blocked is a Pod of which it cannot be told what to do.
	Blocked Step = "Blocked"
	// Completed is a Pod that was to be waited for and has ended.
	Completed Step = "Completed"
	// Ignored is a Pod that is skipped.
	Ignored Step = "Ignored"
)

// Entry is one Pod of a plan.
type Entry struct {
	// Pod as it was read.
	Pod *corev1.Pod
	// Decision is what the drain does with the Pod.
	Decision
	// Step is what this pass does about it.
	Step Step
	// failure is why its eviction did not come about.
	failure *failure
}

// outstanding is true for a Pod that has to go, or to end, before the drain is done.
func (e Entry) outstanding() bool { return e.Step != Completed && e.Step != Ignored && e.Step != gone }

// Note is what somebody may want to know of the Pod: why it is not evicted or not decided
// about, else the warnings.
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

// Plan is what a pass does about all Pods of a Node, sorted by namespace and name.
type Plan []Entry

// NewPlan decides for all pods of one Node.
func NewPlan(pods []*corev1.Pod, facts Facts) Plan {
	plan := make(Plan, 0, len(pods))
	lowest := int32(math.MaxInt32)
	for _, pod := range pods {
		e := Entry{Pod: pod, Decision: Decide(pod, facts)}
		switch {
		case e.Behavior == BehaviorSkip:
			e.Step = Ignored
		case e.Behavior == BehaviorWaitCompleted && finished(pod):
			e.Step = Completed
		default:
			// One that is deleted, or undecided, holds its group like any other.
			lowest = min(lowest, e.Order)
		}
		plan = append(plan, e)
	}
	for i := range plan {
		if plan[i].outstanding() {
			plan[i].Step = plan[i].next(lowest)
		}
	}
	slices.SortFunc(plan, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Pod.Namespace, b.Pod.Namespace), cmp.Compare(a.Pod.Name, b.Pod.Name))
	})
	return plan
}

// next is the step of a Pod that is outstanding, when lowest is the lowest group that is.
func (e Entry) next(lowest int32) Step {
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

// Done is true when no Pod is outstanding.
func (p Plan) Done() bool {
	return !slices.ContainsFunc(p, Entry.outstanding)
}

// with are the Pods of one step.
func (p Plan) with(step Step) []Entry {
	var found []Entry
	for _, e := range p {
		if e.Step == step {
			found = append(found, e)
		}
	}
	return found
}

// Skipped are the Pods that the drain leaves alone.
func (p Plan) Skipped() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, e := range p.with(Ignored) {
		pods = append(pods, e.Pod)
	}
	return pods
}
