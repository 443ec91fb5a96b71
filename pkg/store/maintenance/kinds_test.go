// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestStore_RejectsCreatesThenUpdatesAndAcceptsDeletes(t *testing.T) {
	bothKinds(t, MinQuota, func(t *testing.T, s *Store, c *clientv3.Client) {
		if s.Room() != nil || s.RoomForUpdates() != nil {
			t.Fatalf("an empty store has no room: %v, %v", s.Room(), s.RoomForUpdates())
		}
		keys := 0
		fillUntil := func(refused func() error, message string) {
			t.Helper()
			for ; refused() == nil; keys++ {
				if _, err := c.Put(t.Context(), fmt.Sprintf("/objects/%03d", keys), strings.Repeat("v", 100<<10)); err != nil {
					t.Fatalf("etcd refuses a write before the reserve does: %v", err)
				}
				// Writes have no size before etcd commits them, and a fast disk takes tens of MiB between two commits.
				_ = s.each(func(ctx context.Context, m *member) error { m.commit(ctx); return nil })
				if _, err := s.remeasure(); err != nil {
					t.Fatal(err)
				}
			}
			if err := refused(); err == nil || !strings.Contains(err.Error(), message) {
				t.Errorf("error %v, want %q", err, message)
			}
		}
		fillUntil(s.Room, "etcd has space only for updates and deletions: ")
		if err := s.RoomForUpdates(); err != nil {
			t.Errorf("updates are refused together with creations: %v", err)
		}
		fillUntil(s.RoomForUpdates, "etcd is full and accepts only deletions: ")
		for i := range keys {
			if _, err := c.Delete(t.Context(), fmt.Sprintf("/objects/%03d", i)); err != nil {
				t.Fatalf("deleting from a full store: %v", err)
			}
		}
		space, err := s.MakeRoom(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		if s.External() != (space.level() >= full) {
			t.Errorf("after the objects were deleted: %s", space)
		}
		if !s.External() {
			return
		}
		// The administrator of the cluster compacts and defragments it.
		answer, err := c.Get(t.Context(), "/objects", clientv3.WithPrefix())
		if err != nil || answer.Count != 0 {
			t.Fatalf("%d objects are left, %v", answer.Count, err)
		}
		if _, err := c.Compact(t.Context(), answer.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Defragment(t.Context(), c.Endpoints()[0]); err != nil {
			t.Fatal(err)
		}
		if space, err := s.remeasure(); err != nil || space.level() != enough {
			t.Errorf("after a defragmentation: %s, %v", space, err)
		}
	})
}

func TestStore_TakesSnapshotsBySchedule(t *testing.T) {
	bothKinds(t, smallQuota, func(t *testing.T, s *Store, c *clientv3.Client) {
		if _, err := c.Put(t.Context(), "/k", "v"); err != nil {
			t.Fatal(err)
		}
		o := Schedule{Dir: t.TempDir(), Interval: time.Hour, Keep: 1, Offset: time.Millisecond}
		old := o.name(time.Now().Add(-2 * time.Hour))
		if err := os.WriteFile(old, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		keepUntil(t, s, o, func() bool {
			_, err := os.Stat(old)
			return os.IsNotExist(err)
		})
		got := names(t, o.Dir)
		if len(got) != 1 {
			t.Fatalf("the directory has %v, want one snapshot", got)
		}
		if content, err := CheckSnapshot(filepath.Join(o.Dir, got[0]), false); err != nil || content.Keys != 1 {
			t.Errorf("the snapshot: %+v, %v, want one key", content, err)
		}
	})
}

func TestStore_SaveWritesAllAcknowledgedWrites(t *testing.T) {
	bothKinds(t, smallQuota, func(t *testing.T, s *Store, c *clientv3.Client) {
		for i := range 3 {
			if _, err := c.Put(t.Context(), fmt.Sprintf("/k/%d", i), strings.Repeat("v", 100<<10)); err != nil {
				t.Fatal(err)
			}
			var saved bytes.Buffer
			if err := s.Save(t.Context(), &saved); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "snapshot")
			if err := os.WriteFile(file, saved.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			if content, err := CheckSnapshot(file, false); err != nil || content.Keys != i+1 {
				t.Errorf("the snapshot: %+v, %v, want %d keys", content, err, i+1)
			}
		}
	})
}

func TestStore_WithoutAResponseRejectsNothing(t *testing.T) {
	s, err := Connect(clientv3.Config{Endpoints: []string{"http://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if _, err := s.Space(); err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:1") {
		t.Errorf("Space = %v, want an error with the endpoint", err)
	}
	if err := s.Room(); err != nil {
		t.Errorf("Room = %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := s.Save(ctx, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:1") {
		t.Errorf("Save = %v, want an error with the endpoint", err)
	}
}

func TestStore_ThatDoesNotAnswerIsAsFullAsItWas(t *testing.T) {
	answering := true
	s, err := Connect(clientv3.Config{Endpoints: []string{"http://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.members[0].client.Maintenance = statusOnly{status: func() (*clientv3.StatusResponse, error) {
		if !answering {
			return nil, context.DeadlineExceeded
		}
		return &clientv3.StatusResponse{DbSize: MinQuota * 106 / 100, DbSizeInUse: 1, DbSizeQuota: LimitOf(MinQuota)}, nil
	}}
	refused := []struct {
		write string
		room  func() error
	}{{"creations", s.Room}, {"updates", s.RoomForUpdates}, {"updates of the server", s.RoomForServer}}
	for _, answering = range []bool{true, false, true} {
		if _, err := s.remeasure(); (err == nil) != answering {
			t.Fatalf("answering %v: %v", answering, err)
		}
		for _, r := range refused {
			if err := r.room(); err == nil || !strings.Contains(err.Error(), "etcd is full and accepts only deletions") {
				t.Errorf("answering %v: %s of a full store: %v", answering, r.write, err)
			}
		}
	}
}

// statusOnly is an etcd of which only the status is known.
type statusOnly struct {
	clientv3.Maintenance
	status func() (*clientv3.StatusResponse, error)
}

func (m statusOnly) Status(context.Context, string) (*clientv3.StatusResponse, error) {
	return m.status()
}

func (statusOnly) SnapshotWithVersion(context.Context) (*clientv3.SnapshotResponse, error) {
	return nil, context.DeadlineExceeded
}
