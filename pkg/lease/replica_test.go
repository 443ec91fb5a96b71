// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func nameOf(t *testing.T, file string) string {
	t.Helper()
	id, err := ReplicaName(file)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestReplicaName_StaysTheSameForADataDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "identity")
	first := nameOf(t, file)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first, host+"_") {
		t.Errorf("the identity %s does not name the host %s", first, host)
	}
	if again := nameOf(t, file); again != first {
		t.Errorf("the next process on the same directory is %s, want %s", again, first)
	}
	if other := nameOf(t, filepath.Join(t.TempDir(), "identity")); other == first {
		t.Errorf("two directories have the identity %s", other)
	}
	if a, b := nameOf(t, ""), nameOf(t, ""); a == b {
		t.Errorf("two processes without a directory have the identity %s", a)
	}
}

func TestReplicaName_ReplacesAnIncompleteFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "identity")
	first := nameOf(t, file)
	if err := os.WriteFile(file, []byte(first[:4]), 0o600); err != nil {
		t.Fatal(err)
	}
	second := nameOf(t, file)
	if second == first || nameOf(t, file) != second {
		t.Errorf("after %s the identity is %s and changes with each call", first, second)
	}
}

func TestReplicaName_FailsIfTheDirectoryDoesNotExist(t *testing.T) {
	if id, err := ReplicaName(filepath.Join(t.TempDir(), "missing", "identity")); err == nil {
		t.Errorf("a missing directory: identity %s, want an error", id)
	}
}
