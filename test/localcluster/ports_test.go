// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/test/localcluster/ports"
)

func load(t *testing.T, file string, wanted ports.Set, names ...string) ports.Set {
	t.Helper()
	s, err := ports.Load(file, wanted, names...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPorts_AreDifferentFreeAndKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ports.json")
	first := load(t, file, nil, "a", "b", "c")
	seen := map[int]bool{}
	for name, port := range first {
		if seen[port] {
			t.Errorf("port %d of %s was given out twice", port, name)
		}
		seen[port] = true
		if port < 20000 || port > 32767 {
			t.Errorf("port %d of %s is one that connections may take, want %d to %d", port, name, 20000, 32767)
		}
		l, err := net.Listen("tcp", first.Address(name))
		if err != nil {
			t.Errorf("the port of %s is not free: %v", name, err)
			continue
		}
		_ = l.Close()
	}
	if diff := cmp.Diff(first, load(t, file, nil, "a", "b", "c")); diff != "" {
		t.Errorf("ports of a second run (-first +second):\n%s", diff)
	}
	grown := load(t, file, nil, "a", "b", "c", "d")
	if grown["a"] != first["a"] || grown["d"] == 0 {
		t.Errorf("after adding a name: %v, want those of %v and one more", grown, first)
	}
}

func TestPorts_RequestedOneReplacesTheKeptOne(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "ports.json")
	load(t, file, nil, "a")
	free := load(t, filepath.Join(dir, "other.json"), nil, "x")["x"]
	load(t, file, ports.Set{"a": free}, "a")
	if got := load(t, file, nil, "a")["a"]; got != free {
		t.Errorf("kept port = %d, want %d", got, free)
	}
}

func TestPorts_ReportAPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port
	file := filepath.Join(t.TempDir(), "ports.json")
	_, err = ports.Load(file, ports.Set{"kube-apiserver": taken}, "kube-apiserver")
	want := fmt.Sprintf("port %d of kube-apiserver is in use", taken)
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("Load = %v, want one line with %q", err, want)
	}
}

func TestPorts_RejectInvalidInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ports.json")
	for _, port := range []int{-1, 0, 65536} {
		if _, err := ports.Load(file, ports.Set{"a": port}, "a"); err == nil || !strings.Contains(err.Error(), "1 to 65535") {
			t.Errorf("port %d: Load = %v, want the allowed range", port, err)
		}
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ports.Load(file, nil, "a"); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("damaged file: Load = %v, want an error that names it", err)
	}
}

// The ports of the first environment are free when the second chooses its own.
func TestPorts_OfSimultaneousEnvironmentsDiffer(t *testing.T) {
	const environments, servers = 60, 12
	dir, seen := t.TempDir(), map[int]int{}
	var names []string
	for i := range servers {
		names = append(names, fmt.Sprint(i))
	}
	for i := range environments {
		for name, port := range load(t, filepath.Join(dir, fmt.Sprint(i)), nil, names...) {
			if first, twice := seen[port]; twice {
				t.Fatalf("port %d of environment %d is that of %s in environment %d, too", port, first, name, i)
			}
			seen[port] = i
		}
	}
}
