// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"strings"

	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // leader_election_master_status

	"github.com/slipway-dev/slipway/pkg/controller"
	leases "github.com/slipway-dev/slipway/pkg/lease"
)

const (
	// controllersLease is the Lease of what is done by one replica whatever vCenters there
	// are, and for virtual machines of no vCenter.
	controllersLease = "slipway-controllers"
	// vcenterLease is what the Leases of vCenters begin with; the name of the vCenter follows.
	vcenterLease = "slipway-vcenter-"
)

// leaseTimes returns the times of a process that is alone, and follows another one by its
// identity, or of one of several.
func leaseTimes(alone bool) leases.Times {
	if alone {
		return leases.AloneTimes
	}
	return leases.SharedTimes
}

// newLeases prepares the Leases.
func newLeases(d *controllerDeps, times leases.Times, fail func(error)) error {
	if !d.options.Controllers.LeaderElect {
		d.leases = leases.New(nil)
		return nil
	}
	who, err := replicaName(d.dataDir)
	if err != nil {
		return err
	}
	o := leases.Options{Client: d.host, Namespace: d.options.Controllers.LeaderElectNamespace, Identity: who, Times: times, Fail: fail}
	if !d.alone {
		o.Patience = leases.Patience
	}
	d.leases = leases.New(&o)
	return nil
}

// leaseOf is the Lease of a vCenter.
func leaseOf(vcenter string) string { return vcenterLease + vcenter }

// shard divides objects among replicas by Leases, one for each vCenter.
type shard struct {
	leases *leases.Leases
	// known, if set, reports whether a vCenter exists. Objects of another one belong to no vCenter.
	known func(vcenter string) bool
}

var _ controller.Shard = shard{}

// lease returns the Lease of the objects of a vCenter.
func (s shard) lease(vcenter string) string {
	if vcenter == "" || s.known != nil && !s.known(vcenter) {
		return controllersLease
	}
	return leaseOf(vcenter)
}

// Bind implements controller.Shard.
func (s shard) Bind(ctx context.Context, vcenter string) (context.Context, error) {
	return s.leases.Bind(ctx, s.lease(vcenter))
}

// Held implements controller.Shard.
func (s shard) Held(vcenter string) bool { return !s.leases.Held(s.lease(vcenter)).IsZero() }

// Watch implements controller.Shard.
func (s shard) Watch(ctx context.Context, gained func(vcenter string)) {
	s.leases.Watch(ctx, func(lease string) {
		if name, ok := strings.CutPrefix(lease, vcenterLease); ok {
			gained(name)
		} else if lease == controllersLease {
			gained("")
		}
	})
}

// Bind implements vcenter.VCenters. It is the Lease that divides vCenters.
func (v *vcenters) Bind(ctx context.Context, name string) (context.Context, error) {
	v.leases.Contend(ctx, leaseOf(name), true)
	return v.shard.Bind(ctx, name)
}

// holds tells whether this replica takes care of any vCenter.
func (v *vcenters) holds() bool {
	for _, name := range v.deps.leases.Names() {
		if strings.HasPrefix(name, vcenterLease) {
			return true
		}
	}
	return false
}

// Leave implements vcenter.VCenters.
func (v *vcenters) Leave(ctx context.Context, name string) error {
	err := v.Use(ctx, name, nil)
	v.deps.leases.Withdraw(leaseOf(name))
	return err
}
