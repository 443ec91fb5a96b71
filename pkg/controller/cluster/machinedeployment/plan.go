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

// plan is what the sets of a deployment are to be.
type plan struct {
	deployment *deployment
	now        time.Time
	// wanted, surge and unavailable are replicas, and how many more and fewer there may be.
	wanted, surge, unavailable int32
	// current has the template of the deployment; nil if no set has. old are all others, the
	// oldest first.
	current *view
	old     []*view
	// until is when the plan may be another one although nobody changes anything; zero for
	// never.
	until time.Time
}

// newPlan decides what the sets of d are to have. taken is true for names that a new set
// cannot have. What it finds wrong with d is left to admission.
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

// fenceposts are maxSurge, rounded up, and maxUnavailable, rounded down. Not both are 0: a
// share may come to nothing, and then one Machine may be unavailable.
func fenceposts(d *deployment, replicas int32) (surge, unavailable int32) {
	if !rolling(d) {
		return 0, 0
	}
	from := &d.Spec.Rollout.Strategy.RollingUpdate
	more, err := intstr.GetScaledValueFromIntOrPercent(ptr.To(ptr.Deref(from.MaxSurge, intstr.FromInt32(1))), int(replicas), true)
	if err != nil {
		more = 1 // Admission lets no other text pass.
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

// all are the sets that there are or will be.
func (p *plan) all() []*view {
	if p.current == nil {
		return p.old
	}
	return append(slices.Clone(p.old), p.current)
}

// find tells the set that has the template of the deployment from the others: of several the
// largest, then the oldest. After rollout.after, one counts only if it was made since then.
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

// revision is that of the current set: higher than those of all others, and never lower than
// it was.
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

// superfluous are the sets that are deleted: those without Machines, beyond the history that is
// kept, once nothing is left to roll.
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

// defaultHistory is how many sets of older templates are kept where the deployment does not
// say, as the API has it.
const defaultHistory = 1
