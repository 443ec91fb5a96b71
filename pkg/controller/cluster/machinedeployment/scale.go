// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machinedeployment

import (
	"cmp"
	"math"
	"slices"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// scaled reports whether a MachineSet has replicas that were planned for another number of total replicas.
func (p *plan) scaled(v *view) bool {
	then, ok := v.annotated(clusterv1alpha1.DesiredReplicasAnnotation)
	return ok && v.spec() > 0 && then != p.wanted
}

// share scales the MachineSets to the desired total without rolling. During a rollout it preserves their proportions.
func (p *plan) share() {
	active := slices.DeleteFunc(p.all(), func(v *view) bool { return v.spec() == 0 })
	switch {
	case len(active) == 1:
		active[0].replicas = p.wanted
	case len(active) == 0 && p.current != nil:
		p.current.replicas = p.wanted
	case len(active) == 0 && len(p.old) > 0:
		p.old[len(p.old)-1].replicas = p.wanted
	case len(active) == 0:
	case p.saturated():
		for _, v := range p.old {
			v.replicas = 0
		}
	case p.rolling():
		p.proportion(active)
	}
}

// saturated reports whether the current MachineSet has all desired replicas and all are available.
func (p *plan) saturated() bool {
	if p.current == nil {
		return false
	}
	then, ok := p.current.annotated(clusterv1alpha1.DesiredReplicasAnnotation)
	return ok && then == p.wanted && p.current.spec() == p.wanted && p.current.available(p.wanted) == p.wanted
}

// proportion distributes the replicas to add or remove among active MachineSets by size, the largest first. Among equal
// ones the newest grows first and the oldest shrinks first.
func (p *plan) proportion(active []*view) {
	allowed := p.wanted + p.surge
	if p.wanted == 0 {
		allowed = 0
	}
	add := allowed - sum(active, (*view).spec)
	slices.SortFunc(active, func(a, b *view) int {
		age := older(a, b)
		if add > 0 {
			age = -age
		}
		return cmp.Or(int(b.spec()-a.spec()), age)
	})
	left := add
	for _, v := range active {
		n := p.fraction(v)
		if add > 0 {
			n = min(n, left)
		} else {
			n = max(n, left)
		}
		v.replicas += n
		left -= n
	}
	active[0].replicas = max(active[0].replicas+left, 0)
}

// fraction returns by how many replicas a MachineSet changes if it keeps its proportion of the total.
func (p *plan) fraction(v *view) int32 {
	if p.wanted == 0 {
		return -v.spec()
	}
	then, ok := v.annotated(clusterv1alpha1.MaxReplicasAnnotation)
	if !ok || then <= 0 {
		then = max(sum(p.all(), (*view).count), 1)
	}
	return int32(math.Round(float64(v.spec())*float64(p.wanted+p.surge)/float64(then))) - v.spec()
}
