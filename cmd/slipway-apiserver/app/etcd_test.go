// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
)

// runEtcd runs the command etcd.
func runEtcd(t *testing.T, in string, args ...string) (string, error) {
	t.Helper()
	cmd := newEtcdCommand(t.Context())
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&bytes.Buffer{})
	cmd.SetIn(strings.NewReader(in))
	cmd.SetArgs(args)
	err := cmd.Execute()
	return out.String(), err
}

func TestEtcdCommand_SavesChecksAndRestores(t *testing.T) {
	dir := t.TempDir()
	in := "--data-dir=" + dir
	etcd, err := embedded.Start(t.Context(), embedded.Options{Dir: dir, UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	expect := func(want string, stdin string, args ...string) string {
		t.Helper()
		out, err := runEtcd(t, stdin, append(args, in)...)
		if err != nil || !strings.Contains(out, want) {
			t.Fatalf("etcd %s = %v, want %q in\n%.300s", strings.Join(args, " "), err, want, out)
		}
		return out
	}
	file := filepath.Join(t.TempDir(), "snapshot")
	expect(file+": 0 keys", "", "snapshot", file)
	stream := expect("", "", "snapshot", "-")
	expect("server runs: true", "", "status")
	expect("alarms: none\nrestored, waiting for release: false", "", "defrag")
	if _, err := runEtcd(t, "", "check", in); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("check while a server is running: %v", err)
	}
	etcd.Close()
	expect("ok: 0 keys", "", "check")
	expect("etcd release --data-dir="+dir, "", "restore", file)
	expect("The previous data is in "+dir, stream, "restore", "-")
	expect("server runs: false", "", "status")
	expect("restored, waiting for release: true", "", "status")
	expect("released", "", "release")
	expect("nothing to release", "", "release")
	for _, flags := range [][]string{nil, {in, "--etcd-servers=http://127.0.0.1:1"}} {
		if _, err := runEtcd(t, "", append([]string{"release"}, flags...)...); err == nil || !strings.Contains(err.Error(), "specify either --data-dir or --etcd-servers") {
			t.Errorf("release %q: %v", flags, err)
		}
	}
	if _, err := runEtcd(t, "", "status"); err == nil || !strings.Contains(err.Error(), "data-dir") {
		t.Errorf("without a directory: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "snapshot-*")); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}

// With a full disk the server ends. A snapshot for standard output is first written next to the data.
func TestEtcdCommand_RejectsASnapshotThatFillsTheDisk(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Logf("NOT RUN: mounting a tmpfs takes a right that is missing here: %v: %s", err, out)
		return
	}
	t.Cleanup(func() { _ = exec.Command("umount", dir).Run() })
	etcd, err := embedded.Start(t.Context(), embedded.Options{Dir: dir, UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	if _, err := runEtcd(t, "", "snapshot", "-", "--data-dir="+dir); err == nil || !strings.Contains(err.Error(), "free") {
		t.Errorf("snapshot = %v, want that too little is free", err)
	}
}
