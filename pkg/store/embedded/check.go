// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"

	"github.com/slipway-dev/slipway/pkg/store/snapshotfile"
)

// Content is what a database holds.
type Content struct {
	// Revision is the number of the last write, Keys how many keys there are, Size the
	// size in bytes.
	Revision, Size int64
	Keys           int
}

// Check looks at all pages of the database and at the log of a directory that nobody
// uses. The content of objects has no checksum.
func Check(dir string) (Content, error) {
	dir, err := existing(dir)
	if err != nil {
		return Content{}, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return Content{}, fmt.Errorf("%w; check a snapshot of it instead", err)
	}
	defer func() { _ = lock.Close() }()
	if err := inspect(dir, false); err != nil {
		return Content{}, err
	}
	if err := guard(func() error { return checkLog(filepath.Join(dir, memberDir, "member", "wal")) }); err != nil {
		return Content{}, damaged(dir, fmt.Sprintf("its write-ahead log is damaged: %v", err))
	}
	if info, err := os.Stat(databasePath(dir)); err != nil || info.Size() == 0 {
		return Content{}, nil // to be made again from the log
	}
	content, err := checkDatabase(databasePath(dir))
	if err != nil {
		return content, damaged(dir, fmt.Sprintf("its database is damaged: %v", err))
	}
	return content, nil
}

// CheckSnapshot looks at all pages of a snapshot, and at its checksum unless it is
// unverified, a copy of a database.
func CheckSnapshot(file string, unverified bool) (Content, error) {
	if !unverified {
		if err := checksum(file); err != nil {
			return Content{}, fmt.Errorf("the snapshot %s cannot be used: %w", file, err)
		}
	}
	content, err := checkDatabase(file)
	if err != nil {
		return content, fmt.Errorf("the snapshot %s cannot be used: %w", file, err)
	}
	return content, nil
}

func checkLog(dir string) error {
	entries, err := wal.ValidSnapshotEntries(zap.NewNop(), dir)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return errors.New("it does not say where it begins")
	}
	_, err = wal.Verify(zap.NewNop(), dir, entries[len(entries)-1])
	return err
}

func checkDatabase(path string) (Content, error) {
	// What it walks over first is in a goroutine of its own, where nothing can be caught.
	if err := readable(path); err != nil {
		return Content{}, err
	}
	var status snapshot.Status
	err := guard(func() (err error) {
		status, err = snapshot.NewV3(zap.NewNop()).Status(path)
		return err
	})
	return Content{Revision: status.Revision, Keys: status.TotalKey, Size: status.TotalSize}, err
}

// checksum compares a snapshot with the hash at its end.
func checksum(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if _, err = snapshotfile.Copy(io.Discard, f); errors.Is(err, snapshotfile.ErrNoChecksum) {
		return fmt.Errorf("%w; a copy of a database is taken with --skip-hash-check", err)
	}
	return err
}

// guard returns as an error what f panics with, and what it reads beyond a file.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return f()
}
