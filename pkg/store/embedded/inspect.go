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
	// memberDir is the directory of etcd's own files, below the directory of Options.
	memberDir = "member-data"
	// IdentityFile is created in the directory after the member has served. A directory with this file and without data has lost
	// its data.
	IdentityFile = "lease-identity"
)

func databasePath(dir string) string {
	return filepath.Join(dir, memberDir, "member", "snap", "db")
}

// Owns reports whether path is one of etcd's own files or directories in a data directory, or below one.
func Owns(dir, path string) bool {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false // its user reports the error
	}
	if path, err = filepath.Abs(path); err != nil {
		return false
	}
	in, err := filepath.Rel(filepath.Join(dir, memberDir), path)
	return err == nil && filepath.IsLocal(in)
}

// DamagedError is returned for a data directory that cannot be used. Its message has the remedy.
type DamagedError struct {
	// Dir is the data directory.
	Dir string
	// What is the description of the damage.
	What string
}

// Error implements error.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("the data of embedded etcd in %s cannot be used: %s. Is the right volume mounted? "+
		"Restore a snapshot with \"slipway-apiserver etcd restore FILE --data-dir=%s\"; or, to discard all objects, start with an empty directory", e.Dir, e.What, e.Dir)
}

func damaged(dir, what string) error { return &DamagedError{Dir: dir, What: what} }

// inspect finds the damages of a directory for which etcd would crash, hang or start with an empty store.
func inspect(dir string) error {
	logs, err := filepath.Glob(filepath.Join(dir, memberDir, "member", "wal", "*.wal"))
	if err != nil {
		return fmt.Errorf("finding the write-ahead log in %s: %w", dir, err)
	}
	for _, log := range logs {
		info, err := os.Stat(log)
		if err != nil {
			return fmt.Errorf("reading the write-ahead log: %w", err)
		}
		if info.Size() == 0 {
			return damaged(dir, "its write-ahead log "+log+" is empty")
		}
	}
	database := databasePath(dir)
	info, err := os.Stat(database)
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("reading the database: %w", err)
	case err != nil || info.Size() == 0:
		if len(logs) == 0 && used(dir) {
			return damaged(dir, "it has the file "+IdentityFile+", so it was used before, but its data below "+memberDir+" is missing")
		}
		return nil // the directory is new, or etcd creates the database from the log
	case len(logs) == 0:
		return damaged(dir, "it has a database but no write-ahead log in "+filepath.Join(memberDir, "member", "wal"))
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
