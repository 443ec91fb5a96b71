// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/slipway-dev/slipway/pkg/store/snapshotfile"
)

// saveTimeout is the time limit until a member has all acknowledged writes, for which it needs a majority of the members.
const saveTimeout = 10 * time.Second

// Save writes a snapshot of the first member that answers. It contains all writes that were acknowledged before. Requests are
// served during the snapshot.
func (s *Store) Save(ctx context.Context, w io.Writer) error {
	var errs []error
	for _, m := range s.members {
		err := m.catchUp(ctx)
		if err == nil {
			return s.save(ctx, m, w)
		}
		errs = append(errs, fmt.Errorf("%s: %w", m.endpoint, err))
	}
	return fmt.Errorf("waiting until an etcd member has all writes: %w", errors.Join(errs...))
}

// catchUp waits until the member has all acknowledged writes, by a read of any key.
func (m *member) catchUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	_, err := m.client.Get(ctx, settleKey, clientv3.WithCountOnly())
	return err
}

func (s *Store) save(ctx context.Context, m *member, w io.Writer) error {
	// A defragmentation would wait for the end of the snapshot, and all requests would wait for the defragmentation.
	s.saving.RLock()
	defer s.saving.RUnlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	snapshot, err := m.client.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("reading a snapshot of etcd: %w", err)
	}
	defer func() { _ = snapshot.Close() }()
	if _, err = snapshotfile.Copy(w, snapshot); err != nil {
		return fmt.Errorf("reading a snapshot of etcd: %w", err)
	}
	return nil
}

// SaveFile writes a snapshot to a file and verifies it. The file gets its name when it is complete and on disk. It does not exist
// if ctx is done before.
func (s *Store) SaveFile(ctx context.Context, file string) (Content, error) {
	return s.saveFile(ctx, file, func(file string) (Content, error) { return CheckSnapshot(file, false) })
}

// Fits returns an error when a snapshot of this size would leave too little of the file system of dir.
func Fits(dir string, size int64) error {
	_, free, err := Disk(dir)
	if err != nil {
		return err
	}
	if need := size + DiskMargin; free < need {
		return fmt.Errorf("writing a snapshot to %s: the file system has %s free, and %s are required, including a margin", dir, mib(free), mib(need))
	}
	return nil
}

func (s *Store) saveFile(ctx context.Context, file string, check func(string) (Content, error)) (Content, error) {
	dir := filepath.Dir(file)
	space, err := s.Space()
	if err != nil {
		return Content{}, err
	}
	if err := Fits(dir, space.Size); err != nil {
		return Content{}, err
	}
	part, err := os.CreateTemp(dir, partOfSnapshot)
	if err != nil {
		return Content{}, fmt.Errorf("writing a snapshot: %w", err)
	}
	defer func() { _ = os.Remove(part.Name()) }() // after a success it does not exist
	err = s.Save(ctx, part)
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return Content{}, fmt.Errorf("writing a snapshot to %s: %w", dir, err)
	}
	content, err := unlessDone(ctx, func() (Content, error) { return check(part.Name()) })
	if err != nil {
		return content, fmt.Errorf("verifying the snapshot: %w", err)
	}
	if err := os.Rename(part.Name(), file); err != nil {
		return content, fmt.Errorf("renaming the snapshot: %w", err)
	}
	return content, SyncDir(dir)
}

// unlessDone returns the result of f, or the error of ctx when ctx is done. f then continues in the background: it reads a whole
// database, and a process that stops must not wait for that.
func unlessDone[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		value, err := f()
		done <- answer{value, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// SyncDir syncs a directory, so that the names of its files are on disk.
func SyncDir(dir string) error {
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
