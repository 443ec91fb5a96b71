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
	// revisionBump is by how much a restored store is ahead of the snapshot, so that it is
	// ahead of all that clients have seen since: etcd's own advice for Kubernetes.
	revisionBump = 1_000_000_000
	// newDir is the data directory that the data is created in before it is moved to its place.
	newDir = memberDir + ".new"
)

// Restored is what Restore did.
type Restored struct {
	// Aside is the directory with the data of before, empty if there was none.
	Aside string
}

// Restore makes the data of dir from a snapshot. The data that was there is kept beside
// it. Revisions go on far behind those of the snapshot, and all history is gone, so that
// clients that watched the store of before have to list again. The data has a
// cluster ID of its own. unverified takes a
// copy of a database, which has no checksum. prepare, if not nil, can change the restored data with
// Attach, in the directory that it is given, before it is moved to its place: no server uses it before.
func Restore(dir, file string, unverified bool, prepare func(dir string) error) (r Restored, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return r, fmt.Errorf("resolving the etcd data directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return r, fmt.Errorf("making the etcd data directory: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return r, err
	}
	defer func() { _ = lock.Close() }()
	fresh := filepath.Join(dir, newDir)
	if err := os.RemoveAll(fresh); err != nil {
		return r, fmt.Errorf("removing what an earlier restore left: %w", err)
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
		return r, fmt.Errorf("putting the data of before aside: %w", err)
	}
	if err := os.Rename(filepath.Join(fresh, memberDir), place); err != nil {
		return r, fmt.Errorf("putting the restored data in its place: %w", err)
	}
	return r, maintenance.SyncDir(dir)
}

// beforeDir is where data of now is kept.
func beforeDir(dir string) string {
	return filepath.Join(dir, memberDir+".before-"+time.Now().UTC().Format("20060102T150405.000Z"))
}

// build makes the data of a member from a snapshot.
func build(into, file string, unverified bool) error {
	cfg := config("", sockets{}, false, 0, zap.NewNop())
	return snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath: file, SkipHashCheck: unverified, OutputDataDir: into,
		Name: cfg.Name, PeerURLs: []string{cfg.AdvertisePeerUrls[0].String()},
		InitialCluster: cfg.InitialCluster, InitialClusterToken: cfg.InitialClusterToken,
		RevisionBump: revisionBump, MarkCompacted: true,
	})
}
