// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machinedeployment

// grow increases the current MachineSet to the desired replicas, as far as surge allows.
func (p *plan) grow(surge int32) {
	c := p.current
	if c.replicas >= p.total {
		c.replicas = p.total
		return
	}
	room := p.total + surge - sum(p.all(), (*setState).maxReplicas)
	c.replicas += max(min(room, p.total-c.replicas), 0)
}

// shrink decreases the old MachineSets, the oldest first. It removes Machines that are not available and as many
// available ones as maxUnavailable allows. It keeps one old Machine for each Machine of the current MachineSet that is
// not available yet, so that a faulty template replaces few Machines.
func (p *plan) shrink() {
	least := p.total - p.unavailable
	pending := max(p.current.replicas-p.current.available(p.current.replicas), 0)
	room := sum(p.all(), func(v *setState) int32 { return v.replicas }) - least - pending
	budget := max(sum(p.all(), func(v *setState) int32 { return v.available(v.replicas) })-least, 0)
	for _, v := range p.old {
		for n := min(v.replicas, room); n > 0; n-- {
			if loss := v.available(v.replicas) - v.available(v.replicas-n); loss <= budget {
				v.replicas -= n
				room -= n
				budget -= loss
				break
			}
		}
	}
}

// unblock decreases an old MachineSet by one if the rollout is otherwise blocked. The rollout is blocked if no change
// is in progress, all Machines of the current MachineSet are available, and an old MachineSet has unavailable Machines
// that would be deleted after available ones. It may violate maxUnavailable by one Machine, because the rollout would
// never end otherwise. It does nothing while a Machine only waits for minReadySeconds.
func (p *plan) unblock() {
	for _, v := range p.all() {
		if v.replicas != v.specReplicas() || v.machineCount() != v.specReplicas() || v.isWaiting() {
			return
		}
	}
	if p.current.available(p.current.replicas) != p.current.replicas {
		return
	}
	for _, v := range p.old {
		if v.replicas > 0 && v.available(v.replicas) < v.replicas {
			v.replicas--
			return
		}
	}
}

// limitToMachines limits the replicas of the old MachineSets to their Machines. With the strategy OnDelete only users
// delete Machines.
func (p *plan) limitToMachines() {
	for _, v := range p.old {
		v.replicas = min(v.replicas, v.machineCount())
	}
}

// trim decreases the old MachineSets, the oldest first, by the replicas that exceed the desired number.
func (p *plan) trim() {
	excess := sum(p.all(), func(v *setState) int32 { return v.replicas }) - p.total
	for _, v := range p.old {
		n := max(min(v.replicas, excess), 0)
		v.replicas -= n
		excess -= n
	}
}
