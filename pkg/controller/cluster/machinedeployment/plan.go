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
	// wanted is the desired number of replicas. surge and unavailable are the allowed deviations.
	wanted, surge, unavailable int32
	// current is the MachineSet with the template of the MachineDeployment, or nil if there is none. old are all
	// others, the oldest first.
	current *view
	old     []*view
	// until is the time at which the plan may change without an event, or zero.
	until time.Time
}

// newPlan computes the plan of d. taken reports whether a name cannot be used for a new MachineSet. It relies on
// admission to have validated d.
func newPlan(d *deployment, views []*view, taken func(string) bool, now time.Time) *plan {
	p := &plan{deployment: d, now: now, wanted: ptr.Deref(d.Spec.Replicas, 1)}
	p.surge, p.unavailable = fenceposts(d, p.wanted)
	p.find(views)
	scaling := p.rolling() && slices.ContainsFunc(p.all(), p.scaled)
	paused := ptr.Deref(d.Spec.Paused, false)
	switch {
	case paused, scaling:
		p.share()
		return p
	case p.current == nil:
		p.current = newView(newSet(d, taken), nil)
	}
	if p.rolling() {
		p.grow(p.surge)
		p.shrink()
		p.unlock()
	} else {
		p.follow()
		p.grow(0)
		p.trim()
	}
	return p
}

// fenceposts returns maxSurge, rounded up, and maxUnavailable, rounded down. If both are 0, for example after rounding
// a percentage, unavailable is set to 1.
func fenceposts(d *deployment, replicas int32) (surge, unavailable int32) {
	if !rolling(d) {
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

func rolling(d *deployment) bool {
	return d.Spec.Rollout.Strategy.Type != clusterv1alpha1.OnDeleteMachineDeploymentStrategyType
}

func (p *plan) rolling() bool { return rolling(p.deployment) }

// all returns the existing and planned MachineSets.
func (p *plan) all() []*view {
	if p.current == nil {
		return p.old
	}
	return append(slices.Clone(p.old), p.current)
}

// find sets current and old. If several MachineSets have the template, it chooses the largest, then the oldest. After
// rollout.after, a MachineSet must have been created since then.
func (p *plan) find(views []*view) {
	after := p.deployment.Spec.Rollout.After
	if after != nil && p.now.Before(after.Time) {
		p.until, after = after.Time, nil
	}
	var candidates []*view
	for _, v := range views {
		if v.set.DeletionTimestamp == nil && len(members.Outdated(&v.set.Spec.Template, &p.deployment.Spec.Template)) == 0 &&
			(after == nil || !v.set.CreationTimestamp.Time.Before(after.Time)) {
			candidates = append(candidates, v)
		}
	}
	slices.SortFunc(candidates, func(a, b *view) int { return cmp.Or(int(b.spec()-a.spec()), older(a, b)) })
	if len(candidates) > 0 {
		p.current = candidates[0]
	}
	for _, v := range views {
		if v != p.current {
			p.old = append(p.old, v)
		}
	}
	slices.SortFunc(p.old, older)
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

// superfluous returns the MachineSets to delete: those without Machines that exceed the history limit. It returns none
// during a rollout.
func (p *plan) superfluous() []*view {
	if p.current == nil || p.current.set.UID == "" || p.current.replicas != p.wanted ||
		sum(p.old, (*view).most)+sum(p.old, (*view).spec) > 0 {
		return nil
	}
	var idle []*view
	for _, v := range p.old {
		if v.set.DeletionTimestamp == nil {
			idle = append(idle, v)
		}
	}
	slices.SortStableFunc(idle, func(a, b *view) int { return cmp.Compare(a.revision(), b.revision()) })
	return idle[:max(len(idle)-int(ptr.Deref(p.deployment.Spec.RevisionHistoryLimit, defaultHistory)), 0)]
}

// defaultHistory is the API's default of revisionHistoryLimit.
const defaultHistory = 1
