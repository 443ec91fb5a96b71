// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slipway-dev/slipway/pkg/store/maintenance"
)

// fill writes until the quota is reached, over and over to the same key: all but one of
// the values are history.
func fill(t *testing.T, c *clientv3.Client) {
	t.Helper()
	value := strings.Repeat("v", 1<<20)
	for range 100 {
		if _, err := c.Put(t.Context(), "/filler", value); err != nil {
			if !strings.Contains(err.Error(), "database space exceeded") {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("100 MiB were written and the quota was not reached")
}

const smallQuota = 32 << 20

func TestFullEtcd_AcceptsWritesAfterARestart(t *testing.T) {
	dir := t.TempDir()
	s := startWith(t, Options{Dir: dir, QuotaBytes: smallQuota})
	c := connect(t, s)
	fill(t, c)
	_ = c.Close()
	s.Close()
	if _, err := connect(t, startWith(t, Options{Dir: dir, QuotaBytes: smallQuota})).Put(t.Context(), "/k", "v"); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

func TestStart_CompactsAndDefragments(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	c := connect(t, s)
	value := strings.Repeat("v", 1<<20)
	for range 40 {
		if _, err := c.Put(t.Context(), "/k", value); err != nil {
			t.Fatal(err)
		}
	}
	var before maintenance.Space
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (done bool, err error) {
		before, err = s.Store().Space() // the file grows with each commit
		return before.Size > 40<<20, err
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	s.Close()
	again := start(t, dir)
	after, err := again.Store().Space()
	if err != nil || after.Size > before.Size/4 {
		t.Errorf("the file had %d bytes and has %d after a restart, %v", before.Size, after.Size, err)
	}
	got, err := connect(t, again).Get(t.Context(), "/k")
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != value {
		t.Errorf("the key has changed: %v", err)
	}
}
