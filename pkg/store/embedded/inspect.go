// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

const (
	// memberDir has what etcd itself keeps, below the directory of Options.
	memberDir = "member-data"
	// IdentityFile is a file that the user of a directory keeps in it once the member
	// has served. A directory that has it and no data lost its data.
	IdentityFile = "lease-identity"
	// databaseLock is how long another user of the database is waited for.
	databaseLock = 5 * time.Second
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
	// Others is true for a member of a cluster, whose other members have the same data.
	Others bool
}

// Error implements error.
func (e *DamagedError) Error() string {
	what := fmt.Sprintf("the data of embedded etcd in %s cannot be used: %s. Is the right volume mounted? ", e.Dir, e.What)
	restore := fmt.Sprintf("estore a snapshot with \"slipway-apiserver etcd restore FILE --data-dir=%s\"", e.Dir)
	if e.Others {
		return what + fmt.Sprintf("If other members serve, replace this one: remove what is in %s, and it joins them anew. If none does, "+
			"stop all, delete the ConfigMap slipway-etcd, and r%s", e.Dir, restore)
	}
	return what + "R" + restore + "; or, if all objects shall be lost, begin anew with an empty directory"
}

// damaged returns a DamagedError. Who was one of several has an ID for its directory.
func damaged(dir, what string) error {
	_, err := os.Stat(filepath.Join(dir, directoryFile))
	return &DamagedError{Dir: dir, What: what, Others: err == nil}
}

// inspect finds the damages of a directory that etcd meets with a crash, with silence or
// with an empty store.
func inspect(dir string, others bool) error {
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
		if len(logs) == 0 && used(dir) && !others {
			return damaged(dir, "it was used before, for it has the file "+IdentityFile+", and its data below "+memberDir+" is missing")
		}
		return nil // new, or etcd makes the database from the log again
	case len(logs) == 0 && others:
		return nil
	case len(logs) == 0:
		return damaged(dir, "it has a database and no write-ahead log in "+filepath.Join(memberDir, "member", "wal"))
	}
	if err := readable(database); err != nil {
		return damaged(dir, fmt.Sprintf("its database %s is damaged: %v", database, err))
	}
	if err := guard(func() error { return complete(dir) }); err != nil {
		return damaged(dir, fmt.Sprintf("its write-ahead log was cut: %v", err))
	}
	return nil
}

func used(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, IdentityFile))
	return err == nil
}

// readable walks over all pages of a database, as etcd does in a goroutine in which
// nobody can catch what it panics with.
func readable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return view(path, func(tx *bolt.Tx) error {
		if tx.Size() > info.Size() {
			return fmt.Errorf("it has %d bytes of %d", info.Size(), tx.Size())
		}
		return tx.ForEach(func(_ []byte, b *bolt.Bucket) error {
			return b.ForEach(func(_, _ []byte) error { return nil })
		})
	})
}

// view reads a database that no etcd has open. What bolt panics with is an error.
func view(path string, read func(*bolt.Tx) error) error {
	return guard(func() error {
		db, err := bolt.Open(path, 0o400, &bolt.Options{ReadOnly: true, Timeout: databaseLock})
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }()
		return db.View(read)
	})
}

// membersIn is how many members a database knows.
func membersIn(path string) (n int, err error) {
	err = view(path, func(tx *bolt.Tx) error {
		if b := tx.Bucket(schema.Members.Name()); b != nil {
			n = b.Stats().KeyN
		}
		return nil
	})
	return n, err
}

// votes tells whether a database knows a member as a full one of its cluster. What cannot be read
// knows none.
func votes(path string, id uint64) (is bool) {
	_ = view(path, func(tx *bolt.Tx) error {
		b := tx.Bucket(schema.Members.Name())
		if b == nil {
			return nil
		}
		var m membership.Member
		is = json.Unmarshal(b.Get(schema.BackendMemberKey(types.ID(id))), &m) == nil && !m.IsLearner
		return nil
	})
	return is
}
