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

	"github.com/slipway-dev/slipway/pkg/store/maintenance"
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
	s := &Server{dir: dir, quota: o.QuotaBytes, failed: make(chan error, 1)}
	if s.lock, err = awaitLock(ctx, dir, o.LockTimeout); err != nil {
		return nil, err
	}
	if err := s.prepare(); err != nil {
		s.release()
		return nil, err
	}
	begin := func(ctx context.Context, ready chan<- struct{}) error { return s.begin(ctx, o.UnsafeNoFsync, ready) }
	if err := s.start(ctx, begin); err != nil {
		return nil, err
	}
	s.stopPurge = purge(klog.FromContext(ctx), filepath.Join(dir, memberDir, "member"))
	go s.watch()
	return s, nil
}

// prepare looks at the directory before etcd does.
func (s *Server) prepare() error {
	if err := inspect(s.dir); err != nil {
		return err
	}
	if s.quota == 0 {
		size, _, err := maintenance.Disk(s.dir)
		if err != nil {
			return err
		}
		s.quota = maintenance.DefaultQuota(size)
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

// begin starts the member, closes ready when it answers, and makes room in it before anything else
// uses it. After an error the member has ended.
func (s *Server) begin(ctx context.Context, noFsync bool, ready chan<- struct{}) error {
	logger := klog.FromContext(ctx)
	etcd, err := startEtcd(config(s.dir, s.sockets, noFsync, s.quota, newLogger(logger, &s.phase)))
	if err != nil {
		return fmt.Errorf("starting embedded etcd in %s: %w", s.dir, err)
	}
	s.etcd = etcd
	if err := s.serve(ctx, ready); err != nil {
		s.phase.closing.Store(true)
		if s.client != nil {
			_ = s.client.Close()
		}
		etcd.Close()
		return fmt.Errorf("starting embedded etcd in %s: %w", s.dir, err)
	}
	return nil
}

func (s *Server) serve(ctx context.Context, ready chan<- struct{}) error {
	if err := awaitReady(ctx, s.etcd); err != nil {
		return err
	}
	close(ready)
	s.phase.serving.Store(true)
	s.client = s.Client()
	s.store = maintenance.New(s.client, maintenance.Local{Dir: s.dir, Defragment: s.etcd.Server.Defragment})
	if _, err := s.store.MakeRoom(ctx, true); err != nil {
		klog.FromContext(ctx).Error(err, "Maintaining the space of the embedded etcd at its start failed and will be repeated")
	}
	return ctx.Err()
}

// ErrStopped is returned when a member stops without a request. etcd reports no reason: it cannot
// write, for example.
var ErrStopped = errors.New("it stopped by itself")

// awaitReady waits until the member answers.
func awaitReady(ctx context.Context, etcd *embed.Etcd) error {
	select {
	case <-etcd.Server.ReadyNotify():
		return ctx.Err()
	case err := <-etcd.Err():
		return err
	case <-etcd.Server.StopNotify():
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// startEtcd returns as an error what etcd panics with while it starts, which is what it
// does when the disk is full.
func startEtcd(cfg *embed.Config) (etcd *embed.Etcd, err error) {
	err = maintenance.Guard(func() (err error) {
		etcd, err = embed.StartEtcd(cfg)
		return err
	})
	return etcd, err
}
