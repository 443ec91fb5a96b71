// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/test/testenv"
)

const storeConfigMap = "slipway-store"

// knownStore is the store ID that the management cluster records.
func (u user) knownStore() string {
	u.T.Helper()
	return u.Kubectl("get", "configmap", storeConfigMap, "--namespace=slipway-system", "-o", "jsonpath={.data.id}")
}

// swapStores kills the server, lets swap change its directory, and starts it again without waiting until it is ready.
// ready waits for that.
func swapStores(t *testing.T, swap func(dir string) error) (ready <-chan error) {
	t.Helper()
	if err := testenv.Of(t).KillSlipway(); err != nil {
		t.Fatal(err)
	}
	if err := swap(testenv.Of(t).SlipwayDataDir()); err != nil {
		t.Fatal(err)
	}
	restarted := make(chan error, 1)
	go func() { restarted <- testenv.Of(t).RestartSlipway(t.Context()) }()
	return restarted
}

// storeRefused waits until the server refuses its store with all of the texts. It returns the kubectl arguments from
// the message, which accept the store.
func (u user) storeRefused(texts ...string) (accept []string) {
	u.T.Helper()
	testenv.Eventually(u.T, testenv.Long, "kubectl reports why the store is not served", func() error {
		out, said, err := u.Try("", "kubectl", "get", "vm")
		if err == nil {
			u.T.Fatalf("the store is served:\n%s", out)
		}
		_, command, found := strings.Cut(said, "To serve it all the same: kubectl ")
		if !found || !strings.Contains(said, "the store is not served: ") {
			return fmt.Errorf("the output of kubectl is %s", said)
		}
		for _, text := range texts {
			if !strings.Contains(said, text) {
				u.T.Fatalf("the output of kubectl is %s, want %q", said, text)
			}
		}
		accept = strings.Fields(command)
		return nil
	})
	return accept
}

// releaseStore releases the accepted store, so that the controllers act on it.
func releaseStore(t *testing.T) {
	t.Helper()
	release := exec.CommandContext(t.Context(), filepath.Join(testenv.BinDir(), "slipway-apiserver"), "etcd", "release", "--data-dir="+testenv.Of(t).SlipwayDataDir())
	if out, err := release.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "released") {
		t.Fatalf("etcd release: %v\n%s", err, out)
	}
}

// wantComeAgain sends requests to the server as a privileged user and checks that they are answered with Retry-After.
func wantComeAgain(t *testing.T) {
	t.Helper()
	config, err := testenv.Of(t).DirectConfig("slipway-admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	got := answer(t.Context(), client, config.Host+"/apis/vm.slipway.dev/v1alpha1/virtualmachines")
	if got.code != http.StatusServiceUnavailable || !got.again {
		t.Errorf("the response to an administrator is %d, Retry-After %t: %s; want 503 and Retry-After", got.code, got.again, got.text)
	}
	got = answer(t.Context(), client, config.Host+"/readyz/store-identity")
	if got.code != http.StatusInternalServerError {
		t.Errorf("readiness: %d %s", got.code, got.text)
	}
	if got = answer(t.Context(), client, config.Host+"/livez"); got.code != http.StatusOK {
		t.Errorf("liveness: %d %s", got.code, got.text)
	}
}

// Each subtest leaves the environment with a store that is served. The last one uninstalls it.
func TestStore_LosesNothingWhenDeletedRestoredOrReplaced(t *testing.T) {
	testenv.Own(t)
	t.Run("a backup is restored", restoredStore)
	t.Run("it is lost", lostStore)
	t.Run("an older copy", olderStore)
	t.Run("an empty one", emptyStore)
	t.Run("uninstall", uninstalled)
}

// olderStore is a restored copy of the data directory, without the objects that were created since.
func olderStore(t *testing.T) {
	u := admin(t)
	own, older := testenv.Of(t).SlipwayDataDir()+".own", testenv.Of(t).SlipwayDataDir()+".older"
	id := u.knownStore()
	if err := <-swapStores(t, func(dir string) error {
		const data = "member-data" // its directory also has sockets, which cannot be copied
		return os.CopyFS(filepath.Join(older, data), os.DirFS(filepath.Join(dir, data)))
	}); err != nil {
		t.Fatal(err)
	}
	u.Apply(testenv.VM("since"))
	// A stop and a start record the store revision in the management cluster.
	if err := testenv.Of(t).RestartSlipway(t.Context()); err != nil {
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
	u.Kubectl("get", "vm/since")
}
