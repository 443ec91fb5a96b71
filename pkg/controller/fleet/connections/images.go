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

// settleTime is the time after the start in which a replica opens no read-only sessions, because it may be about to manage the
// vCenters.
const settleTime = 10 * time.Second

// Images reads images in all vCenters. It uses read-only connections for the vCenters of other replicas.
func (v *Manager) Images() provider.Images { return fleet.Images{Sources: v.sources} }

// sources returns all vCenters in the order of their names, the default one first.
func (v *Manager) sources(ctx context.Context) (all []fleet.Source) {
	for _, name := range v.zones.vcenterNames() {
		s := fleet.Source{VCenter: name}
		driver, err := v.readOnlyDriver(ctx, name)
		if s.Err = err; err == nil {
			s.Images = driver.Images()
		}
		all = append(all, s)
	}
	return all
}

// readOnlyDriver returns a driver for reading a vCenter, also one that another replica manages. A connection that it
// opens is not closed when ctx ends.
func (v *Manager) readOnlyDriver(ctx context.Context, name string) (*vsphere.Driver, error) {
	members, _ := v.fleet.Members()
	if m := members[name]; m != nil {
		if lost := m.Unreachable(); lost != nil {
			return nil, lost // without waiting for a call that fails
		}
		return m.driver, nil
	}
	if err := v.checkNotOurs(name); err != nil {
		return nil, err
	}
	return v.readers.of(ctx, name)
}

// checkNotOurs returns nil if another replica may manage a vCenter. It returns ErrNotInUse while this replica may be about to
// use it.
func (v *Manager) checkNotOurs(name string) error {
	here := !v.leases.Held(leaseOf(name)).IsZero()
	switch {
	case here && !v.fleet.Known(name), time.Since(v.leases.Held(ControllersLease)) < settleTime:
		return provider.ErrNotInUse
	case here:
		return fmt.Errorf("VCenter %q is not in use; its status has the reason", name)
	}
	return nil
}

// vcenterNames returns the names of all vCenters, the default one first.
func (s *zoneSet) vcenterNames() []string {
	objects, err := s.vcenters.List(labels.Everything())
	if err != nil || !s.known() {
		return nil // a lister does not return errors
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
