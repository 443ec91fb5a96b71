// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/slipway-dev/slipway/pkg/store/maintenance"
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

func TestSave_OfARunningMemberIsCheckedFromOutside(t *testing.T) {
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
	if content, err := maintenance.CheckSnapshot(file, false); err != nil || content.Revision != revision || content.Keys != 1 {
		t.Errorf("content %+v, %v; want one key of revision %d", content, err, revision)
	}
	if err := a.Save(t.Context(), file); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("over a snapshot: error %v, want a refusal", err)
	}
	if _, err := Check(dir); err == nil || !strings.Contains(err.Error(), "is in use by another process; check a snapshot") {
		t.Errorf("check of a directory in use: %v", err)
	}
	if _, err := Restore(dir, file, false, nil); !errors.Is(err, errInUse) {
		t.Errorf("restore over a running member: %v", err)
	}
}

func TestSave_OfAStoppedMemberIsChecked(t *testing.T) {
	dir := stopped(t)
	if content, err := Check(dir); err != nil || content.Keys != 2 {
		t.Errorf("content %+v, %v; want two keys", content, err)
	}
	a := attach(t, dir)
	if a.Running {
		t.Error("a stopped member is reported as running")
	}
	if err := a.Save(t.Context(), filepath.Join(t.TempDir(), "snapshot")); err != nil {
		t.Error(err)
	}
	if _, err := Attach(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "has no data of an embedded etcd") {
		t.Errorf("attached to nothing: %v", err)
	}
}

func TestRestore_RevisionsAreLaterThanAnyObservedOne(t *testing.T) {
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

	restored, err := Restore(dir, file, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	again := connect(t, start(t, dir))
	if kept, later := value(t, again, "/kept"), value(t, again, "/later"); kept != "old" || later != "" {
		t.Errorf("kept %q and later %q, want the values of the snapshot", kept, later)
	}
	if now := put(t, again, "/k", "v"); now < seen+revisionBump/2 {
		t.Errorf("the revision is %d, and clients have seen %d", now, seen)
	}
	watched := <-again.Watch(t.Context(), "/", clientv3.WithPrefix(), clientv3.WithRev(seen+1))
	if !errors.Is(watched.Err(), rpctypes.ErrCompacted) {
		t.Errorf("a watch from revision %d ends with %v, want that it is compacted", seen+1, watched.Err())
	}
	if _, err := os.Stat(databasePath(strings.TrimSuffix(restored.Aside, memberDir))); restored.Aside == "" || err == nil {
		t.Errorf("the previous data is in %q", restored.Aside)
	}
	if _, err := os.Stat(filepath.Join(restored.Aside, "member", "snap", "db")); err != nil {
		t.Errorf("the previous data is lost: %v", err)
	}
}

func TestRestore_PreparesTheDataBeforeItIsInItsPlace(t *testing.T) {
	dir := stopped(t)
	file := filepath.Join(t.TempDir(), "snapshot")
	a := attach(t, dir)
	if err := a.Save(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	a.Close()
	broken := errors.New("broken")
	if _, err := Restore(dir, file, false, func(string) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("Restore = %v, want %v", err, broken)
	}
	if _, err := os.Stat(filepath.Join(dir, newDir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the restored data is left: %v", err)
	}
	s := start(t, dir)
	put(t, connect(t, s), "/since", "v")
	s.Close()
	mark := func(fresh string) error {
		a := attach(t, fresh)
		defer a.Close()
		put(t, a.Client(), "/mark", "v")
		return nil
	}
	if _, err := Restore(dir, file, false, mark); err != nil {
		t.Fatal(err)
	}
	c := connect(t, start(t, dir))
	if got := value(t, c, "/mark"); got != "v" {
		t.Errorf("the mark is %q", got)
	}
	if got := value(t, c, "/since"); got != "" {
		t.Error("the data was not restored")
	}
}

func TestRestore_RejectsIncompleteSnapshots(t *testing.T) {
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
		"changed":     {append(append([]byte{}, whole[:len(whole)-40]...), make([]byte, 40)...), "does not match its checksum"},
		"a text file": {[]byte("hello"), "has no checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := filepath.Join(t.TempDir(), "bad")
			if err := os.WriteFile(bad, tc.content, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Restore(dir, bad, false, nil); err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), bad) {
				t.Errorf("error %v, want one with the file and %q", err, tc.want)
			}
			if content, err := Check(dir); err != nil || content.Keys != 2 {
				t.Errorf("the data was touched: %+v, %v", content, err)
			}
		})
	}
	t.Run("a copy of a database, if requested", func(t *testing.T) {
		empty := t.TempDir()
		if _, err := Restore(empty, databasePath(dir), true, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := Check(empty); err != nil {
			t.Error(err)
		}
		if got := value(t, connect(t, start(t, empty)), "/a"); len(got) != 1<<20 {
			t.Errorf("/a has %d bytes, want the copied content", len(got))
		}
	})
}

func TestRestore_AcceptsASnapshotWithTheAlarmOfARemovedMember(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	alarm := &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: 42, Alarm: etcdserverpb.AlarmType_NOSPACE}
	if _, err := etcdserverpb.NewMaintenanceClient(connect(t, s).ActiveConnection()).Alarm(t.Context(), alarm); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "snapshot")
	if _, err := s.Store().SaveFile(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := Restore(dir, file, false, nil); err != nil {
		t.Fatal(err)
	}
	put(t, connect(t, start(t, dir)), "/k", "v")
}
