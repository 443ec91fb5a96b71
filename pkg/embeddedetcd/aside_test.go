// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"context"
	"os"
	"path/filepath"
	"testing"
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
