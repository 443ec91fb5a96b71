// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machinedeployment

// grow lets the current set have as many Machines as are wanted, or as surge leaves room for.
func (p *plan) grow(surge int32) {
	c := p.current
	if c.replicas >= p.wanted {
		c.replicas = p.wanted
		return
	}
	room := p.wanted + surge - sum(p.all(), (*view).most)
	c.replicas += max(min(room, p.wanted-c.replicas), 0)
}

// shrink takes Machines from the old sets, the oldest first, as many as may be unavailable, and
// with them those that are not available anyway. As many Machines as are not available yet in
// the current set stay in the old ones, so that a template that is no good replaces few.
func (p *plan) shrink() {
	least := p.wanted - p.unavailable
	pending := max(p.current.replicas-p.current.available(p.current.replicas), 0)
	room := sum(p.all(), func(v *view) int32 { return v.replicas }) - least - pending
	budget := max(sum(p.all(), func(v *view) int32 { return v.available(v.replicas) })-least, 0)
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

// unlock takes one Machine from an old set where nothing else can be done: nothing is under
// way, all of the current set are available, and old ones are not, but others would go before
// them. A formal violation of maxUnavailable ends what would stay for ever; what only takes
// minReadySeconds is waited for.
func (p *plan) unlock() {
	for _, v := range p.all() {
		if v.replicas != v.spec() || v.count() != v.spec() || v.waits() {
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

// follow lets the old sets have what is left of them: of a deployment with strategy OnDelete
// only users take from them.
func (p *plan) follow() {
	for _, v := range p.old {
		v.replicas = min(v.replicas, v.count())
	}
}

// trim takes from the old sets, the oldest first, what there is beyond what is wanted.
func (p *plan) trim() {
	excess := sum(p.all(), func(v *view) int32 { return v.replicas }) - p.wanted
	for _, v := range p.old {
		n := max(min(v.replicas, excess), 0)
		v.replicas -= n
		excess -= n
	}
}
