// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"

	"github.com/slipway-dev/slipway/pkg/store/maintenance"
)

const (
	// revisionBump is added to the revision of the snapshot, so that the restored store is ahead of all revisions that clients
	// have seen. The value is etcd's advice for Kubernetes.
	revisionBump = 1_000_000_000
	// newDir is the directory in which the data is created before it is renamed.
	newDir = memberDir + ".new"
)

// Restored is the result of Restore.
type Restored struct {
	// Aside is the directory with the previous data, empty if there was none.
	Aside string
}

// Restore creates the data of dir from a snapshot. The previous data is kept in a directory next to it. Revisions continue far above
// those of the snapshot and there is no history, so that clients that watched the previous store must list again. The data has a new
// cluster ID. unverified accepts a copy of a database, which has no checksum. prepare, if not nil, is called with the directory of the
// restored data before a server can use it; it can change the data through Attach.
func Restore(dir, file string, unverified bool, prepare func(dir string) error) (r Restored, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return r, fmt.Errorf("resolving the etcd data directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return r, fmt.Errorf("creating the etcd data directory: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return r, err
	}
	defer func() { _ = lock.Close() }()
	fresh := filepath.Join(dir, newDir)
	if err := os.RemoveAll(fresh); err != nil {
		return r, fmt.Errorf("removing the files of an earlier restore: %w", err)
	}
	if _, err := maintenance.CheckSnapshot(file, unverified); err != nil {
		return r, err
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	if err := os.Mkdir(fresh, 0o700); err != nil {
		return r, fmt.Errorf("creating the directory of the restored data: %w", err)
	}
	if err := maintenance.Guard(func() error { return build(filepath.Join(fresh, memberDir), file, unverified) }); err != nil {
		return r, fmt.Errorf("restoring %s: %w", file, err)
	}
	if prepare != nil {
		if err := prepare(fresh); err != nil {
			return r, fmt.Errorf("restoring %s: %w", file, err)
		}
	}
	place, aside := filepath.Join(dir, memberDir), beforeDir(dir)
	switch err := os.Rename(place, aside); {
	case err == nil:
		r.Aside = aside
	case !errors.Is(err, os.ErrNotExist):
		return r, fmt.Errorf("renaming the previous data: %w", err)
	}
	if err := os.Rename(filepath.Join(fresh, memberDir), place); err != nil {
		return r, fmt.Errorf("renaming the restored data: %w", err)
	}
	return r, maintenance.SyncDir(dir)
}

// beforeDir returns the directory for data that is replaced now.
func beforeDir(dir string) string {
	return filepath.Join(dir, memberDir+".before-"+time.Now().UTC().Format("20060102T150405.000Z"))
}

// build creates the data of a member from a snapshot.
func build(into, file string, unverified bool) error {
	cfg := config("", sockets{}, false, 0, zap.NewNop())
	return snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath: file, SkipHashCheck: unverified, OutputDataDir: into,
		Name: cfg.Name, PeerURLs: []string{cfg.AdvertisePeerUrls[0].String()},
		InitialCluster: cfg.InitialCluster, InitialClusterToken: cfg.InitialClusterToken,
		RevisionBump: revisionBump, MarkCompacted: true,
	})
}
