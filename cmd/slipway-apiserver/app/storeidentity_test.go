// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/pkg/store/identity"
)

// compared starts the store of dir, writes this many times, compares the store with the recorded one, and stops it
// again. waits reports whether the controllers would wait.
func compared(t *testing.T, dir string, host kubernetes.Interface, writes int) (waits bool, err error) {
	t.Helper()
	etcd, err := embedded.Start(t.Context(), embedded.Options{Dir: dir, UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer etcd.Close()
	config := clientv3.Config{Endpoints: []string{etcd.Endpoint()}, Logger: zap.NewNop()}
	client, err := clientv3.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	for range writes {
		if _, err := client.Put(t.Context(), etcdPrefix+"/written", ""); err != nil {
			t.Fatal(err)
		}
	}
	gate, err := identity.NewGate(config, etcdPrefix, host, defaultNamespace)
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	if err := gate.Compare(t.Context()); err != nil {
		return false, err
	}
	held, err := identity.Held(t.Context(), client, etcdPrefix)
	if err != nil {
		t.Fatal(err)
	}
	return held != "", nil
}

func TestStore_IsServedOnlyIfKnownAndHeldIfReplaced(t *testing.T) {
	host := fake.NewClientset()
	expect := func(what, dir string, writes int, waits bool, want string) error {
		t.Helper()
		got, err := compared(t, dir, host, writes)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || got != waits {
			t.Fatalf("%s: error %v, want %q; the controllers wait: %t, want %t", what, err, want, got, waits)
		}
		return err
	}
	release := func(dir string) {
		t.Helper()
		if out, err := runEtcd(t, "", "release", "--data-dir="+dir); err != nil || !strings.HasPrefix(out, "released") {
			t.Fatalf("etcd release: %s, %v", out, err)
		}
	}
	own, older, snapshot := t.TempDir(), filepath.Join(t.TempDir(), "older"), filepath.Join(t.TempDir(), "snapshot")
	expect("the first store", own, 1, false, "")
	if err := os.CopyFS(older, os.DirFS(own)); err != nil {
		t.Fatal(err)
	}
	if _, err := runEtcd(t, "", "snapshot", snapshot, "--data-dir="+own); err != nil {
		t.Fatal(err)
	}
	expect("the same store", own, 0, false, "")
	expect("the same store, further", own, 10, false, "")
	expect("an older copy", older, 0, false, "it is an older copy")

	if _, err := embedded.Restore(older, snapshot, false, nil); err != nil { // without the mark of the command
		t.Fatal(err)
	}
	expect("an older snapshot, restored", older, 0, true, "")
	expect("an older snapshot, before the release", older, 5, true, "")
	release(older)
	expect("an older snapshot, released", older, 0, false, "")
	expect("the store that it has replaced", own, 0, false, "it is an older copy")

	empty := t.TempDir()
	refusal := expect("an empty store", empty, 0, false, "the management cluster expects")
	_, command, _ := strings.Cut(refusal.Error(), identity.AcceptAnnotation+"=")
	patch := `{"metadata":{"annotations":{"` + identity.AcceptAnnotation + `":"` + command + `"}}}`
	if _, err := host.CoreV1().ConfigMaps(defaultNamespace).Patch(t.Context(), identity.ConfigMapName, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("an accepted store", empty, 0, true, "")
	release(empty)
	expect("an accepted store, released", empty, 0, false, "")
	expect("the store before it", older, 0, false, "the management cluster expects")
}

func TestStoreIdentity_IsReadWithTheClientCertificates(t *testing.T) {
	c, err := etcdConfig(storagebackend.TransportConfig{ServerList: []string{"http://127.0.0.1:2379"}})
	if err != nil || c.TLS != nil || len(c.Endpoints) != 1 {
		t.Errorf("without certificates: %+v, %v", c, err)
	}
	missing := filepath.Join(t.TempDir(), "missing.crt")
	if _, err := etcdConfig(storagebackend.TransportConfig{TrustedCAFile: missing}); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("with an authority that cannot be read: %v", err)
	}
}
