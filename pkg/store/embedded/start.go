// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/klog/v2"
)

const (
	// startTimeout bounds the start of a member until it answers. It reads its whole
	// database meanwhile, which takes a minute at most on a disk that is fit for etcd.
	startTimeout = 5 * time.Minute
	// startNotice is how often the log says that the start takes long.
	startNotice = 10 * time.Second
	// abandonTimeout is how long the end of a member that never answered is waited for.
	abandonTimeout = 5 * time.Second
)

// Start runs a member on o.Dir and waits until it is ready, its space was looked after,
// or ctx is done. The context bounds the start only; Close ends the server. Data that
// cannot be used is a DamagedError.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Dir == "" {
		return nil, errors.New("starting embedded etcd: no data directory given")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("resolving the etcd data directory %q: %w", o.Dir, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the etcd data directory: %w", err)
	}
	s := &Server{dir: dir, quota: o.QuotaBytes, peer: o.Peer, failed: make(chan error, 1), leaderless: leaderless{lost: make(chan struct{})}}
	if s.peer != nil {
		s.fence = newFence(s.peer.Name)
	}
	if s.lock, err = lockDir(dir); err != nil {
		return nil, err
	}
	s.since = time.Now()
	var plan Plan
	if err = s.prepare(); err == nil && s.peer != nil {
		plan, err = s.plan(ctx, s.peer)
	}
	if err != nil {
		s.release()
		return nil, err
	}
	begin := func(ctx context.Context, ready chan<- struct{}) error {
		return s.begin(ctx, o.UnsafeNoFsync, &plan, ready)
	}
	if err := s.start(ctx, begin); err != nil {
		return nil, err
	}
	upkeep, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stopUpkeep = stop
	s.upkeep.Go(func() { s.keepUp(upkeep) })
	if s.peer != nil {
		s.upkeep.Go(func() { s.leaderless.run(upkeep, s.Quorum) })
	}
	go s.watch()
	return s, nil
}

// prepare looks at the directory before etcd does.
func (s *Server) prepare() error {
	if err := inspect(s.dir, s.peer != nil); err != nil {
		return err
	}
	if n, err := membersIn(databasePath(s.dir)); s.peer == nil && err == nil && n > 1 {
		return fmt.Errorf("starting embedded etcd in %s: it has the data of one of %d members, and reaches the others with --etcd-peer-address only", s.dir, n)
	}
	if s.quota == 0 {
		size, _, err := disk(s.dir)
		if err != nil {
			return err
		}
		s.quota = defaultQuota(size)
	}
	var err error
	if s.sockets, err = socketPaths(s.dir); err != nil {
		return err
	}
	// Attach finds the member by it.
	if _, err := s.lock.WriteAt([]byte(s.Endpoint()+"\n"), 0); err != nil {
		return fmt.Errorf("saying where the embedded etcd listens: %w", err)
	}
	return nil
}

// start waits for begin, which may hang in etcd, where nothing can end it.
func (s *Server) start(ctx context.Context, begin func(ctx context.Context, ready chan<- struct{}) error) error {
	logger := klog.FromContext(ctx)
	ready, begun := make(chan struct{}), make(chan error, 1)
	beginning, abandon := context.WithCancel(ctx)
	defer abandon()
	go func() {
		err := begin(beginning, ready)
		if err != nil {
			s.release()
		}
		begun <- err
	}()
	since := time.Now()
	notice := time.NewTicker(startNotice)
	defer notice.Stop()
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	if s.peer != nil {
		deadline.Stop() // others may be away for long
	}
	var late error
	for late == nil {
		select {
		case err := <-begun:
			return err
		case <-ready:
			deadline.Stop() // it works: no reason to give up
			ready = nil
		case <-notice.C:
			logger.Info("Still waiting for embedded etcd", "dir", s.dir, "since", time.Since(since).Round(time.Second))
		case <-ctx.Done():
			late = ctx.Err()
		case <-deadline.C:
			late = fmt.Errorf("it did not answer within %s", startTimeout)
		}
	}
	abandon()
	select {
	case <-begun:
	case <-time.After(abandonTimeout):
	}
	return fmt.Errorf("waiting for embedded etcd in %s: %w", s.dir, late)
}

// begin starts the member, says when it is ready, and looks after its space before
// anybody else works with it. After an error it has ended the member.
func (s *Server) begin(ctx context.Context, noFsync bool, plan *Plan, ready chan<- struct{}) error {
	if plan.Alone {
		if err := s.goAlone(ctx, s.config(ctx, noFsync, plan)); err != nil {
			return err
		}
	}
	etcd, err := startEtcd(s.config(ctx, noFsync, plan))
	if err != nil {
		return fmt.Errorf("starting embedded etcd in %s: %w", s.dir, err)
	}
	if err := s.awaitReady(ctx, etcd); err != nil {
		s.phase.closing.Store(true)
		etcd.Close()
		return fmt.Errorf("waiting for embedded etcd in %s: %w", s.dir, err)
	}
	close(ready)
	s.phase.serving.Store(true)
	if _, err := s.tend(ctx, true); err != nil {
		klog.FromContext(ctx).Error(err, "Looking after the embedded etcd at its start failed and will be repeated")
	}
	err = s.passOn(ctx)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		s.phase.closing.Store(true)
		etcd.Close()
		return fmt.Errorf("starting embedded etcd in %s: %w", s.dir, err)
	}
	return nil
}

func (s *Server) config(ctx context.Context, noFsync bool, plan *Plan) *embed.Config {
	cfg := config(s.dir, s.sockets, noFsync, s.quota, newLogger(klog.FromContext(ctx), &s.phase))
	if s.peer != nil {
		s.peer.configure(cfg, plan)
	}
	return cfg
}

// ErrStopped is the end of a member that nobody has asked for. etcd says no more of it to
// who started it: it was removed from its cluster, or cannot write.
var ErrStopped = errors.New("it stopped by itself")

// awaitReady waits until the member answers, and says meanwhile which others are missing.
func (s *Server) awaitReady(ctx context.Context, etcd *embed.Etcd) error {
	s.etcd = etcd
	notice := time.NewTicker(startNotice)
	defer notice.Stop()
	for {
		select {
		case <-etcd.Server.ReadyNotify():
			return ctx.Err()
		case err := <-etcd.Err():
			return err
		case <-etcd.Server.StopNotify():
			return ErrStopped
		case <-ctx.Done():
			return ctx.Err()
		case <-notice.C:
			if s.peer != nil {
				klog.FromContext(ctx).Info("Waiting for other members of the embedded etcd", "reason", quorumError(s.missing(ctx)), "committed", etcd.Server.CommittedIndex())
			}
		}
	}
}

// startEtcd returns as an error what etcd panics with while it starts, which is what it
// does when the disk is full.
func startEtcd(cfg *embed.Config) (etcd *embed.Etcd, err error) {
	err = guard(func() (err error) {
		etcd, err = embed.StartEtcd(cfg)
		return err
	})
	return etcd, err
}
