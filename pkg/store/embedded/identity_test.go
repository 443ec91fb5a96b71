// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"path/filepath"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/slipway-dev/slipway/pkg/store/maintenance"
)

// clusterID returns the ID of the cluster of a running member.
func clusterID(t *testing.T, s *Server) uint64 {
	t.Helper()
	status, err := s.client.Status(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return status.Header.GetClusterId()
}

func TestClusterID_DiffersForEachStoreAndRestore(t *testing.T) {
	born, other := t.TempDir(), t.TempDir()
	s := start(t, born)
	put(t, connect(t, s), "/k", "v")
	file := filepath.Join(t.TempDir(), "snapshot")
	if _, err := s.Store().SaveFile(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]string{clusterID(t, s): "the first store"}
	s.Close()
	differs := func(dir, what string) {
		t.Helper()
		s := start(t, dir)
		defer s.Close()
		id := clusterID(t, s)
		if like, ok := seen[id]; ok {
			t.Errorf("%s is of the cluster of %s", what, like)
		}
		seen[id] = what
	}
	differs(other, "another store")
	for _, what := range []string{"a restored store", "one that was restored once more"} {
		if _, err := Restore(other, file, false, nil); err != nil {
			t.Fatal(err)
		}
		differs(other, what)
	}
	if again := start(t, other); value(t, connect(t, again), "/k") != "v" {
		t.Error("the restored store differs from the snapshot")
	}
}

// Before they had one of their own all stores had the same identity.
func TestStore_OfAnEarlierVersionIsUsed(t *testing.T) {
	dir := t.TempDir()
	at, err := socketPaths(dir)
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(dir, at, true, maintenance.MinQuota, zap.NewNop())
	cfg.InitialClusterToken = embed.NewConfig().InitialClusterToken
	old, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	<-old.Server.ReadyNotify()
	old.Close()
	const constant = 0xc428061a5662780e
	s := start(t, dir)
	put(t, connect(t, s), "/k", "v")
	if id := clusterID(t, s); id != constant {
		t.Errorf("the cluster is %x, want %x", id, uint64(constant))
	}
}
