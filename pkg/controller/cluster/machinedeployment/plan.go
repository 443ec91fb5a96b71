// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machinedeployment

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

// plan contains the desired replicas of a MachineDeployment's MachineSets.
type plan struct {
	deployment *deployment
	now        time.Time
	// total is the desired number of replicas. surge and unavailable are the allowed deviations.
	total, surge, unavailable int32
	// current is the MachineSet with the template of the MachineDeployment, or nil if there is none. old are all
	// others, the oldest first.
	current *setState
	old     []*setState
	// until is the time at which the plan may change without an event, or zero.
	until time.Time
}

// newPlan computes the plan of d. taken reports whether a name cannot be used for a new MachineSet. It relies on
// admission to have validated d.
func newPlan(d *deployment, setStates []*setState, taken func(string) bool, now time.Time) *plan {
	p := &plan{deployment: d, now: now, total: ptr.Deref(d.Spec.Replicas, 1)}
	p.surge, p.unavailable = fenceposts(d, p.total)
	p.chooseCurrent(setStates)
	scaling := p.isRolling() && slices.ContainsFunc(p.all(), p.isScaled)
	paused := ptr.Deref(d.Spec.Paused, false)
	switch {
	case paused, scaling:
		p.distribute()
		return p
	case p.current == nil:
		p.current = newSetState(newSet(d, taken), nil)
	}
	if p.isRolling() {
		p.grow(p.surge)
		p.shrink()
		p.unblock()
	} else {
		p.limitToMachines()
		p.grow(0)
		p.trim()
	}
	return p
}

// fenceposts returns maxSurge, rounded up, and maxUnavailable, rounded down. If both are 0, for example after rounding
// a percentage, unavailable is set to 1.
func fenceposts(d *deployment, replicas int32) (surge, unavailable int32) {
	if !isRolling(d) {
		return 0, 0
	}
	from := &d.Spec.Rollout.Strategy.RollingUpdate
	more, err := intstr.GetScaledValueFromIntOrPercent(ptr.To(ptr.Deref(from.MaxSurge, intstr.FromInt32(1))), int(replicas), true)
	if err != nil {
		more = 1 // Admission rejects other values.
	}
	fewer, err := intstr.GetScaledValueFromIntOrPercent(ptr.To(ptr.Deref(from.MaxUnavailable, intstr.FromInt32(0))), int(replicas), false)
	if err != nil {
		fewer = 0
	}
	if more <= 0 && fewer <= 0 {
		fewer = 1
	}
	return int32(max(more, 0)), min(int32(max(fewer, 0)), replicas)
}

func isRolling(d *deployment) bool {
	return d.Spec.Rollout.Strategy.Type != clusterv1alpha1.OnDeleteMachineDeploymentStrategyType
}

func (p *plan) isRolling() bool { return isRolling(p.deployment) }

// all returns the existing and planned MachineSets.
func (p *plan) all() []*setState {
	if p.current == nil {
		return p.old
	}
	return append(slices.Clone(p.old), p.current)
}

// chooseCurrent sets current and old. If several MachineSets have the template, it chooses the largest, then the
// oldest. After rollout.after, a MachineSet must have been created since then.
func (p *plan) chooseCurrent(setStates []*setState) {
	after := p.deployment.Spec.Rollout.After
	if after != nil && p.now.Before(after.Time) {
		p.until, after = after.Time, nil
	}
	var candidates []*setState
	for _, v := range setStates {
		if v.set.DeletionTimestamp == nil && len(members.TemplateDifferences(&v.set.Spec.Template, &p.deployment.Spec.Template)) == 0 &&
			(after == nil || !v.set.CreationTimestamp.Time.Before(after.Time)) {
			candidates = append(candidates, v)
		}
	}
	slices.SortFunc(candidates, func(a, b *setState) int { return cmp.Or(int(b.specReplicas()-a.specReplicas()), compareAge(a, b)) })
	if len(candidates) > 0 {
		p.current = candidates[0]
	}
	for _, v := range setStates {
		if v != p.current {
			p.old = append(p.old, v)
		}
	}
	slices.SortFunc(p.old, compareAge)
}

// revision returns the revision of the current MachineSet. It is higher than those of all others, and never decreases.
func (p *plan) revision() string {
	if p.current == nil {
		return ""
	}
	var highest int64
	for _, v := range p.old {
		highest = max(highest, v.revision())
	}
	return strconv.FormatInt(max(highest+1, p.current.revision()), 10)
}

// setsToDelete returns the MachineSets to delete: those without Machines that exceed the history limit. It returns none
// during a rollout.
func (p *plan) setsToDelete() []*setState {
	if p.current == nil || p.current.set.UID == "" || p.current.replicas != p.total ||
		sum(p.old, (*setState).maxReplicas)+sum(p.old, (*setState).specReplicas) > 0 {
		return nil
	}
	var idle []*setState
	for _, v := range p.old {
		if v.set.DeletionTimestamp == nil {
			idle = append(idle, v)
		}
	}
	slices.SortStableFunc(idle, func(a, b *setState) int { return cmp.Compare(a.revision(), b.revision()) })
	return idle[:max(len(idle)-int(ptr.Deref(p.deployment.Spec.RevisionHistoryLimit, defaultHistory)), 0)]
}

// defaultHistory is the API's default of revisionHistoryLimit.
const defaultHistory = 1
