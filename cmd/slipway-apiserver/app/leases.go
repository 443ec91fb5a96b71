// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"strings"
	"time"

	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // leader_election_master_status

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	vmcontroller "github.com/slipway-dev/slipway/pkg/controller/vm"
	leases "github.com/slipway-dev/slipway/pkg/lease"
)

const (
	// controllersLease is the Lease of what is done by one replica whatever vCenters there
	// are, and for virtual machines of no vCenter.
	controllersLease = "slipway-controllers"
	// vcenterLease is what the Leases of vCenters begin with; the name of the vCenter follows.
	vcenterLease = "slipway-vcenter-"
)

// leaseTimes are those of a process that has been alone since a moment, and follows another
// one by its identity, or of one of several.
func leaseTimes(alone time.Time) leases.Times {
	if !alone.IsZero() {
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
	if d.alone.IsZero() {
		o.Patience = leases.Patience
	}
	d.leases = leases.New(&o)
	return nil
}

// leaseOf is the Lease of a vCenter.
func leaseOf(vcenter string) string { return vcenterLease + vcenter }

// shares divide virtual machines by Leases: those of one vCenter are one share.
type shares struct {
	*leases.Leases
	of func(*vmv1alpha1.VirtualMachine) string
}

var _ vmcontroller.Shares = shares{}

// Of implements virtualmachine.Shares.
func (s shares) Of(vm *vmv1alpha1.VirtualMachine) string {
	if vcenter := s.of(vm); vcenter != "" {
		return leaseOf(vcenter)
	}
	return controllersLease
}

// Held implements virtualmachine.Shares.
func (s shares) Held(share string) bool { return !s.Leases.Held(share).IsZero() }

// Bind implements vcenter.VCenters. It is the Lease that divides vCenters.
func (v *vcenters) Bind(ctx context.Context, name string) (context.Context, error) {
	v.deps.leases.Contend(ctx, leaseOf(name), true)
	return v.deps.leases.Bind(ctx, leaseOf(name))
}

// Watch implements vcenter.VCenters.
func (v *vcenters) Watch(ctx context.Context, gained func(name string)) {
	v.deps.leases.Watch(ctx, func(lease string) {
		if name, ok := strings.CutPrefix(lease, vcenterLease); ok {
			gained(name)
		}
	})
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
