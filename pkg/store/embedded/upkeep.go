// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"k8s.io/klog/v2"
)

const (
	// upkeepInterval is how often space is looked at. In this time a busy client writes
	// less than what is kept in reserve.
	upkeepInterval = 10 * time.Second
	// upkeepTimeout bounds each of the requests to etcd.
	upkeepTimeout = time.Minute
	// pauseSlot is longer than the largest file takes to be written anew.
	pauseSlot = 2 * time.Minute
	// repeatInterval is how often the log says again that space is scarce.
	repeatInterval = 10 * time.Minute
)

// Space tells how much room there is.
func (s *Server) Space() (Space, error) {
	_, free, err := disk(s.dir)
	if err != nil {
		return Space{}, err
	}
	backend := s.etcd.Server.Backend()
	space := Space{Size: backend.Size(), InUse: backend.SizeInUse(), Quota: s.quota, DiskFree: free}
	if alarmed := s.alarmed(); len(alarmed) > 0 {
		space.Stopped, space.By = true, s.names(alarmed)
	}
	return space, nil
}

// Room returns an error when the room that is left is kept for updates and deletions.
func (s *Server) Room() error { return s.room(reserved) }

// RoomForUpdates returns an error when the room that is left is kept for deletions.
func (s *Server) RoomForUpdates() error { return s.room(full) }

// room returns an error from a level on.
func (s *Server) room(refused level) error {
	space, err := s.Space()
	if err == nil && space.Size >= space.percent(warnPercent) && space.level() < refused {
		// etcd writes in batches, and what is not written yet has no size: a fast client
		// fills the reserve meanwhile.
		s.etcd.Server.Backend().ForceCommit()
		space, err = s.Space()
	}
	if err == nil && space.level() >= refused {
		return space.Err()
	}
	return nil // a file system that cannot be asked is no reason to refuse
}

// keepUp looks after space until ctx is done.
func (s *Server) keepUp(ctx context.Context) {
	logger := klog.FromContext(ctx)
	ticker := time.NewTicker(upkeepInterval)
	defer ticker.Stop()
	var r reporter
	for {
		space, err := s.tend(ctx, false)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			logger.Error(err, "Looking after the embedded etcd failed and will be repeated", "interval", upkeepInterval)
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

// reporter tells the log of scarce space: when it becomes so or worse, and again from
// time to time.
type reporter struct {
	said level
	at   time.Time
}

func (r *reporter) report(logger klog.Logger, space Space, now time.Time) {
	l := space.level()
	switch {
	case l == enough && r.said != enough:
		logger.Info("The embedded etcd has room again", "space", space)
		r.said = l
	case l > r.said || l != enough && now.Sub(r.at) >= repeatInterval:
		logger.Error(space.Err(), "The embedded etcd runs out of space: delete objects, or give it a larger volume and --etcd-quota-backend-bytes")
		r.said, r.at = l, now
	}
}

// tend makes room when there is too little, and returns what there is afterwards. At a
// start of a lone member it gives up history in any case, because nobody can know an older
// revision: a server that is restarted often would never get to it.
func (s *Server) tend(ctx context.Context, starting bool) (Space, error) {
	space, err := s.Space()
	if err != nil {
		return space, err
	}
	defer func() { observe(space) }()
	if starting && s.peer == nil || space.pressed() {
		if err := s.compact(ctx); err != nil {
			return space, err
		}
		if space, err = s.Space(); err != nil {
			return space, err
		}
	}
	if space.fragmented(starting) && (starting || s.mayPause(time.Now())) {
		if err := s.defragment(ctx, space); err != nil {
			return space, err
		}
		if space, err = s.Space(); err != nil {
			return space, err
		}
	}
	if space.recovered() {
		if err := s.disarm(ctx); err != nil {
			return space, err
		}
		if space, err = s.Space(); err == nil && !space.Stopped {
			klog.FromContext(ctx).Info("The embedded etcd was full and takes writes again", "space", space)
		}
	}
	return space, err
}

// defragment writes the file anew, which stops all other work, unless a snapshot is being
// read: it would wait for that.
func (s *Server) defragment(ctx context.Context, space Space) error {
	if !s.saving.TryLock() {
		return nil // the next look at space comes soon
	}
	defer s.saving.Unlock()
	klog.FromContext(ctx).Info("Defragmenting the embedded etcd, which waits meanwhile", "space", space)
	if err := s.etcd.Server.Defragment(); err != nil {
		return fmt.Errorf("defragmenting embedded etcd: %w", err)
	}
	return nil
}

// turn is the place of this member among all: what stops one for a while they do one after
// the other.
func (s *Server) turn() time.Duration {
	place := time.Duration(0)
	for _, m := range s.etcd.Server.Cluster().Members() {
		if m.ID < s.etcd.Server.MemberID() {
			place++
		}
	}
	return place
}

// mayPause tells whether this member may stand still now, for as long as it takes to write its
// file anew.
func (s *Server) mayPause(now time.Time) bool {
	return hasTurn(now, int(s.turn()), len(s.etcd.Server.Cluster().Members()))
}

// hasTurn divides the time among members, by clocks that are not far apart: if they are, two
// stand still at once, and writes wait for one.
func hasTurn(now time.Time, place, members int) bool {
	return members <= 1 || now.Unix()/int64(pauseSlot/time.Second)%int64(members) == int64(place)
}

// compact gives up all history. Watches that are up to date go on; others get 410.
func (s *Server) compact(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, upkeepTimeout)
	defer cancel()
	_, err := s.etcd.Server.Compact(ctx, &pb.CompactionRequest{Revision: s.etcd.Server.KV().Rev(), Physical: true})
	if err != nil && !errors.Is(err, mvcc.ErrCompacted) {
		return fmt.Errorf("compacting embedded etcd: %w", err)
	}
	return s.settle(ctx)
}

// settle waits until what a compaction has freed counts as free: etcd counts it when a
// transaction ends that began after the readers of before had ended, and it waits for
// these on the side.
func (s *Server) settle(ctx context.Context) error {
	const commits, pause = 10, 10 * time.Millisecond
	if s.etcd.Server.Backend().Size() < smallFile {
		return nil
	}
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for range commits {
		tx := s.etcd.Server.Backend().BatchTx()
		tx.LockOutsideApply()
		tx.UnsafeCreateBucket(schema.Meta) // It is there. Without a change nothing is committed.
		tx.Unlock()
		s.etcd.Server.Backend().ForceCommit()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the compaction of embedded etcd: %w", ctx.Err())
		}
	}
	return nil
}
