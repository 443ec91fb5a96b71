// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"fmt"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/fleet/zone"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// zoneStates observes the zones of the vCenters that this replica manages, and the zones without a vCenter.
type zoneStates struct {
	shard
	used *Manager
}

var _ zone.Zones = zoneStates{}

// Zones returns the observer of Zones.
func (v *Manager) Zones() zone.Zones { return zoneStates{v.existing(), v} }

// existing returns the shard for objects that refer to a vCenter by name. Objects of a vCenter that does not exist are handled
// like those without one.
func (v *Manager) existing() shard { return shard{leases: v.leases, known: v.zones.hasVCenter} }

// State implements zone.Zones.
func (s zoneStates) State(ctx context.Context, z *vmv1alpha1.Zone) (provider.ZoneState, error) {
	name := z.VCenterName()
	if !s.used.zones.hasVCenter(name) {
		return provider.ZoneState{}, &provider.NotUsableError{Message: fmt.Sprintf("there is no VCenter %q", name), Missing: true}
	}
	members, _ := s.used.fleet.Members()
	m := members[name]
	if m == nil {
		return provider.ZoneState{}, fmt.Errorf("VCenter %q has not been started yet", name)
	}
	if err := m.driver.Connected(ctx); err != nil {
		return provider.ZoneState{}, &provider.UnreachableError{VCenter: name, Err: err}
	}
	return m.driver.ZoneState(ctx, z.Name), nil
}

// Machines implements zone.Zones.
func (s zoneStates) Machines(zone string) (int, error) {
	if err := s.used.zones.checkRead(); err != nil {
		return 0, err
	}
	return s.used.zones.machinesIn(zone), nil
}
