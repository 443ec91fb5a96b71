// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// identity is the cluster that the data of a stopped member is of.
func identity(t *testing.T, dir string) uint64 {
	t.Helper()
	local, err := LocalOf(dir)
	if err != nil || local.Cluster == 0 || local.Member == 0 {
		t.Fatalf("the data is of %+v, %v", local, err)
	}
	return local.Cluster
}

func TestEachStoreAndEachRestoreIsAClusterOfItsOwn(t *testing.T) {
	born, other := t.TempDir(), t.TempDir()
	s := start(t, born)
	put(t, connect(t, s), "/k", "v")
	file := filepath.Join(t.TempDir(), "snapshot")
	if _, err := s.SaveFile(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	s.Close()
	start(t, other).Close()
	seen := map[uint64]string{identity(t, born): "the first store"}
	differs := func(dir, what string) {
		t.Helper()
		id := identity(t, dir)
		if like, ok := seen[id]; ok {
			t.Errorf("%s is of the cluster of %s", what, like)
		}
		seen[id] = what
	}
	differs(other, "another store")
	for _, what := range []string{"a restored store", "one that was restored once more"} {
		if _, err := Restore(other, file, false); err != nil {
			t.Fatal(err)
		}
		differs(other, what)
	}
	if again := start(t, other); value(t, connect(t, again), "/k") != "v" {
		t.Error("the restored store does not have what the snapshot has")
	}
}

// Before they had one of their own all stores had the same identity.
func TestStoreOfBeforeGoesOn(t *testing.T) {
	dir := t.TempDir()
	at, err := socketPaths(dir)
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(dir, at, true, MinQuota, zap.NewNop())
	cfg.InitialClusterToken = embed.NewConfig().InitialClusterToken
	old, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	<-old.Server.ReadyNotify()
	old.Close()
	const constant = 0xc428061a5662780e
	if id := identity(t, dir); id != constant {
		t.Fatalf("the store of before is of the cluster %x, want %x", id, uint64(constant))
	}
	s := start(t, dir)
	put(t, connect(t, s), "/k", "v")
	if s.Cluster() != constant {
		t.Errorf("the cluster is %x now", s.Cluster())
	}
}

func TestDamagedMemberOfSeveralIsToBeReplaced(t *testing.T) {
	for _, tc := range []struct {
		err        *DamagedError
		want, none string
	}{
		{&DamagedError{Dir: "/data", What: "w"}, "etcd restore FILE --data-dir=/data", "joins them anew"},
		{&DamagedError{Dir: "/data", What: "w", Others: true}, "replace this one: remove what is in /data, and it joins them anew", "begin anew"},
	} {
		if got := tc.err.Error(); !strings.Contains(got, tc.want) || strings.Contains(got, tc.none) {
			t.Errorf("%q, want %q in it, and %q not", got, tc.want, tc.none)
		}
	}
}
