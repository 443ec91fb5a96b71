// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/slipway-dev/slipway/pkg/store/snapshotfile"
)

// saveTimeout bounds what a snapshot waits for before it begins: that the member has all
// writes that were acknowledged, which takes a majority of the members.
const saveTimeout = 10 * time.Second

// Save writes a snapshot that has all writes of before, while the member serves.
func (s *Server) Save(ctx context.Context, w io.Writer) error {
	bounded, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	if err := s.etcd.Server.LinearizableReadNotify(bounded); err != nil {
		return fmt.Errorf("waiting until the embedded etcd has all writes: %w", err)
	}
	// A defragmentation would wait for the end of the snapshot, and everybody for that.
	s.saving.RLock()
	defer s.saving.RUnlock()
	database := s.etcd.Server.Backend().Snapshot()
	defer func() { _ = database.Close() }()
	err := snapshotfile.Write(writer(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return w.Write(p)
	}), database)
	if err != nil && ctx.Err() != nil {
		return ctx.Err() // the database does not wrap what the writer says
	}
	return err
}

// writer is a function that writes.
type writer func([]byte) (int, error)

// Write implements io.Writer.
func (w writer) Write(p []byte) (int, error) { return w(p) }

// SaveFile writes a snapshot to a file, and looks at all of what was written. The file
// takes its name when it is whole and on disk, and is not there if ctx is done before.
func (s *Server) SaveFile(ctx context.Context, file string) (Content, error) {
	return s.saveFile(ctx, file, func(file string) (Content, error) { return CheckSnapshot(file, false) })
}

// fits returns an error when a snapshot of so many bytes leaves too little of the file system of dir.
func fits(dir string, size int64) error {
	_, free, err := disk(dir)
	if err != nil {
		return err
	}
	if need := size + DiskMargin; free < need {
		return fmt.Errorf("writing a snapshot to %s: the file system has %s free, and %s are needed, the margin among them", dir, mib(free), mib(need))
	}
	return nil
}

func (s *Server) saveFile(ctx context.Context, file string, check func(string) (Content, error)) (Content, error) {
	dir := filepath.Dir(file)
	if err := fits(dir, s.etcd.Server.Backend().Size()); err != nil {
		return Content{}, err
	}
	part, err := os.CreateTemp(dir, partOfSnapshot)
	if err != nil {
		return Content{}, fmt.Errorf("writing a snapshot: %w", err)
	}
	defer func() { _ = os.Remove(part.Name()) }() // after a success it is not there any more
	err = s.Save(ctx, part)
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return Content{}, fmt.Errorf("writing a snapshot to %s: %w", dir, err)
	}
	content, err := unlessDone(ctx, func() (Content, error) { return check(part.Name()) })
	if err != nil {
		return content, fmt.Errorf("reading again what was written: %w", err)
	}
	if err := os.Rename(part.Name(), file); err != nil {
		return content, fmt.Errorf("naming the snapshot: %w", err)
	}
	return content, syncDir(dir)
}

// unlessDone returns what f does, or leaves it behind when ctx is done: f reads a database to its
// end, and whoever stops is not to wait for that.
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
