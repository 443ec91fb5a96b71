// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	etcdserver "go.etcd.io/etcd/server/v3/etcdserver/errors"
)

// restoredKey of a store says that it was restored, and that nobody has looked at it yet. It
// is beside the keys of objects.
const restoredKey = "/slipway.dev/restored"

// passOn writes into the store that it was restored, where all members of a cluster see it:
// those that join later, too, and may do what this one does not.
func (s *Server) passOn(ctx context.Context) error {
	file := filepath.Join(s.dir, restoredFile)
	when, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking whether the store was restored: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, upkeepTimeout)
	defer cancel()
	_, err = s.etcd.Server.Put(ctx, &pb.PutRequest{Key: []byte(restoredKey), Value: when})
	if errors.Is(err, etcdserver.ErrNoSpace) {
		return fmt.Errorf("writing into the store that it was restored: %w; it is full of what it has: start it with a larger --etcd-quota-backend-bytes", err)
	}
	if err != nil {
		return fmt.Errorf("writing into the store that it was restored: %w", err)
	}
	if err := os.Remove(file); err != nil {
		return fmt.Errorf("noting that the store says that it was restored: %w", err)
	}
	return syncDir(s.dir)
}

// Waiting tells whether the store was restored and nobody has released it yet.
func (s *Server) Waiting(ctx context.Context) (bool, error) {
	found, err := s.etcd.Server.Range(ctx, &pb.RangeRequest{Key: []byte(restoredKey), CountOnly: true})
	if err != nil {
		return true, fmt.Errorf("asking whether the store was restored: %w", err)
	}
	return found.GetCount() > 0, nil
}

// Waiting tells whether the store was restored and nobody has released it yet.
func (a *Attached) Waiting(ctx context.Context) (bool, error) {
	found, err := a.client.Get(ctx, restoredKey)
	if err != nil {
		return true, fmt.Errorf("asking whether the store was restored: %w", err)
	}
	return found.Count > 0, nil
}

// Release says that what is in a restored store may be acted on. It returns false when nothing
// waited.
func (a *Attached) Release(ctx context.Context) (bool, error) {
	removed, err := a.client.Delete(ctx, restoredKey)
	if err != nil {
		return false, fmt.Errorf("releasing the restored store: %w", err)
	}
	return removed.Deleted > 0, nil
}
