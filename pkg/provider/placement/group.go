// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Group has the zones of the other members of a virtual machine's group. A nil Group has no effect.
type Group struct {
	// Name of the group, and its placement policy.
	Name   string
	Policy vmv1alpha1.PlacementPolicy
	// Others is the number of other members in each zone.
	Others map[string]int
}

// isRefused reports whether the policy is Together and other members have zones, but none has zone.
func (g *Group) isRefused(zone string) bool {
	return g != nil && g.Policy == vmv1alpha1.PlacementTogether && len(g.Others) > 0 && g.Others[zone] == 0
}

// refusal returns the error for a zone that isRefused rejects.
func (g *Group) refusal() error {
	where := conditions.JoinLimited(slices.Sorted(maps.Keys(g.Others)), ", ")
	return &provider.NotUsableError{Message: fmt.Sprintf("VirtualMachineGroup %q has placement policy Together and its other virtual machines are in %s", g.Name, where)}
}

// compare orders the zone with fewer other members first if the policy is Apart.
func (g *Group) compare(a, b string) int {
	if g == nil || g.Policy != vmv1alpha1.PlacementApart {
		return 0
	}
	return cmp.Compare(g.Others[a], g.Others[b])
}

// groupOf counts the other members of a virtual machine's group by zone, or by the zone that was chosen for them. The
// caller holds mu.
func (p *Placer) groupOf(placement *provider.Placement) *Group {
	if placement == nil {
		return nil
	}
	g := &Group{Name: placement.Group, Policy: placement.Policy, Others: map[string]int{}}
	for key, zone := range placement.Others {
		if rec := p.states[provider.VirtualMachineKey(key)]; zone == "" && rec != nil {
			zone = rec.chosen
		}
		if zone != "" {
			g.Others[zone]++
		}
	}
	return g
}
