// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"strings"
	"time"

	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // leader_election_master_status

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/virtualmachine"
	"github.com/slipway-dev/slipway/pkg/leases"
)

const (
	// controllersLease is the Lease of what is done by one replica whatever vCenters there
	// are, and for virtual machines of no vCenter.
	controllersLease = "slipway-controllers"
	// vcenterLease is what the Leases of vCenters begin with; the name of the vCenter follows.
	vcenterLease = "slipway-vcenter-"
)

var (
	// aloneTimes are those of the Kubernetes control plane. A process that has the directory
	// of the embedded etcd follows another one by its identity, and waits for nothing.
	aloneTimes = leases.Times{Duration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}
	// sharedTimes let a replica that died be replaced in less than 20 seconds. client-go looks
	// at the Lease of another one every RetryPeriod to 2.2 times that. At the worst it saw the
	// last renewal so much later, sees so much later that the Lease has run out, and is then
	// patient with others: 10 s + 2.2 s + 2.2 s + 2 * 2 s.
	sharedTimes = leases.Times{Duration: 10 * time.Second, RenewDeadline: 7 * time.Second, RetryPeriod: time.Second}
)

// patience lets a replica that has less find a free Lease first, most of the time.
const patience = 2 * time.Second

func leaseTimes(dataDir string) leases.Times {
	if dataDir != "" {
		return aloneTimes
	}
	return sharedTimes
}

// newLeases prepares the Leases.
func newLeases(d *controllerDeps, times leases.Times, fail func(error)) error {
	if !d.options.Controllers.LeaderElect {
		d.leases = leases.New(nil)
		return nil
	}
	who, err := identity(d.dataDir)
	if err != nil {
		return err
	}
	o := leases.Options{Client: d.host, Namespace: d.options.Controllers.LeaderElectNamespace, Identity: who, Times: times, Fail: fail}
	if d.dataDir == "" {
		o.Patience = patience
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

var _ virtualmachine.Shares = shares{}

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
