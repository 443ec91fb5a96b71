// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/slipway-dev/slipway/pkg/etcdfile"
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
	return etcdfile.Write(w, database)
}

// SaveFile writes a snapshot to a file, and looks at all of what was written. The file
// takes its name when it is whole and on disk.
func (s *Server) SaveFile(ctx context.Context, file string) (Content, error) {
	dir := filepath.Dir(file)
	_, free, err := disk(dir)
	if err != nil {
		return Content{}, err
	}
	if need := s.etcd.Server.Backend().Size() + DiskMargin; free < need {
		return Content{}, fmt.Errorf("writing a snapshot to %s: the file system has %s free, and %s are needed, the margin among them", dir, mib(free), mib(need))
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
	content, err := CheckSnapshot(part.Name(), false)
	if err != nil {
		return content, fmt.Errorf("reading again what was written: %w", err)
	}
	if err := os.Rename(part.Name(), file); err != nil {
		return content, fmt.Errorf("naming the snapshot: %w", err)
	}
	return content, syncDir(dir)
}
