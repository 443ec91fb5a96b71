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

// maxPatience bounds for how many Leases that are held others are given more time, so that
// the time until one of a process that died is taken over is bounded too.
const maxPatience = 2

// elect contends for a Lease and holds it until ctx is done. One that could not be renewed in
// time closes its fence, and the election is run again. Only when another process has held
// it meanwhile does that end.
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

// elector runs elections until ctx is done.
func (l *Leases) elector(ctx context.Context, e *lease, superseded func(error)) (*leaderelection.LeaderElector, error) {
	o := l.opts
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, o.Namespace, e.name,
		o.Client.CoreV1(), o.Client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: o.Identity})
	if err != nil {
		return nil, fmt.Errorf("preparing the Lease %s: %w", e.name, err)
	}
	working := func() bool { return ctx.Err() == nil }
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &patientLock{Interface: e.fence.Lock(lock, working, superseded), leases: l, lease: e},
		Name: e.name, ReleaseOnCancel: true,
		LeaseDuration: o.Times.Duration, RenewDeadline: o.Times.RenewDeadline, RetryPeriod: o.Times.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { l.hold(e) },
			OnStoppedLeading: func() {
				if working() {
					klog.FromContext(ctx).Info("The Lease could not be renewed: nothing is started under it and no status is written until it is")
				}
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the election by the Lease %s: %w", e.name, err)
	}
	return elector, nil
}

// patientLock leaves a free Lease to others for a while.
type patientLock struct {
	resourcelock.Interface
	leases *Leases
	lease  *lease
}

// Create implements resourcelock.Interface.
func (p *patientLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return p.take(ctx, record, p.Interface.Create)
}

// Update implements resourcelock.Interface. The host cluster refuses it if another process
// was faster, for it is about the Lease as it was read before.
func (p *patientLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == "" {
		return p.Interface.Update(ctx, record)
	}
	return p.take(ctx, record, p.Interface.Update)
}

// take sends a request by which this process has the Lease.
func (p *patientLock) take(ctx context.Context, record resourcelock.LeaderElectionRecord, send func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	if !p.lease.shared || p.leases.took(p.lease) {
		return send(ctx, record)
	}
	for free := time.Now(); ; {
		p.leases.taking.Lock()
		wait := time.Until(free.Add(p.leases.patience()))
		if wait <= 0 {
			break
		}
		p.leases.taking.Unlock()
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer p.leases.taking.Unlock()
	err := send(ctx, record)
	if err == nil {
		p.leases.mu.Lock()
		p.lease.taken = true
		p.leases.mu.Unlock()
	}
	return err
}

func (l *Leases) took(e *lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return e.taken
}

// patience is for how long a Lease that is free is left to others.
func (l *Leases) patience() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var held time.Duration
	for _, e := range l.all {
		if e.taken {
			held++
		}
	}
	return min(held, maxPatience) * l.opts.Patience
}
