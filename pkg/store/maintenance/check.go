// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"

	"github.com/slipway-dev/slipway/pkg/store/snapshotfile"
)

// databaseLock is how long to wait for another process that uses a database.
const databaseLock = 5 * time.Second

// Content describes the content of a database.
type Content struct {
	// Revision is the number of the last write, Keys the number of keys, Size the size in bytes.
	Revision, Size int64
	Keys           int
}

// CheckSnapshot reads all pages of a snapshot and verifies its checksum. A copy of a database has no checksum and is unverified.
func CheckSnapshot(file string, unverified bool) (Content, error) {
	if !unverified {
		if err := checksum(file); err != nil {
			return Content{}, fmt.Errorf("the snapshot %s cannot be used: %w", file, err)
		}
	}
	content, err := CheckDatabase(file)
	if err != nil {
		return content, fmt.Errorf("the snapshot %s cannot be used: %w", file, err)
	}
	return content, nil
}

// CheckDatabase reads all pages of a database that no etcd has open. The content of objects has no
// checksum.
func CheckDatabase(path string) (Content, error) {
	// etcdutl reads the pages in another goroutine first, in which a panic cannot be caught.
	if err := Readable(path); err != nil {
		return Content{}, err
	}
	var status snapshot.Status
	err := Guard(func() (err error) {
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
		return fmt.Errorf("%w; use --skip-hash-check for a copy of a database", err)
	}
	return err
}

// Readable reads all pages of a database that no etcd has open. etcd does so in a goroutine whose panic cannot be caught.
func Readable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return Guard(func() error {
		db, err := bolt.Open(path, 0o400, &bolt.Options{ReadOnly: true, Timeout: databaseLock})
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }()
		return db.View(func(tx *bolt.Tx) error {
			if tx.Size() > info.Size() {
				return fmt.Errorf("the file has %d of %d bytes", info.Size(), tx.Size())
			}
			return tx.ForEach(func(_ []byte, b *bolt.Bucket) error {
				return b.ForEach(func(_, _ []byte) error { return nil })
			})
		})
	})
}

// Guard calls f and converts a panic to an error, including a fault of a read beyond the end of a file.
func Guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return f()
}
