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
	// startTimeout is the time limit until a member answers. It reads its whole database, which takes at most a minute on a disk
	// that is suitable for etcd.
	startTimeout = 5 * time.Minute
	// startNotice is the interval in which a slow start is logged.
	startNotice = 10 * time.Second
	// abandonTimeout is the time limit for stopping a member that never answered.
	abandonTimeout = 5 * time.Second
)

// Start runs a member on o.Dir and waits until it is ready and its space was checked, or ctx is done. The context is for the start
// only; Close stops the server. Start returns a DamagedError if the data cannot be used.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Dir == "" {
		return nil, errors.New("starting embedded etcd: no data directory given")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("resolving the etcd data directory %q: %w", o.Dir, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the etcd data directory: %w", err)
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

// prepare checks and locks the directory before etcd uses it.
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
		return fmt.Errorf("writing the address of the embedded etcd: %w", err)
	}
	return nil
}

// start waits for begin. begin can hang in etcd, where it cannot be cancelled.
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
			deadline.Stop() // the member answers
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

// begin starts the member, closes ready when it answers, and frees space in it before it is used. If it returns an error, the member
// has stopped.
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

// ErrStopped is returned when a member stops without a request, for example because it cannot write. etcd reports no reason.
var ErrStopped = errors.New("it stopped without a request")

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

// startEtcd starts etcd and converts a panic to an error. etcd panics at the start if the disk is full.
func startEtcd(cfg *embed.Config) (etcd *embed.Etcd, err error) {
	err = maintenance.Guard(func() (err error) {
		etcd, err = embed.StartEtcd(cfg)
		return err
	})
	return etcd, err
}
