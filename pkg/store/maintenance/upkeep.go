// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"
)

const (
	// upkeepInterval is the time between two checks of the space. A busy client writes less than
	// the reserve in it.
	upkeepInterval = 10 * time.Second
	// upkeepTimeout is the time limit for each request to etcd.
	upkeepTimeout = time.Minute
	// repeatInterval is the time after which the log reports scarce space again.
	repeatInterval = 10 * time.Minute
	// settleKey is written to make etcd commit. It is not below the prefix of the objects.
	settleKey = "/slipway.dev/settle"
)

// Run checks the space until ctx is done, and frees space in an embedded member.
func (s *Store) Run(ctx context.Context) {
	logger := klog.FromContext(ctx)
	ticker := time.NewTicker(upkeepInterval)
	defer ticker.Stop()
	var r reporter
	for {
		s.retryUnreachable()
		space, err := s.MakeRoom(ctx, false)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			logger.Error(err, "Maintaining the space of etcd failed and will be repeated", "interval", upkeepInterval)
		default:
			r.report(logger, space, time.Now())
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// reporter writes to the log when space becomes scarce or scarcer, and again from time to time.
type reporter struct {
	reported level
	at       time.Time
}

func (r *reporter) report(logger klog.Logger, space Space, now time.Time) {
	l := space.level()
	switch {
	case l == enough && r.reported != enough:
		logger.Info("etcd has enough space again", "space", space)
		r.reported = l
	case l > r.reported || l != enough && now.Sub(r.at) >= repeatInterval:
		logger.Error(space.Err(), "etcd is running out of space: delete objects, or increase its volume and quota")
		r.reported, r.at = l, now
	}
}

// MakeRoom frees space in an embedded member if space is scarce, and returns the resulting space. At a start it always compacts,
// because no client knows an older revision yet. A server that restarts often would never compact otherwise.
func (s *Store) MakeRoom(ctx context.Context, starting bool) (Space, error) {
	space, err := s.remeasure()
	if err != nil || s.local == nil || !starting && !space.pressed() {
		return space, err
	}
	revision, err := s.compact(ctx, space)
	if err != nil {
		return space, err
	}
	if space, err = s.remeasure(); err != nil {
		return space, err
	}
	// A member that refuses writes does not commit, so that its size does not include the freed space.
	uncounted := space.Stopped && revision > s.defragmented && space.DiskFree > space.InUse+space.InUse/10
	if uncounted || space.fragmented(starting) {
		if err := s.defragment(ctx, space); err != nil {
			return space, err
		}
		s.defragmented = revision
		if space, err = s.remeasure(); err != nil {
			return space, err
		}
	}
	if space.recovered() {
		if err := s.disarm(ctx); err != nil {
			return space, err
		}
		if space, err = s.remeasure(); err == nil && !space.Stopped {
			klog.FromContext(ctx).Info("etcd was full and accepts writes again", "space", space)
		}
	}
	return space, err
}

// defragment rewrites the file of the embedded member, unless a snapshot is being read. It would have to wait for the snapshot, and
// all requests would wait for it.
func (s *Store) defragment(ctx context.Context, space Space) error {
	if !s.saving.TryLock() {
		return nil // the next check tries again
	}
	defer s.saving.Unlock()
	klog.FromContext(ctx).Info("Defragmenting the embedded etcd; requests wait meanwhile", "space", space)
	if err := s.local.Defragment(); err != nil {
		return fmt.Errorf("defragmenting etcd: %w", err)
	}
	return nil
}

// disarm disarms the space alarms. A full member raises its alarm again at the next write.
func (s *Store) disarm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, upkeepTimeout)
	defer cancel()
	alarms, err := s.members[0].alarms(ctx)
	if err != nil {
		return err
	}
	for _, alarm := range alarms {
		if _, err := s.members[0].client.AlarmDisarm(ctx, alarm); err != nil {
			return fmt.Errorf("disarming the alarm of etcd member %x: %w", alarm.MemberID, err)
		}
	}
	return nil
}

// compact removes all history, and returns the revision. Watches that are up to date continue;
// others get 410.
func (s *Store) compact(ctx context.Context, space Space) (revision int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, upkeepTimeout)
	defer cancel()
	m := s.members[0]
	status, err := m.client.Status(ctx, m.endpoint)
	if err != nil {
		return 0, fmt.Errorf("reading the revision of etcd: %w", err)
	}
	revision = status.Header.GetRevision()
	if _, err := m.client.Compact(ctx, revision, clientv3.WithCompactPhysical()); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return 0, fmt.Errorf("compacting etcd: %w", err)
	}
	if space.Size < smallFile || space.Stopped {
		return revision, nil
	}
	return revision, m.settle(ctx)
}

// settle waits until the pages that a compaction has freed count as free. etcd counts them at the
// commit after the next one, and commits only when something was written.
func (m *member) settle(ctx context.Context) error {
	const commits = 4
	for range commits {
		if _, err := m.client.Put(ctx, settleKey, ""); err != nil && !errors.Is(err, rpctypes.ErrNoSpace) {
			return fmt.Errorf("writing to etcd after a compaction: %w", err)
		}
		m.commit(ctx)
	}
	return nil
}
