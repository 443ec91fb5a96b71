// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/slipway-dev/slipway/pkg/store/maintenance"
)

const (
	// memberDir has what etcd itself keeps, below the directory of Options.
	memberDir = "member-data"
	// IdentityFile is a file that the user of a directory keeps in it once the member
	// has served. A directory that has it and no data lost its data.
	IdentityFile = "lease-identity"
)

func databasePath(dir string) string {
	return filepath.Join(dir, memberDir, "member", "snap", "db")
}

// Owns tells whether path is, or is in, what etcd itself keeps of a data directory.
func Owns(dir, path string) bool {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false // who uses it says so
	}
	if path, err = filepath.Abs(path); err != nil {
		return false
	}
	in, err := filepath.Rel(filepath.Join(dir, memberDir), path)
	return err == nil && filepath.IsLocal(in)
}

// DamagedError says what is wrong with a data directory, and what to do.
type DamagedError struct {
	// Dir is the data directory.
	Dir string
	// What says what is wrong with it.
	What string
}

// Error implements error.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("the data of embedded etcd in %s cannot be used: %s. Is the right volume mounted? "+
		"Restore a snapshot with \"slipway-apiserver etcd restore FILE --data-dir=%s\"; or, if all objects shall be lost, begin anew with an empty directory", e.Dir, e.What, e.Dir)
}

func damaged(dir, what string) error { return &DamagedError{Dir: dir, What: what} }

// inspect finds the damages of a directory that etcd meets with a crash, with silence or
// with an empty store.
func inspect(dir string) error {
	logs, err := filepath.Glob(filepath.Join(dir, memberDir, "member", "wal", "*.wal"))
	if err != nil {
		return fmt.Errorf("looking for the write-ahead log in %s: %w", dir, err)
	}
	for _, log := range logs {
		info, err := os.Stat(log)
		if err != nil {
			return fmt.Errorf("looking at the write-ahead log: %w", err)
		}
		if info.Size() == 0 {
			return damaged(dir, "its write-ahead log "+log+" is empty")
		}
	}
	database := databasePath(dir)
	info, err := os.Stat(database)
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("looking at the database: %w", err)
	case err != nil || info.Size() == 0:
		if len(logs) == 0 && used(dir) {
			return damaged(dir, "it was used before, for it has the file "+IdentityFile+", and its data below "+memberDir+" is missing")
		}
		return nil // new, or etcd makes the database from the log again
	case len(logs) == 0:
		return damaged(dir, "it has a database and no write-ahead log in "+filepath.Join(memberDir, "member", "wal"))
	}
	if err := maintenance.Readable(database); err != nil {
		return damaged(dir, fmt.Sprintf("its database %s is damaged: %v", database, err))
	}
	return nil
}

func used(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, IdentityFile))
	return err == nil
}
