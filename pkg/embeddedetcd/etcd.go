// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"k8s.io/klog/v2"
)

const (
	// quotaBytes is the size at which etcd goes read-only. etcd's default of
	// 2 GiB is too small for tens of thousands of VirtualMachines with history;
	// 8 GiB is the largest that etcd recommends.
	quotaBytes = 8 << 30
	// maxRequestBytes is what kube-apiserver's own limit for a request body (3 MiB)
	// needs from its store.
	maxRequestBytes = 3 << 20
	// A lone member has nobody to wait for, so short ticks only shorten its start.
	tickMilliseconds     = 10
	electionMilliseconds = 100
	// progressInterval is how often idle watches learn the current revision;
	// consistent reads from the watch cache wait for it.
	progressInterval = 5 * time.Second
	// catchUpEntries is how many applied entries of the raft log stay in memory, each
	// with the whole object that it wrote. They are for followers that lag, which a
	// lone member does not have; etcd's default of 5000 would hold tens of megabytes.
	catchUpEntries = 100
)

// Options says where and how the member keeps its data.
type Options struct {
	// Dir holds the data; it is made, readable by its owner only, when missing.
	Dir string
	// UnsafeNoFsync lets writes be acknowledged before they are on disk. A crash of
	// the machine may lose or corrupt data; meant for tests.
	UnsafeNoFsync bool
}

// Server is a running member.
type Server struct {
	etcd      *embed.Etcd
	endpoint  string
	lock      *os.File
	since     time.Time
	socketDir string // removed by Close when not empty
	phase     phase
	closeOnce sync.Once
}

// Start runs a member on o.Dir and waits until it is ready or ctx is done. The
// context bounds the start only; Close ends the server.
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
	s := &Server{}
	if s.lock, err = lockDir(dir); err != nil {
		return nil, err
	}
	s.since = time.Now()
	sockets, err := socketPaths(dir)
	if err != nil {
		s.release()
		return nil, err
	}
	s.endpoint, s.socketDir = "unix://"+sockets.client, sockets.tempDir

	if s.etcd, err = startEtcd(config(dir, sockets, o.UnsafeNoFsync, newLogger(klog.FromContext(ctx), &s.phase))); err != nil {
		s.release()
		return nil, fmt.Errorf("starting embedded etcd in %s: %w", dir, err)
	}
	select {
	case <-s.etcd.Server.ReadyNotify():
		s.phase.serving.Store(true)
		return s, nil
	case err = <-s.etcd.Err():
	case <-s.etcd.Server.StopNotify():
		err = errors.New("it stopped by itself")
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.Close()
	return nil, fmt.Errorf("waiting for embedded etcd in %s: %w", dir, err)
}

// startEtcd returns as an error what etcd panics with while it starts, which is what it
// does when the disk is full.
func startEtcd(cfg *embed.Config) (etcd *embed.Etcd, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return embed.StartEtcd(cfg)
}

// Endpoint is the address for clients and for --etcd-servers, unix:///absolute/path.
func (s *Server) Endpoint() string { return s.endpoint }

// Since is when this process got the directory for itself: whoever used it before
// had ended by then.
func (s *Server) Since() time.Time { return s.since }

// Failed delivers an error when the member fails after its start.
func (s *Server) Failed() <-chan error { return s.etcd.Err() }

// Close stops the member and waits until its data is closed. It may be called
// more than once; clients should be stopped before.
func (s *Server) Close() {
	s.closeOnce.Do(func() {
		s.phase.closing.Store(true)
		s.etcd.Close()
		s.release()
	})
}

func (s *Server) release() {
	if s.socketDir != "" {
		// Nothing depends on it any more; a leftover empty directory is harmless.
		_ = os.RemoveAll(s.socketDir)
	}
	if s.lock != nil {
		_ = s.lock.Close() // closing drops the lock
	}
}

func config(dir string, sockets sockets, noFsync bool, logger *zap.Logger) *embed.Config {
	cfg := embed.NewConfig()
	cfg.Name = "default"
	cfg.Dir = filepath.Join(dir, "member-data")
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger)
	cfg.UnsafeNoFsync = noFsync
	cfg.QuotaBackendBytes = quotaBytes
	cfg.MaxRequestBytes = maxRequestBytes
	// The API server compacts by itself, every five minutes.
	cfg.AutoCompactionMode, cfg.AutoCompactionRetention = "periodic", "0"
	cfg.TickMs, cfg.ElectionMs = tickMilliseconds, electionMilliseconds
	cfg.WatchProgressNotifyInterval = progressInterval
	cfg.SnapshotCatchUpEntries = catchUpEntries

	// A member must advertise a peer address; a lone one never dials it.
	advertised := url.URL{Scheme: "http", Host: "localhost:1"}
	cfg.AdvertisePeerUrls = []url.URL{advertised}
	cfg.InitialCluster = cfg.Name + "=" + advertised.String()
	cfg.ListenPeerUrls = []url.URL{{Scheme: "unix", Path: sockets.peer}}
	client := url.URL{Scheme: "unix", Path: sockets.client}
	cfg.ListenClientUrls = []url.URL{client}
	cfg.AdvertiseClientUrls = []url.URL{client}
	return cfg
}
