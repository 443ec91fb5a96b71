// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDataDirectory_HasOneOwner(t *testing.T) {
	dir := dataDir(filepath.Join(t.TempDir(), "data"))
	if pid, err := Running(string(dir)); pid != 0 || err != nil {
		t.Errorf("before any start: Running = %d, %v", pid, err)
	}
	release, err := dir.acquire()
	if err != nil {
		t.Fatal(err)
	}
	if pid, err := Running(string(dir)); pid != os.Getpid() || err != nil {
		t.Errorf("Running = %d, %v, want %d", pid, err, os.Getpid())
	}
	if _, err := dir.acquire(); err == nil || !strings.Contains(err.Error(), "already runs") {
		t.Errorf("second acquire = %v, want that an environment already runs", err)
	}
	if _, err := Reset(string(dir)); err == nil || !strings.Contains(err.Error(), "already runs") {
		t.Errorf("Reset of a running environment = %v, want a refusal", err)
	}
	release()
	if err := WaitStopped(string(dir)); err != nil {
		t.Error(err)
	}
	if pid, err := Running(string(dir)); pid != 0 || err != nil {
		t.Errorf("after release: Running = %d, %v", pid, err)
	}
}

func TestReset_RemovesOnlyKnownFiles(t *testing.T) {
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Reset(foreign); err == nil {
		t.Error("a directory without an environment was removed")
	}
	if _, err := os.Stat(filepath.Join(foreign, "thesis.txt")); err != nil {
		t.Error(err)
	}
	own := filepath.Join(t.TempDir(), "data")
	release, err := dataDir(own).acquire()
	if err != nil {
		t.Fatal(err)
	}
	release()
	if removed, err := Reset(own); err != nil || !removed {
		t.Errorf("Reset = %v, %v, want that it was removed", removed, err)
	}
	if _, err := os.Stat(own); !os.IsNotExist(err) {
		t.Errorf("after Reset: %v, want that it does not exist", err)
	}
	if removed, err := Reset(own); err != nil || removed {
		t.Errorf("Reset of nothing = %v, %v, want neither", removed, err)
	}
}

func TestMissingProgram_IsReportedWithItsMakeTarget(t *testing.T) {
	for name, tc := range map[string]struct {
		present  []string
		hostOnly bool
		want     string
	}{
		"nothing is built":      {nil, false, `kube-apiserver is missing`},
		"kubectl is not built":  {[]string{"kube-apiserver", "kube-controller-manager", "slipway-apiserver", "slipway-dev"}, false, `kubectl is missing`},
		"only tools are built":  {[]string{"kube-apiserver", "kube-controller-manager", "kubectl"}, false, `slipway-apiserver is missing`},
		"tools suffice":         {[]string{"kube-apiserver", "kube-controller-manager"}, true, ""},
		"everything is present": {[]string{"kube-apiserver", "kube-controller-manager", "kubectl", "slipway-apiserver", "slipway-dev"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bin := t.TempDir()
			for _, p := range tc.present {
				if err := os.WriteFile(filepath.Join(bin, p), nil, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Options{DataDir: t.TempDir(), BinDir: bin, HostOnly: tc.hostOnly}.complete()
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "run \"make ") {
				t.Errorf("complete = %v, want %q and how to make it", err, tc.want)
			}
		})
	}
}

func TestPassword_IsKeptAndPrivate(t *testing.T) {
	dir := dataDir(t.TempDir())
	first, err := vcenterPassword(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, err := vcenterPassword(dir)
	if err != nil {
		t.Fatal(err)
	}
	if first != second || len(first) < 20 {
		t.Errorf("passwords %q and %q, want one long one", first, second)
	}
	for _, path := range []string{dir.vcenterPassword(), dir.vcenterCredentials()} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("mode of %s: %o, want 600", path, got)
		}
	}
}
