// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
)

// complete returns an error when the log ends before what the database has taken from it: it was
// cut, and what it had beyond that is lost. etcd waits for ever for the entries to come.
func complete(dir string) error {
	taken, err := takenFromLog(databasePath(dir))
	if err != nil || taken == 0 {
		return err
	}
	logs := filepath.Join(dir, memberDir, "member", "wal")
	snapshots, err := wal.ValidSnapshotEntries(zap.NewNop(), logs)
	if err != nil || len(snapshots) == 0 {
		return nil // etcd says what is wrong with it
	}
	last := snapshots[len(snapshots)-1]
	// What is said to be committed in the log lags behind its entries by a few.
	if state, err := wal.Verify(zap.NewNop(), logs, last); err == nil && state.GetCommit() >= taken {
		return nil
	}
	w, err := wal.OpenForRead(zap.NewNop(), logs, last)
	if err != nil {
		return nil
	}
	defer func() { _ = w.Close() }()
	_, _, entries, err := w.ReadAll()
	if err != nil {
		return nil
	}
	end := last.GetIndex()
	if len(entries) > 0 {
		end = entries[len(entries)-1].GetIndex()
	}
	if end < taken {
		return fmt.Errorf("it ends with entry %d, and the database has taken %d of it", end, taken)
	}
	return nil
}

// takenFromLog is the number of the last entry of the log that the database has.
func takenFromLog(path string) (taken uint64, err error) {
	err = view(path, func(tx *bolt.Tx) error {
		meta := tx.Bucket(schema.Meta.Name())
		if meta == nil {
			return nil
		}
		switch value := meta.Get(schema.MetaConsistentIndexKeyName); len(value) {
		case 0:
		case 8:
			taken = binary.BigEndian.Uint64(value)
		default:
			return errors.New("it does not say how much of the log it has")
		}
		return nil
	})
	return taken, err
}

// holds tells whether anything was ever written to a database. One that cannot be read may hold it.
func holds(path string) bool {
	taken, err := takenFromLog(path)
	return err != nil || taken > 0
}
