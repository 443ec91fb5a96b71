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

// Group is what the others of its group say about the zone of a virtual machine; nil says
// nothing.
type Group struct {
	// Name of the group, and what it wants.
	Name   string
	Policy vmv1alpha1.PlacementPolicy
	// Others is how many of the group are in a zone.
	Others map[string]int
}

// refuses is true for a zone that none of the others is in, if they are to be together.
func (g *Group) refuses(zone string) bool {
	return g != nil && g.Policy == vmv1alpha1.PlacementTogether && len(g.Others) > 0 && g.Others[zone] == 0
}

// why is the reason of refuses.
func (g *Group) why() error {
	where := conditions.List(slices.Sorted(maps.Keys(g.Others)), ", ")
	return &provider.NotUsableError{Message: fmt.Sprintf("VirtualMachineGroup %q keeps its virtual machines together, and the others are in %s", g.Name, where)}
}

// compare puts the zone first that fewer of the others are in, if they are to be apart.
func (g *Group) compare(a, b string) int {
	if g == nil || g.Policy != vmv1alpha1.PlacementApart {
		return 0
	}
	return cmp.Compare(g.Others[a], g.Others[b])
}

// groupOf counts the others of the group of a virtual machine by the zone that they are in,
// or that was chosen for them. mu is held.
func (p *Placer) groupOf(placement *provider.Placement) *Group {
	if placement == nil {
		return nil
	}
	g := &Group{Name: placement.Group, Policy: placement.Policy, Others: map[string]int{}}
	for key, zone := range placement.Others {
		if rec := p.records[provider.VirtualMachineKey(key)]; zone == "" && rec != nil {
			zone = rec.chosen
		}
		if zone != "" {
			g.Others[zone]++
		}
	}
	return g
}
