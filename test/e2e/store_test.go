// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

const storeConfigMap = "slipway-store"

// knownStore is the ID that the host cluster knows.
func (u user) knownStore() string {
	u.t.Helper()
	return u.kubectl("get", "configmap", storeConfigMap, "--namespace=slipway-system", "-o", "jsonpath={.data.id}")
}

// swapStores kills the server and starts it anew when swap has changed its directory, but
// does not wait until it is ready: ready tells.
func swapStores(t *testing.T, swap func(dir string) error) (ready <-chan error) {
	t.Helper()
	if err := environment(t).KillSlipway(); err != nil {
		t.Fatal(err)
	}
	if err := swap(environment(t).SlipwayDataDir()); err != nil {
		t.Fatal(err)
	}
	restarted := make(chan error, 1)
	go func() { restarted <- environment(t).RestartSlipway(t.Context()) }()
	return restarted
}

// storeRefused waits until the server refuses its store, with all of the texts, and
// returns the arguments of kubectl that accept it, as kubectl tells.
func (u user) storeRefused(texts ...string) (accept []string) {
	u.t.Helper()
	eventually(u.t, long, "kubectl says why the store is not served", func() error {
		out, said, err := u.try("", "kubectl", "get", "vm")
		if err == nil {
			u.t.Fatalf("the store is served:\n%s", out)
		}
		_, command, found := strings.Cut(said, "To serve it all the same: kubectl ")
		if !found || !strings.Contains(said, "the store is not served: ") {
			return errorf("kubectl says %s", said)
		}
		for _, text := range texts {
			if !strings.Contains(said, text) {
				u.t.Fatalf("kubectl says %s, want %q", said, text)
			}
		}
		accept = strings.Fields(command)
		return nil
	})
	return accept
}

// releaseStore lets the controllers act on the store that was accepted.
func releaseStore(t *testing.T) {
	t.Helper()
	release := exec.CommandContext(t.Context(), filepath.Join(binDir, "slipway-apiserver"), "etcd", "release", "--data-dir="+environment(t).SlipwayDataDir())
	if out, err := release.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "released") {
		t.Fatalf("etcd release: %v\n%s", err, out)
	}
}

// wantComeAgain asks the server itself as privileged user.
func wantComeAgain(t *testing.T) {
	t.Helper()
	config, err := environment(t).DirectConfig("slipway-admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	got := answer(t.Context(), client, config.Host+"/apis/vm.slipway.dev/v1alpha1/virtualmachines")
	if got.code != http.StatusServiceUnavailable || !got.again {
		t.Errorf("an administrator was answered %d, Retry-After %t: %s; want 503 and that users may come again", got.code, got.again, got.text)
	}
	got = answer(t.Context(), client, config.Host+"/readyz/store-identity")
	if got.code != http.StatusInternalServerError {
		t.Errorf("readiness: %d %s", got.code, got.text)
	}
	if got = answer(t.Context(), client, config.Host+"/livez"); got.code != http.StatusOK {
		t.Errorf("liveness: %d %s", got.code, got.text)
	}
}

// A copy of the data directory that was put back lacks what was made since.
func TestF3OlderCopyOfTheStoreIsNotServed(t *testing.T) {
	another(t)
	u := admin(t)
	own, older := environment(t).SlipwayDataDir()+".own", environment(t).SlipwayDataDir()+".older"
	id := u.knownStore()
	if err := <-swapStores(t, func(dir string) error {
		const data = "member-data" // beside it are sockets, which cannot be copied
		return os.CopyFS(filepath.Join(older, data), os.DirFS(filepath.Join(dir, data)))
	}); err != nil {
		t.Fatal(err)
	}
	u.apply(vmManifest("since"))
	// A stop, and a start, tell the host cluster how far the store has come.
	if err := environment(t).RestartSlipway(t.Context()); err != nil {
		t.Fatal(err)
	}
	swapStores(t, func(dir string) error {
		if err := os.Rename(dir, own); err != nil {
			return err
		}
		return os.Rename(older, dir)
	})
	u.storeRefused("the store "+id+" is at revision ", "it is an older copy")
	wantComeAgain(t)

	if err := <-swapStores(t, func(dir string) error {
		if err := os.Rename(dir, older); err != nil {
			return err
		}
		return os.Rename(own, dir)
	}); err != nil {
		t.Fatalf("the own store waits for a word: %v", err)
	}
	u.kubectl("get", "vm/since")
}
