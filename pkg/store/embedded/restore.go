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
)

const (
	// revisionBump is by how much a restored store is ahead of the snapshot, so that it is
	// ahead of all that clients have seen since: etcd's own advice for Kubernetes.
	revisionBump = 1_000_000_000
	// restoredFile in the directory says that nobody has looked at the restored store yet. The
	// next start writes it into the store, for all members of a cluster.
	restoredFile = "restored"
	// newDir is where the data is made before it takes its place.
	newDir = memberDir + ".new"
)

// Restored is what Restore did.
type Restored struct {
	// Aside is the directory with the data of before, empty if there was none.
	Aside string
}

// Restore makes the data of dir from a snapshot. The data that was there is kept beside
// it. Revisions go on far behind those of the snapshot, and all history is gone, so that
// clients that watched the store of before have to list again. The data is of a cluster of
// its own, which no member of the one of before takes for its own. Until Release, Waiting is
// true for dir. unverified takes a copy of a database, which has no checksum.
func Restore(dir, file string, unverified bool) (r Restored, err error) {
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
	if _, err := CheckSnapshot(file, unverified); err != nil {
		return r, err
	}
	if err := guard(func() error { return build(fresh, file, unverified) }); err != nil {
		_ = os.RemoveAll(fresh)
		return r, fmt.Errorf("restoring %s: %w", file, err)
	}
	// The mark comes first: whatever happens next, nothing acts by the restored store.
	if err := markRestored(dir); err != nil {
		return r, err
	}
	place, aside := filepath.Join(dir, memberDir), beforeDir(dir)
	switch err := os.Rename(place, aside); {
	case err == nil:
		r.Aside = aside
	case !errors.Is(err, os.ErrNotExist):
		return r, fmt.Errorf("putting the data of before aside: %w", err)
	}
	if err := os.Rename(fresh, place); err != nil {
		return r, fmt.Errorf("putting the restored data in its place: %w", err)
	}
	return r, syncDir(dir)
}

// markRestored lets nothing act by the store of dir until it is released.
func markRestored(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, restoredFile), []byte(time.Now().UTC().Format(time.RFC3339)+"\n"), 0o600); err != nil {
		return fmt.Errorf("marking the store as restored: %w", err)
	}
	return syncDir(dir)
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

// syncDir makes what was renamed in dir last.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("writing the directory to disk: %w", err)
	}
	defer func() { _ = f.Close() }()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("writing the directory to disk: %w", err)
	}
	return nil
}
