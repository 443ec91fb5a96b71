// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// errWorking is returned if the elector releases a Lease that it could not renew while work under it still runs.
var errWorking = errors.New("the Lease is not released before all work has ended")

// Lock returns a lock for an election that opens the Fence at each renewal.
//
// The elector releases a Lease that it could not renew. The lock refuses the release until working returns false,
// because work under the Lease still runs. When another process has held the Lease after this one, superseded is called
// once, and the Fence stays closed.
func (f *Fence) Lock(lock resourcelock.Interface, working func() bool, superseded func(error)) resourcelock.Interface {
	return &fencingLock{Interface: lock, fence: f, working: working, superseded: superseded}
}

// fencingLock is used by one elector at a time.
type fencingLock struct {
	resourcelock.Interface
	fence      *Fence
	working    func() bool
	superseded func(error)

	// held is set after this process has held the Lease. transitions is the number of changes of the holder at that
	// time.
	held        bool
	transitions int
}

// Get implements resourcelock.Interface.
func (l *fencingLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && l.held && record.HolderIdentity != "" && record.HolderIdentity != l.Identity() {
		l.recordLoss(fmt.Errorf("another replica has the Lease %s now: %s", l.Describe(), record.HolderIdentity))
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *fencingLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.prove(ctx, record, l.Interface.Create)
}

// Update implements resourcelock.Interface.
func (l *fencingLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	switch {
	case record.HolderIdentity == "" && l.working():
		return errWorking
	case record.HolderIdentity == "":
		return l.Interface.Update(ctx, record)
	case l.held && record.LeaderTransitions != l.transitions:
		err := fmt.Errorf("another replica has held the Lease %s in between", l.Describe())
		l.recordLoss(err)
		return err
	}
	return l.prove(ctx, record, l.Interface.Update)
}

// prove sends a request that acquires or renews the Lease. A success opens the Fence.
func (l *fencingLock) prove(ctx context.Context, record resourcelock.LeaderElectionRecord, send func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	sent := l.fence.now()
	if err := send(ctx, record); err != nil {
		return err
	}
	l.held, l.transitions = true, record.LeaderTransitions
	l.fence.renew(sent)
	return nil
}

func (l *fencingLock) recordLoss(err error) {
	if l.fence.Close() {
		l.superseded(err)
	}
}
