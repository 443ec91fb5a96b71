// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// stopped is a directory with data of a member that was stopped, like one of ours.
func stopped(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := start(t, dir)
	c := connect(t, s)
	for _, key := range []string{"/a", "/b"} {
		if _, err := c.Put(t.Context(), key, strings.Repeat("v", 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.Close()
	s.Close()
	if err := os.WriteFile(filepath.Join(dir, IdentityFile), []byte("id"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func overwrite(path string, at int64, with []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = f.WriteAt(with, at)
	return err
}

func TestInspect_ReportsDamagedDirectoriesInOneLine(t *testing.T) {
	wal := func(dir string) string {
		logs, err := filepath.Glob(filepath.Join(dir, memberDir, "member", "wal", "*.wal"))
		if err != nil || len(logs) == 0 {
			t.Fatalf("no log: %v", err)
		}
		return logs[0]
	}
	for name, tc := range map[string]struct {
		damage func(dir string) error
		want   string
	}{
		"F4: log removed":          {func(dir string) error { return os.Remove(wal(dir)) }, "no write-ahead log in member-data/member/wal"},
		"F4: directory of the log": {func(dir string) error { return os.RemoveAll(filepath.Dir(wal(dir))) }, "no write-ahead log"},
		"empty log":                {func(dir string) error { return os.Truncate(wal(dir), 0) }, "is empty"},
		"truncated database":       {func(dir string) error { return os.Truncate(databasePath(dir), 20000) }, "has 20000 of "},
		"nearly nothing left":      {func(dir string) error { return os.Truncate(databasePath(dir), 100) }, "snap/db is damaged"},
		"both meta pages":          {func(dir string) error { return overwrite(databasePath(dir), 0, make([]byte, 8192)) }, "snap/db is damaged: invalid database"},
		"all pages but the first":  {func(dir string) error { return overwrite(databasePath(dir), 8192, make([]byte, 1<<20)) }, "snap/db is damaged"},
		"F3: data removed":         {func(dir string) error { return os.RemoveAll(filepath.Join(dir, memberDir)) }, "its data below member-data is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := stopped(t)
			if err := tc.damage(dir); err != nil {
				t.Fatal(err)
			}
			_, err := Start(t.Context(), Options{Dir: dir, UnsafeNoFsync: true})
			var damaged *DamagedError
			if !errors.As(err, &damaged) || !strings.Contains(err.Error(), tc.want) ||
				!strings.Contains(err.Error(), "etcd restore FILE --data-dir="+dir) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q and what to do", err, tc.want)
			}
		})
	}
}

func TestInspect_DatabaseIsRebuiltFromTheLog(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"removed": os.Remove,
		"empty":   func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := stopped(t)
			if err := damage(databasePath(dir)); err != nil {
				t.Fatal(err)
			}
			got, err := connect(t, start(t, dir)).Get(t.Context(), "/a")
			if err != nil || len(got.Kvs) != 1 {
				t.Errorf("/a = %v, %v, want it", got, err)
			}
		})
	}
}

// What hangs in etcd cannot be ended; it is left behind.
func TestStart_ThatHangsIsCanceledWithItsContext(t *testing.T) {
	for name, tc := range map[string]struct {
		told bool
		want string
	}{
		"cancelled": {true, context.Canceled.Error()},
		"no answer": {false, "it did not answer within 5m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, tell := context.WithCancel(t.Context())
				defer tell()
				end := make(chan struct{})
				s, started := &Server{dir: "dir"}, make(chan error, 1)
				go func() {
					started <- s.start(ctx, func(context.Context, chan<- struct{}) error { <-end; return nil })
				}()
				if tc.told {
					tell()
				}
				select {
				case err := <-started:
					if err == nil || !strings.Contains(err.Error(), tc.want) {
						t.Errorf("error %v, want %q", err, tc.want)
					}
				case <-time.After(time.Hour):
					t.Error("a start that hangs is waited for")
				}
				close(end)
			})
		})
	}
}
