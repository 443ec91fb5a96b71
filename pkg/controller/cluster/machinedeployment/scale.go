// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machinedeployment

import (
	"cmp"
	"math"
	"slices"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// isScaled reports whether a MachineSet has replicas that were planned for another number of total replicas.
func (p *plan) isScaled(v *setState) bool {
	planned, ok := v.annotation(clusterv1alpha1.DesiredReplicasAnnotation)
	return ok && v.specReplicas() > 0 && planned != p.total
}

// distribute scales the MachineSets to the desired total without rolling. During a rollout it preserves their
// proportions.
func (p *plan) distribute() {
	active := slices.DeleteFunc(p.all(), func(v *setState) bool { return v.specReplicas() == 0 })
	switch {
	case len(active) == 1:
		active[0].replicas = p.total
	case len(active) == 0 && p.current != nil:
		p.current.replicas = p.total
	case len(active) == 0 && len(p.old) > 0:
		p.old[len(p.old)-1].replicas = p.total
	case len(active) == 0:
	case p.isSaturated():
		for _, v := range p.old {
			v.replicas = 0
		}
	case p.isRolling():
		p.distributeProportionally(active)
	}
}

// isSaturated reports whether the current MachineSet has all desired replicas and all are available.
func (p *plan) isSaturated() bool {
	if p.current == nil {
		return false
	}
	planned, ok := p.current.annotation(clusterv1alpha1.DesiredReplicasAnnotation)
	return ok && planned == p.total && p.current.specReplicas() == p.total && p.current.available(p.total) == p.total
}

// distributeProportionally distributes the replicas to add or remove among active MachineSets by size, the largest
// first. Among equal ones the newest grows first and the oldest shrinks first.
func (p *plan) distributeProportionally(active []*setState) {
	allowed := p.total + p.surge
	if p.total == 0 {
		allowed = 0
	}
	add := allowed - sum(active, (*setState).specReplicas)
	slices.SortFunc(active, func(a, b *setState) int {
		age := compareAge(a, b)
		if add > 0 {
			age = -age
		}
		return cmp.Or(int(b.specReplicas()-a.specReplicas()), age)
	})
	left := add
	for _, v := range active {
		n := p.proportionalChange(v)
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

// proportionalChange returns by how many replicas a MachineSet changes if it keeps its proportion of the total.
func (p *plan) proportionalChange(v *setState) int32 {
	if p.total == 0 {
		return -v.specReplicas()
	}
	planned, ok := v.annotation(clusterv1alpha1.MaxReplicasAnnotation)
	if !ok || planned <= 0 {
		planned = max(sum(p.all(), (*setState).machineCount), 1)
	}
	return int32(math.Round(float64(v.specReplicas())*float64(p.total+p.surge)/float64(planned))) - v.specReplicas()
}
