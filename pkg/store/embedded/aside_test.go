// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.uber.org/zap"
)

// A member that was removed joins anew, does not catch up, and is removed again: what it had before
// is more than what it was sent, and may be all that is left when the others are lost.
func TestDataOfBeforeIsKeptUntilAMemberHasJoinedHoweverOftenItTries(t *testing.T) {
	dir := stopped(t)
	s := &Server{dir: dir}
	again := &Peer{Plan: func(context.Context, Local) (Plan, error) { return Plan{Join: []Member{{ID: 1}}}, nil }}
	mark := filepath.Join(dir, memberDir, "of-before")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.plan(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(dir, asideDir, "of-before")
	if _, err := os.Stat(kept); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, memberDir), os.DirFS(stopped(t)+"/"+memberDir)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.plan(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("after the second try the data of before is gone: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, memberDir)); err == nil {
		t.Errorf("%v are in the way of the new member", left)
	}
	if err := s.Forget(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err == nil {
		t.Error("when it has joined the data of before is still there")
	}
}

// Another replica may have founded the cluster anew: what is left here may be all that there is.
func TestADatabaseWithoutALogIsKeptAlsoByWhoJoins(t *testing.T) {
	dir := stopped(t)
	if err := os.RemoveAll(filepath.Join(dir, memberDir, "member", "wal")); err != nil {
		t.Fatal(err)
	}
	s := &Server{dir: dir}
	joins := &Peer{Plan: func(context.Context, Local) (Plan, error) { return Plan{Join: []Member{{ID: 1}}}, nil }}
	kept := func() []string {
		t.Helper()
		all, err := filepath.Glob(filepath.Join(dir, memberDir+".before-*", "member", "snap", "db"))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if _, err := s.plan(t.Context(), joins); err != nil {
		t.Fatal(err)
	}
	if all := kept(); len(all) != 1 {
		t.Fatalf("the database of before is in %q", all)
	}

	// Nothing is in that of an attempt to join that ended early.
	if err := os.MkdirAll(filepath.Dir(databasePath(dir)), 0o700); err != nil {
		t.Fatal(err)
	}
	empty := backend.NewDefaultBackend(zap.NewNop(), databasePath(dir))
	if err := empty.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.plan(t.Context(), joins); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(databasePath(dir)); err == nil || len(kept()) != 1 {
		t.Errorf("an empty database is kept: %q (%v)", kept(), err)
	}
}
