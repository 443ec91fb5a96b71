// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/clitest"
)

// storedSnapshot is a snapshot.
func storedSnapshot() []byte {
	database := bytes.Repeat([]byte("db\x1b["), 1024)
	sum := sha256.Sum256(database)
	return append(database, sum[:]...)
}

func TestBackup_WritesNoFileUnlessTheChecksumMatches(t *testing.T) {
	whole := storedSnapshot()
	for name, tc := range map[string]struct {
		answer []byte
		says   string
	}{
		"whole":             {whole, ""},
		"cut in the middle": {whole[:len(whole)/2], "is not valid: it has no checksum: it is truncated"},
		"changed":           {append(bytes.Clone(whole[:len(whole)-1]), 0), "does not match its checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "slipway.db")
			code, out, errOut := run(t, &clitest.APIServer{Store: tc.answer}, "backup", file)
			got, err := os.ReadFile(file)
			if tc.says == "" {
				if code != 0 || err != nil || !bytes.Equal(got, whole) || !strings.Contains(errOut, file+": 4.0 KiB, checksum verified") || out != "" {
					t.Errorf("exit code %d, %s%s, %d bytes, %v", code, out, errOut, len(got), err)
				}
			} else if code != 1 || !os.IsNotExist(err) || !strings.Contains(errOut, tc.says) {
				t.Errorf("exit code %d, %s, the file: %v; want %q and no file", code, errOut, err, tc.says)
			}
			if entries, _ := os.ReadDir(dir); (len(entries) > 0) != (tc.says == "") || len(entries) > 1 {
				t.Errorf("the directory has %v", entries)
			}
		})
	}
}

func TestBackup_DoesNotOverwriteFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "slipway.db")
	if err := os.WriteFile(file, []byte("of yesterday"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errOut := run(t, &clitest.APIServer{Store: storedSnapshot()}, "backup", file)
	if got, err := os.ReadFile(file); code != 1 || !strings.Contains(errOut, "slipway.db exists already and is not overwritten") || err != nil || string(got) != "of yesterday" {
		t.Errorf("exit code %d, %s; the file has %q, %v", code, errOut, got, err)
	}
}

func TestBackup_WritesToStandardOutput(t *testing.T) {
	whole := storedSnapshot()
	if code, out, errOut := run(t, &clitest.APIServer{Store: whole}, "backup", "-"); code != 0 || out != string(whole) {
		t.Errorf("exit code %d, %s, %d bytes of %d", code, errOut, len(out), len(whole))
	}
	if code, _, errOut := run(t, &clitest.APIServer{Store: whole[:100]}, "backup", "-"); code != 1 || !strings.Contains(errOut, "is not valid: it has no checksum") {
		t.Errorf("of an answer that was cut: exit code %d, %s", code, errOut)
	}
}
