// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// maxPatience limits the number of held Leases that count for patience, and so the time until the Lease of a process that
// died is acquired.
const maxPatience = 2

// elect contends for a Lease and holds it until ctx is done. If the Lease could not be renewed in time, its fence is closed
// and the election runs again, unless another process has held the Lease in between.
func (l *Leases) elect(ctx context.Context, e *lease) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	elector, err := l.elector(ctx, e, func(err error) {
		end()
		l.opts.Fail(err)
	})
	if err != nil {
		l.opts.Fail(err)
		return
	}
	for ctx.Err() == nil {
		elector.Run(ctx)
	}
}

// elector returns the elector of a Lease. It calls superseded when another process has held the Lease.
func (l *Leases) elector(ctx context.Context, e *lease, superseded func(error)) (*leaderelection.LeaderElector, error) {
	o := l.opts
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, o.Namespace, e.name,
		o.Client.CoreV1(), o.Client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: o.Identity})
	if err != nil {
		return nil, fmt.Errorf("preparing the Lease %s: %w", e.name, err)
	}
	working := func() bool { return ctx.Err() == nil }
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &patientLock{Interface: e.fence.WrapLock(lock, working, superseded), leases: l, lease: e},
		Name: e.name, ReleaseOnCancel: true,
		LeaseDuration: o.Times.Duration, RenewDeadline: o.Times.RenewDeadline, RetryPeriod: o.Times.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { l.hold(e) },
			OnStoppedLeading: func() {
				if working() {
					klog.FromContext(ctx).Info("The Lease could not be renewed; no work is started and no status is written until it is renewed")
				}
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the election by the Lease %s: %w", e.name, err)
	}
	return elector, nil
}

// patientLock waits before it acquires a free Lease.
type patientLock struct {
	resourcelock.Interface
	leases *Leases
	lease  *lease
}

// Create implements resourcelock.Interface.
func (p *patientLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return p.acquire(ctx, record, p.Interface.Create)
}

// Update implements resourcelock.Interface. The API server refuses it with a conflict if another process was faster.
func (p *patientLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == "" {
		return p.Interface.Update(ctx, record)
	}
	return p.acquire(ctx, record, p.Interface.Update)
}

// acquire sends a request that makes this process the holder.
func (p *patientLock) acquire(ctx context.Context, record resourcelock.LeaderElectionRecord, send func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	if !p.lease.shared || p.leases.isAcquired(p.lease) {
		return send(ctx, record)
	}
	for free := time.Now(); ; {
		p.leases.acquiring.Lock()
		wait := time.Until(free.Add(p.leases.patience()))
		if wait <= 0 {
			break
		}
		p.leases.acquiring.Unlock()
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer p.leases.acquiring.Unlock()
	err := send(ctx, record)
	if err == nil {
		p.leases.mu.Lock()
		p.lease.acquired = true
		p.leases.mu.Unlock()
	}
	return err
}

func (l *Leases) isAcquired(e *lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return e.acquired
}

// patience returns how long this process waits before it acquires a free Lease.
func (l *Leases) patience() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var held time.Duration
	for _, e := range l.all {
		if e.acquired {
			held++
		}
	}
	return min(held, maxPatience) * l.opts.Patience
}
