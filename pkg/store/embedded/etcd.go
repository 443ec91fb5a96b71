// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/zap"

	"github.com/slipway-dev/slipway/pkg/store/maintenance"
)

const (
	// maxRequestBytes is what kube-apiserver's own limit for a request body (3 MiB)
	// needs from its store.
	maxRequestBytes = 3 << 20
	// A single member does not wait for others, so short ticks only make its start faster.
	tickMilliseconds     = 10
	electionMilliseconds = 100
	// progressInterval is how often idle watches receive the current revision. Consistent reads from the watch cache wait for it.
	progressInterval = 5 * time.Second
	// catchUpEntries is how many applied entries of the raft log stay in memory, each
	// with the whole object that it wrote. They are for slow followers, which a
	// single member does not have; etcd's default of 5000 would hold tens of megabytes.
	catchUpEntries = 100
)

// Options configure the member.
type Options struct {
	// Dir is the data directory. If it does not exist, it is created with access for its owner only.
	Dir string
	// UnsafeNoFsync acknowledges writes before they are on disk. A crash of the machine can lose or corrupt data; it is for tests.
	UnsafeNoFsync bool
	// QuotaBytes is the size of the data from which only deletions are accepted. The default 0 means half of the file system, at
	// least 256 MiB and at most 8 GiB.
	QuotaBytes int64
	// LockTimeout is how long Start waits for another process that uses Dir; 0 does not wait.
	LockTimeout time.Duration
}

// Server is a running member.
type Server struct {
	etcd    *embed.Etcd
	dir     string
	quota   int64
	sockets sockets
	lock    *os.File
	phase   phase
	failed  chan error
	// store measures and frees the space of the member.
	store     *maintenance.Store
	client    *clientv3.Client
	stopPurge func()
	closeOnce sync.Once
}

// Endpoint returns the address for clients and --etcd-servers: unix:///absolute/path.
func (s *Server) Endpoint() string { return "unix://" + s.sockets.client }

// Client returns a client that calls the member directly, without a connection. It has no endpoints and cannot stream ranges. The
// caller must close it before the server.
func (s *Server) Client() *clientv3.Client { return v3client.New(s.etcd.Server) }

// Store returns the member's space and snapshots.
func (s *Server) Store() *maintenance.Store { return s.store }

// Failed returns a channel that receives an error when the member fails after its start.
func (s *Server) Failed() <-chan error { return s.failed }

// watch waits for the end of the member.
func (s *Server) watch() {
	var err error
	select {
	case err = <-s.etcd.Err():
	case <-s.etcd.Server.StopNotify():
		err = ErrStopped
	}
	if err != nil && !s.phase.closing.Load() {
		s.failed <- err
	}
}

// Close stops the member and waits until its data is closed. It may be called
// more than once; clients should be stopped before.
func (s *Server) Close() {
	s.closeOnce.Do(func() {
		s.phase.closing.Store(true)
		s.stopPurge()
		_ = s.client.Close() // returns only that its context is done
		s.etcd.Close()
		s.release()
	})
}

func (s *Server) release() {
	if s.sockets.tempDir != "" {
		// Nothing uses the directory any more, and an empty directory is harmless.
		_ = os.RemoveAll(s.sockets.tempDir)
	}
	if s.lock != nil {
		_ = s.lock.Close() // closing drops the lock
	}
}

func config(dir string, sockets sockets, noFsync bool, quota int64, logger *zap.Logger) *embed.Config {
	cfg := embed.NewConfig()
	cfg.Name = "default"
	cfg.Dir = filepath.Join(dir, memberDir)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger)
	cfg.UnsafeNoFsync = noFsync
	cfg.QuotaBackendBytes = maintenance.LimitOf(quota)
	cfg.MaxRequestBytes = maxRequestBytes
	// The API server compacts by itself, every five minutes.
	cfg.AutoCompactionMode, cfg.AutoCompactionRetention = "periodic", "0"
	cfg.TickMs, cfg.ElectionMs = tickMilliseconds, electionMilliseconds
	cfg.WatchProgressNotifyInterval = progressInterval
	cfg.SnapshotCatchUpEntries = catchUpEntries
	cfg.MaxSnapFiles, cfg.MaxWalFiles = 0, 0 // see purge

	// A member must advertise a peer address. A single member never dials it.
	advertised := url.URL{Scheme: "http", Host: "localhost:1"}
	cfg.AdvertisePeerUrls = []url.URL{advertised}
	cfg.InitialCluster = cfg.Name + "=" + advertised.String()
	// The IDs of the cluster and its member are computed from it, so that a new store has its own IDs. Existing data keeps its IDs.
	cfg.InitialClusterToken = uuid.NewString()
	cfg.ListenPeerUrls = []url.URL{{Scheme: "unix", Path: sockets.peer}}
	client := url.URL{Scheme: "unix", Path: sockets.client}
	cfg.ListenClientUrls = []url.URL{client}
	cfg.AdvertiseClientUrls = []url.URL{client}
	return cfg
}
