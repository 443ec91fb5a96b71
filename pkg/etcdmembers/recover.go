// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
)

// recoverFile in the data directory orders the next start to make its member the only one.
// It has the ID of the cluster.
const recoverFile = "recover-cluster"

// Recover orders the next start on dir to make its member the only one of the cluster, whose
// ID has to be given: for when most members are lost for good. What only they had is lost,
// which can be what was written last.
func Recover(dir, cluster string) error {
	local, err := embedded.LocalOf(dir)
	if err != nil {
		return err
	}
	switch {
	case local.Member == 0:
		return fmt.Errorf("%s has no data of a member", dir)
	case cluster != hex(local.Cluster):
		return fmt.Errorf("%s has data of the cluster %s, not of %s", dir, hex(local.Cluster), cluster)
	}
	if err := os.WriteFile(filepath.Join(dir, recoverFile), []byte(cluster+"\n"), 0o600); err != nil {
		return fmt.Errorf("ordering the recovery: %w", err)
	}
	return nil
}

// recovers tells whether that was ordered, and makes the record so. A cluster that has a
// quorum without this member is not given up.
func (s *starter) recovers(ctx context.Context) (bool, error) {
	ordered, err := os.ReadFile(filepath.Join(s.options.Etcd.Dir, recoverFile))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking whether a recovery was ordered: %w", err)
	}
	if id := strings.TrimSpace(string(ordered)); id != hex(s.local.Cluster) {
		return false, s.refused("a recovery of the cluster %s was ordered, and the data is of %s", id, hex(s.local.Cluster))
	}
	if !s.local.Votes { // etcd would end, at each start from then on
		return false, s.refused("a recovery was ordered, and this member is no full one: it still learns, or was removed. " +
			"Recover another one, or restore a snapshot or the database of this one")
	}
	err = s.await(ctx, func(ctx context.Context) (string, error) {
		r, err := s.records.read(ctx)
		if err != nil {
			return "", err
		}
		voters, others := 0, []embedded.Member(nil)
		if r != nil {
			if r.cluster != 0 && r.cluster != s.local.Cluster {
				return "", s.refused("a recovery was ordered of the cluster %s, and the host cluster knows %s", hex(s.local.Cluster), hex(r.cluster))
			}
			for _, m := range r.members {
				if m.Learner {
					continue
				}
				// A member that was removed is not one of them.
				if voters++; m.ID != s.local.Member {
					others = append(others, m)
				}
			}
		}
		if missing := s.peer.Missing(ctx, others); len(others)-len(missing) > voters/2 {
			return "", s.refused("a recovery was ordered, and %d of %d other members answer: they have a quorum, which would be a second cluster",
				len(others)-len(missing), len(others))
		}
		return "", s.records.change(ctx, func(r *record) *record {
			if r == nil {
				r = &record{}
			}
			r.cluster = s.local.Cluster
			r.lost = ""                    // else who has no data founds another one while this one starts
			delete(r.asks, s.options.Name) // it goes on with the data that it has
			r.members = []embedded.Member{{ID: s.local.Member, Name: s.options.Name, Address: s.options.Address}}
			return r
		})
	})
	if err == nil {
		klog.FromContext(ctx).Info("Recovering the embedded etcd: this member becomes the only one", "cluster", hex(s.local.Cluster))
	}
	return err == nil, err
}

// refused is the end of this start, and of the order, so that the next one goes on without it:
// nobody can remove a file of a container that does not run.
func (s *starter) refused(format string, values ...any) error {
	return &finalError{errors.Join(fmt.Errorf(format+". It is not done, and the next start goes on without it", values...), s.recovered())}
}

// recovered is done when the member runs, or is not to.
func (s *starter) recovered() error {
	if err := os.Remove(filepath.Join(s.options.Etcd.Dir, recoverFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("noting that the recovery is done: %w", err)
	}
	return nil
}
