// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// errWorking refuses to give a Lease back that was not renewed in time: what this
// process has started still runs.
var errWorking = errors.New("the Lease is not given back before all work has ended")

// Lock returns the lock of an election that tells the Fence of every renewal.
//
// The elector gives the Lease back when it could not renew it; that is refused until
// working returns false, when all work has ended. superseded is called once, and the Fence stays
// closed, when somebody else has held the Lease since this process first did.
func (f *Fence) Lock(lock resourcelock.Interface, working func() bool, superseded func(error)) resourcelock.Interface {
	return &provingLock{Interface: lock, fence: f, working: working, superseded: superseded}
}

// provingLock is called by one elector after another, one call at a time.
type provingLock struct {
	resourcelock.Interface
	fence      *Fence
	working    func() bool
	superseded func(error)

	// held is true once this process has held the Lease, transitions how often it had
	// changed hands then.
	held        bool
	transitions int
}

// Get implements resourcelock.Interface.
func (l *provingLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && l.held && record.HolderIdentity != "" && record.HolderIdentity != l.Identity() {
		l.lost(fmt.Errorf("another replica has the Lease %s now: %s", l.Describe(), record.HolderIdentity))
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *provingLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.prove(ctx, record, l.Interface.Create)
}

// Update implements resourcelock.Interface.
func (l *provingLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	switch {
	case record.HolderIdentity == "" && l.working():
		return errWorking
	case record.HolderIdentity == "":
		return l.Interface.Update(ctx, record)
	case l.held && record.LeaderTransitions != l.transitions:
		err := fmt.Errorf("another replica has held the Lease %s meanwhile", l.Describe())
		l.lost(err)
		return err
	}
	return l.prove(ctx, record, l.Interface.Update)
}

// prove sends a request that makes or keeps this process the holder.
func (l *provingLock) prove(ctx context.Context, record resourcelock.LeaderElectionRecord, send func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	asked := l.fence.now()
	if err := send(ctx, record); err != nil {
		return err
	}
	l.held, l.transitions = true, record.LeaderTransitions
	l.fence.renew(asked)
	return nil
}

func (l *provingLock) lost(err error) {
	if l.fence.Close() {
		l.superseded(err)
	}
}
