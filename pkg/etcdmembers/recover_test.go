// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"errors"
	"path/filepath"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// The member that is left may lack what was written last, and clients have seen that: its store
// is an older one, and is treated like one that was restored.
func TestRecoveryByAMemberThatLagsIsAheadOfAllThatWasSeenAndWaitsForTheRelease(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 3)
	r.start("r-0", "r-1", "r-2")
	r.put("r-0", "/kept", "v")
	r.has(map[string]string{"/kept": "v"})
	r.stop("r-1")
	r.put("r-0", "/lost", "v")
	client := r.all["r-0"].Client()
	got, err := client.Get(t.Context(), "/lost")
	if err != nil {
		t.Fatal(err)
	}
	seen := got.Header.Revision
	_ = client.Close()
	r.stop("r-0", "r-2")

	if err := Recover(filepath.Join(r.dir, "r-1"), hex(r.record().cluster)); err != nil {
		t.Fatal(err)
	}
	r.start("r-1")
	r.has(map[string]string{"/kept": "v", "/lost": ""})
	ahead := func(names ...string) {
		t.Helper()
		for _, name := range names {
			client := r.all[name].Client()
			got, err := client.Get(t.Context(), "/kept")
			_ = client.Close()
			if err != nil || got.Header.Revision <= seen {
				t.Fatalf("the store of %s is at revision %d, and clients have seen %d (error %v)", name, got.Header.Revision, seen, err)
			}
		}
	}
	ahead("r-1")
	client = r.all["r-1"].Client()
	defer func() { _ = client.Close() }()
	told := <-client.Watch(t.Context(), "/", clientv3.WithPrefix(), clientv3.WithRev(seen+1))
	if !errors.Is(told.Err(), rpctypes.ErrCompacted) {
		t.Errorf("a watch from revision %d is told %v (%v), want that it is compacted", seen+1, told.Events, told.Err())
	}
	r.start("r-0", "r-2")
	r.members("r-1", "r-0", "r-1", "r-2")
	ahead("r-0", "r-1", "r-2")
	r.has(map[string]string{"/kept": "v", "/lost": ""})
	r.isReleasedBy("r-2")
}
