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

// compared starts the store of dir, writes that many times, lets host know it, and stops
// it again.
func compared(t *testing.T, dir string, host kubernetes.Interface, writes int) error {
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
	return identity.NewGate(config, etcdPrefix, host, defaultNamespace).Compare(t.Context())
}

func TestF3OnlyTheStoreThatTheHostClusterKnowsIsServed(t *testing.T) {
	host := fake.NewClientset()
	expect := func(what string, err error, want string) {
		t.Helper()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Fatalf("%s: error %v, want %q", what, err, want)
		}
	}
	own, older, snapshot := t.TempDir(), filepath.Join(t.TempDir(), "older"), filepath.Join(t.TempDir(), "snapshot")
	expect("the first store", compared(t, own, host, 1), "")
	if err := os.CopyFS(older, os.DirFS(own)); err != nil {
		t.Fatal(err)
	}
	if _, err := runEtcd(t, "", "snapshot", snapshot, "--data-dir="+own); err != nil {
		t.Fatal(err)
	}
	expect("the same store", compared(t, own, host, 0), "")
	expect("the same store, further", compared(t, own, host, 10), "")
	expect("a copy of before", compared(t, older, host, 0), "it is an older copy")

	if _, err := embedded.Restore(older, snapshot, false); err != nil {
		t.Fatal(err)
	}
	expect("a restored snapshot of before", compared(t, older, host, 0), "")
	expect("what it was restored instead of", compared(t, own, host, 0), "it is an older copy")

	empty := t.TempDir()
	refusal := compared(t, empty, host, 0)
	expect("an empty store", refusal, "the host cluster expects")
	_, command, _ := strings.Cut(refusal.Error(), identity.AcceptAnnotation+"=")
	patch := `{"metadata":{"annotations":{"` + identity.AcceptAnnotation + `":"` + command + `"}}}`
	if _, err := host.CoreV1().ConfigMaps(defaultNamespace).Patch(t.Context(), identity.ConfigMapName, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("an accepted store", compared(t, empty, host, 0), "")
	expect("the same store again", compared(t, empty, host, 0), "")
	expect("the store of before", compared(t, older, host, 0), "the host cluster expects")
}

func TestIdentityIsReadWithTheCertificatesOfTheObjects(t *testing.T) {
	c, err := etcdConfig(storagebackend.TransportConfig{ServerList: []string{"http://127.0.0.1:2379"}})
	if err != nil || c.TLS != nil || len(c.Endpoints) != 1 {
		t.Errorf("without certificates: %+v, %v", c, err)
	}
	missing := filepath.Join(t.TempDir(), "missing.crt")
	if _, err := etcdConfig(storagebackend.TransportConfig{TrustedCAFile: missing}); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("with an authority that cannot be read: %v", err)
	}
}
