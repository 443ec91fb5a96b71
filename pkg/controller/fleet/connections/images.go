// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/fleet"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere"
)

// settling is the time in which a replica that has just started does not ask vCenters that
// it may be about to take care of by sessions of their own.
const settling = 10 * time.Second

// Images reads what virtual machines are created from, in all vCenters: those of other replicas
// by connections that change nothing.
func (v *Manager) Images() provider.Images { return fleet.Images{Sources: v.sources} }

// sources are the vCenters in the order of their names, the default one first.
func (v *Manager) sources(ctx context.Context) (all []fleet.Source) {
	for _, name := range v.zones.vcenterNames() {
		s := fleet.Source{VCenter: name}
		driver, err := v.asking(ctx, name)
		if s.Err = err; err == nil {
			s.Images = driver.Images()
		}
		all = append(all, s)
	}
	return all
}

// asking returns the driver to ask a vCenter by that this replica need not take care of. What
// it opens outlives ctx.
func (v *Manager) asking(ctx context.Context, name string) (*vsphere.Driver, error) {
	members, _ := v.fleet.Members()
	if m := members[name]; m != nil {
		if lost := m.Unreachable(); lost != nil {
			return nil, lost // without the wait for a call that fails
		}
		return m.driver, nil
	}
	if err := v.elsewhere(name); err != nil {
		return nil, err
	}
	return v.readers.of(ctx, name)
}

// elsewhere is nil if another replica may take care of a vCenter. It is ErrNotInUse while it
// is about to be used here, or may be.
func (v *Manager) elsewhere(name string) error {
	here := !v.leases.Held(leaseOf(name)).IsZero()
	switch {
	case here && !v.fleet.Known(name), time.Since(v.leases.Held(ControllersLease)) < settling:
		return provider.ErrNotInUse
	case here:
		return fmt.Errorf("VCenter %q is not in use: its status says why", name)
	}
	return nil
}

// vcenterNames are those of all vCenters, the default one first.
func (s *zoneSet) vcenterNames() []string {
	objects, err := s.vcenters.List(labels.Everything())
	if err != nil || !s.known() {
		return nil // a cache does not fail
	}
	var all []string
	for _, vc := range objects {
		if vc.Name != vmv1alpha1.DefaultVCenter {
			all = append(all, vc.Name)
		}
	}
	slices.SortFunc(all, strings.Compare)
	if s.hasVCenter(vmv1alpha1.DefaultVCenter) {
		all = append([]string{vmv1alpha1.DefaultVCenter}, all...)
	}
	return all
}
