// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/cmd/slipway-apiserver/app"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

// As docs/how-to/operate/repair-a-damaged-store.md describes: no database check detects a corrupt object. It breaks lists of its kind until it
// is deleted by name.
func TestCorruptObject_IsReportedByNameAndCanBeDeleted(t *testing.T) {
	etcd, err := embedded.Start(t.Context(), embedded.Options{Dir: t.TempDir(), UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	store, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	dir := t.TempDir()
	onEtcd := func(o *app.Options) {
		o.DataDir, o.EtcdUnsafeNoFsync, o.Recommended.Etcd.StorageConfig.Transport.ServerList = "", false, []string{etcd.Endpoint()}
	}
	s := framework.StartStandaloneIn(t, dir, onEtcd)
	vms := s.Client(t).VmV1alpha1().VirtualMachines(namespace)
	for _, name := range []string{"good", "spoilt"} {
		if _, err := vms.Create(t.Context(), inlineVM(name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := store.Get(t.Context(), "/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	spoilt := 0
	for _, kv := range keys.Kvs {
		if strings.HasSuffix(string(kv.Key), "/"+namespace+"/spoilt") {
			spoilt++
			if _, err := store.Put(t.Context(), string(kv.Key), "k8s\x00\xff\xff"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if spoilt != 1 {
		t.Fatalf("%d keys were spoilt, want one of %d", spoilt, len(keys.Kvs))
	}

	_, err = vms.List(t.Context(), metav1.ListOptions{})
	if err == nil || !strings.Contains(err.Error(), "corrupt object") || !strings.Contains(err.Error(), "spoilt") {
		t.Errorf("a list: %v, want an error that names the object", err)
	}
	if _, err := vms.Get(t.Context(), "good", metav1.GetOptions{}); err != nil {
		t.Errorf("another object: %v", err)
	}
	if err := vms.Delete(t.Context(), "spoilt", metav1.DeleteOptions{}); err == nil {
		t.Error("a corrupt object was deleted without the confirming option")
	}
	if err := vms.Delete(t.Context(), "spoilt", metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: ptr.To(true)}); err != nil {
		t.Fatalf("deleting the corrupt object: %v", err)
	}
	if _, err := vms.Get(t.Context(), "spoilt", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the corrupt object: %v, want NotFound", err)
	}
	all, err := vms.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(all.Items) != 1 {
		t.Errorf("a list afterwards has %d objects, %v; want the good one", len(all.Items), err)
	}
}
