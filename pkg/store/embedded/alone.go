// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
	"k8s.io/klog/v2"
)

// goAlone makes the member the only one of its cluster, and ends it. Clients may have seen
// what only the others had: the store is marked as restored, and goes on far ahead. That it is
// ahead is in no entry of the log, so it comes when all entries are applied, for writes depend
// on revisions of before; and those of before go, so that who joins is sent the store itself.
func (s *Server) goAlone(ctx context.Context, cfg *embed.Config) error {
	cfg.ForceNewCluster = true
	cfg.SnapshotCount = 1 // entries that are kept
	etcd, err := startEtcd(cfg)
	if err != nil {
		return fmt.Errorf("making the member of %s the only one: %w", s.dir, err)
	}
	err = s.awaitReady(ctx, etcd)
	revision := etcd.Server.KV().Rev()
	s.phase.closing.Store(true)
	etcd.Close()
	s.phase.closing.Store(false)
	if err == nil {
		err = markRestored(s.dir)
	}
	if err == nil {
		err = logGone(filepath.Join(s.dir, memberDir, "member", "wal"))
	}
	if err == nil {
		err = advance(databasePath(s.dir), revision+revisionBump)
	}
	if err != nil {
		return fmt.Errorf("making the member of %s the only one: %w", s.dir, err)
	}
	klog.FromContext(ctx).Info("The member of the embedded etcd is the only one now", "revision", revision, "goesOnWith", revision+revisionBump)
	return nil
}

// logGone makes sure that entries of before are not sent to who joins: by them its store would
// be another one.
func logGone(logs string) error {
	snapshots, err := wal.ValidSnapshotEntries(zap.NewNop(), logs)
	if err != nil {
		return fmt.Errorf("looking where the write-ahead log begins: %w", err)
	}
	if n := len(snapshots); n == 0 || snapshots[n-1].GetIndex() == 0 {
		return errors.New("the write-ahead log still begins with the first entry")
	}
	return nil
}

// advance lets a store that no etcd has open go on with a revision, without any history.
func advance(database string, revision int64) error {
	if err := readable(database); err != nil {
		return fmt.Errorf("looking at the database: %w", err)
	}
	b := backend.NewDefaultBackend(zap.NewNop(), database)
	tx := b.BatchTx()
	tx.LockOutsideApply()
	mvcc.UnsafeSetScheduledCompact(tx, revision)
	tx.Unlock()
	b.ForceCommit()
	if err := b.Close(); err != nil {
		return fmt.Errorf("closing the database: %w", err)
	}
	return nil
}
