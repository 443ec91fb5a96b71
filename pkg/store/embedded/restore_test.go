// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// attach reaches the member of dir as another process does.
func attach(t *testing.T, dir string) *Attached {
	t.Helper()
	a, err := Attach(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func put(t *testing.T, c *clientv3.Client, key, value string) int64 {
	t.Helper()
	answer, err := c.Put(t.Context(), key, value)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Header.GetRevision()
}

func value(t *testing.T, c *clientv3.Client, key string) string {
	t.Helper()
	answer, err := c.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Kvs) == 0 {
		return ""
	}
	return string(answer.Kvs[0].Value)
}

func TestF9RunningMemberIsSavedAndLookedAtFromOutside(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	revision := put(t, connect(t, s), "/k", "v")
	a := attach(t, dir)
	file := filepath.Join(t.TempDir(), "snapshot")
	if err := a.Save(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	status, err := a.Status(t.Context())
	if err != nil || !a.Running || status.Revision != revision || status.Quota != s.quota || status.Size == 0 || len(status.Alarms) != 0 {
		t.Errorf("status %+v of running %v, %v; want revision %d, quota %d and no alarm", status, a.Running, err, revision, s.quota)
	}
	if err := a.Defragment(t.Context()); err != nil {
		t.Error(err)
	}
	if content, err := CheckSnapshot(file, false); err != nil || content.Revision != revision || content.Keys != 1 {
		t.Errorf("content %+v, %v; want one key of revision %d", content, err, revision)
	}
	if err := a.Save(t.Context(), file); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("over a snapshot: error %v, want a refusal", err)
	}
	if _, err := Check(dir); err == nil || !strings.Contains(err.Error(), "is in use by another process; check a snapshot") {
		t.Errorf("check of a directory in use: %v", err)
	}
	if _, err := Restore(dir, file, false); !errors.Is(err, errInUse) {
		t.Errorf("restore over a running member: %v", err)
	}
}

func TestF9StoppedMemberIsSavedAndChecked(t *testing.T) {
	dir := stopped(t)
	if content, err := Check(dir); err != nil || content.Keys != 2 {
		t.Errorf("content %+v, %v; want two keys", content, err)
	}
	a := attach(t, dir)
	if a.Running {
		t.Error("a member is said to run that does not")
	}
	if err := a.Save(t.Context(), filepath.Join(t.TempDir(), "snapshot")); err != nil {
		t.Error(err)
	}
	if _, err := Attach(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "has no data of an embedded etcd") {
		t.Errorf("attached to nothing: %v", err)
	}
}

func TestF8RestoredStoreIsAheadOfAllThatWasSeen(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	c := connect(t, s)
	put(t, c, "/kept", "old")
	file := filepath.Join(t.TempDir(), "snapshot")
	if err := attach(t, dir).Save(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	put(t, c, "/kept", "new")
	seen := put(t, c, "/later", "v")
	_ = c.Close()
	s.Close()

	restored, err := Restore(dir, file, false)
	if err != nil {
		t.Fatal(err)
	}
	again := connect(t, start(t, dir))
	if kept, later := value(t, again, "/kept"), value(t, again, "/later"); kept != "old" || later != "" {
		t.Errorf("kept %q and later %q, want what the snapshot has", kept, later)
	}
	if now := put(t, again, "/k", "v"); now < seen+revisionBump/2 {
		t.Errorf("the revision is %d, and clients have seen %d", now, seen)
	}
	watched := <-again.Watch(t.Context(), "/", clientv3.WithPrefix(), clientv3.WithRev(seen+1))
	if !errors.Is(watched.Err(), rpctypes.ErrCompacted) {
		t.Errorf("a watch from revision %d ends with %v, want that it is compacted", seen+1, watched.Err())
	}
	if _, err := os.Stat(databasePath(strings.TrimSuffix(restored.Aside, memberDir))); restored.Aside == "" || err == nil {
		t.Errorf("data of before is in %q", restored.Aside)
	}
	if _, err := os.Stat(filepath.Join(restored.Aside, "member", "snap", "db")); err != nil {
		t.Errorf("the data of before is lost: %v", err)
	}
}

func TestF8RestoredStoreWaitsUntilItIsReleased(t *testing.T) {
	dir := stopped(t)
	expect := func(when string, want bool) {
		t.Helper()
		s := start(t, dir)
		defer s.Close()
		if got, err := s.Waiting(t.Context()); got != want || err != nil {
			t.Errorf("%s: waiting %v, %v, want %v", when, got, err, want)
		}
		if got, err := attach(t, dir).Waiting(t.Context()); got != want || err != nil {
			t.Errorf("%s, asked from outside: waiting %v, %v, want %v", when, got, err, want)
		}
	}
	expect("before", false)
	file := filepath.Join(t.TempDir(), "snapshot")
	a := attach(t, dir)
	if err := a.Save(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	a.Close()
	if _, err := Restore(dir, file, false); err != nil {
		t.Fatal(err)
	}
	expect("restored", true)
	expect("after a start", true)
	if left, err := os.ReadFile(filepath.Join(dir, restoredFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory says it, too: %s, %v; another member could not release the store", left, err)
	}
	a = attach(t, dir)
	if released, err := a.Release(t.Context()); !released || err != nil {
		t.Errorf("released %v, %v", released, err)
	}
	if released, err := a.Release(t.Context()); released || err != nil {
		t.Errorf("released twice: %v, %v", released, err)
	}
	a.Close()
	expect("released", false)
}

func TestARestoredStoreThatIsFullSaysThatItsQuotaHasToBeLarger(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	c := connect(t, s)
	value := strings.Repeat("v", 1<<20)
	for n := range 2 * smallQuota >> 20 {
		put(t, c, fmt.Sprintf("/objects/%d", n), value)
	}
	file := filepath.Join(t.TempDir(), "snapshot")
	if err := attach(t, dir).Save(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	s.Close()
	if _, err := Restore(dir, file, false); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{Dir: dir, UnsafeNoFsync: true, QuotaBytes: smallQuota}); err == nil || !strings.Contains(err.Error(), "start it with a larger --etcd-quota-backend-bytes") {
		t.Errorf("it starts with %v", err)
	}
	if waiting, err := start(t, dir).Waiting(t.Context()); !waiting || err != nil {
		t.Errorf("with a larger quota it waits: %v, %v", waiting, err)
	}
}

func TestF8OnlyWholeSnapshotsAreRestored(t *testing.T) {
	dir := stopped(t)
	file := filepath.Join(t.TempDir(), "snapshot")
	a := attach(t, dir)
	if err := a.Save(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	a.Close()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		content []byte
		want    string
	}{
		"truncated":   {whole[:len(whole)/2/4096*4096], "has no checksum"},
		"changed":     {append(append([]byte{}, whole[:len(whole)-40]...), make([]byte, 40)...), "does not fit its checksum"},
		"a text file": {[]byte("hello"), "has no checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := filepath.Join(t.TempDir(), "bad")
			if err := os.WriteFile(bad, tc.content, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Restore(dir, bad, false); err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), bad) {
				t.Errorf("error %v, want one that names the file and says %q", err, tc.want)
			}
			if content, err := Check(dir); err != nil || content.Keys != 2 {
				t.Errorf("the data was touched: %+v, %v", content, err)
			}
			if _, err := os.Stat(filepath.Join(dir, restoredFile)); err == nil {
				t.Error("the store is marked as restored")
			}
		})
	}
	t.Run("a copy of a database, when asked for", func(t *testing.T) {
		empty := t.TempDir()
		if _, err := Restore(empty, databasePath(dir), true); err != nil {
			t.Fatal(err)
		}
		if _, err := Check(empty); err != nil {
			t.Error(err)
		}
		if got := value(t, connect(t, start(t, empty)), "/a"); len(got) != 1<<20 {
			t.Errorf("/a has %d bytes, want what was copied", len(got))
		}
	})
}

func TestSnapshotWithTheAlarmOfAMemberThatIsGoneIsRestored(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	alarm := &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: 42, Alarm: etcdserverpb.AlarmType_NOSPACE}
	if _, err := s.etcd.Server.Alarm(t.Context(), alarm); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "snapshot")
	if _, err := s.SaveFile(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := Restore(dir, file, false); err != nil {
		t.Fatal(err)
	}
	put(t, connect(t, start(t, dir)), "/k", "v")
}
