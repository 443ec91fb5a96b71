// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"strings"

	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/lease"
)

const (
	// ControllersLease is the Lease of the work that one replica does for all vCenters, and of VMs without a vCenter.
	ControllersLease = "slipway-controllers"
	// vcenterLease is the prefix of the names of vCenter Leases. The name of the vCenter follows.
	vcenterLease = "slipway-vcenter-"
)

// leaseOf returns the name of the Lease of a vCenter.
func leaseOf(vcenter string) string { return vcenterLease + vcenter }

// shard divides objects among replicas by Leases, one for each vCenter.
type shard struct {
	leases *lease.Leases
	// known reports whether a vCenter exists, if set. Objects of an unknown vCenter are handled like those without one.
	known func(vcenter string) bool
}

var _ controller.Shard = shard{}

// leaseFor returns the Lease of the objects of a vCenter.
func (s shard) leaseFor(vcenter string) string {
	if vcenter == "" || s.known != nil && !s.known(vcenter) {
		return ControllersLease
	}
	return leaseOf(vcenter)
}

// Bind implements controller.Shard.
func (s shard) Bind(ctx context.Context, vcenter string) (context.Context, error) {
	return s.leases.Bind(ctx, s.leaseFor(vcenter))
}

// IsOwned implements controller.Shard.
func (s shard) IsOwned(vcenter string) bool { return !s.leases.Held(s.leaseFor(vcenter)).IsZero() }

// Watch implements controller.Shard.
func (s shard) Watch(ctx context.Context, gained func(vcenter string)) {
	s.leases.Watch(ctx, func(held string) {
		if name, ok := strings.CutPrefix(held, vcenterLease); ok {
			gained(name)
		} else if held == ControllersLease {
			gained("")
		}
	})
}

// Bind implements vcenter.VCenters. It contends for the Lease of the vCenter.
func (v *Manager) Bind(ctx context.Context, name string) (context.Context, error) {
	v.leases.Contend(ctx, leaseOf(name), true)
	return v.shard.Bind(ctx, name)
}

// holdsAny reports whether this replica manages any vCenter.
func (v *Manager) holdsAny() bool {
	for _, name := range v.leases.Names() {
		if strings.HasPrefix(name, vcenterLease) {
			return true
		}
	}
	return false
}

// Disconnect implements vcenter.VCenters.
func (v *Manager) Disconnect(ctx context.Context, name string) error {
	err := v.Connect(ctx, name, nil)
	v.leases.Withdraw(leaseOf(name))
	return err
}
