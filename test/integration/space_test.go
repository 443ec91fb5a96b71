// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slipway-dev/slipway/cmd/slipway-apiserver/app"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/pkg/store/maintenance"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

func TestStore_FullRejectsCreatesThenUpdatesAndAcceptsDeletes(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		s := framework.StartStandaloneIn(t, t.TempDir(), func(o *app.Options) { o.EtcdQuotaBytes = maintenance.MinQuota })
		fillAndDelete(t, s, func() {})
	})
	t.Run("etcd servers", func(t *testing.T) {
		etcd := startEtcd(t, maintenance.MinQuota)
		s := framework.StartStandaloneIn(t, "", withServers(etcd))
		fillAndDelete(t, s, func() { // its administrator compacts and defragments it
			if _, err := etcd.Store().MakeRoom(t.Context(), false); err != nil {
				t.Error(err)
			}
		})
	})
}

// startEtcd starts an etcd that a server uses by --etcd-servers.
func startEtcd(t *testing.T, quota int64) *embedded.Server {
	t.Helper()
	etcd, err := embedded.Start(t.Context(), embedded.Options{Dir: t.TempDir(), UnsafeNoFsync: true, QuotaBytes: quota})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	return etcd
}

func withServers(etcd *embedded.Server) func(*app.Options) {
	return func(o *app.Options) {
		o.EtcdUnsafeNoFsync, o.Recommended.Etcd.StorageConfig.Transport.ServerList = false, []string{etcd.Endpoint()}
	}
}

// fillAndDelete fills the store, deletes objects from it, and expects room after makeRoom.
func fillAndDelete(t *testing.T, s *framework.Server, makeRoom func()) {
	t.Helper()
	vms := framework.Client(t, s.ConfigFor("alice")).VmV1alpha1().VirtualMachines(namespace)
	large := map[string]string{"large": strings.Repeat("v", 200<<10)}
	var err error
	made := 0
	for ; err == nil && made < 1000; made++ {
		vm := inlineVM(fmt.Sprintf("vm-%d", made))
		vm.Annotations = large
		_, err = vms.Create(t.Context(), vm, metav1.CreateOptions{})
	}
	if status := apierrors.APIStatus(nil); !errors.As(err, &status) || status.Status().Code != 507 ||
		!strings.Contains(err.Error(), "virtualmachines.vm.slipway.dev cannot be created: etcd has space only for updates and deletions") {
		t.Fatalf("the %d. object: error %v, want status 507 with the reason", made, err)
	}
	if err := framework.Client(t, s.Config()).Discovery().RESTClient().Get().AbsPath("/readyz/etcd-space").Do(t.Context()).Error(); err == nil {
		t.Error("/readyz does not report it")
	}
	for i := range 3 {
		patch := fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, i)
		if _, err := vms.Patch(t.Context(), "vm-0", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Errorf("an update: %v", err)
		}
	}
	if err := vms.Delete(t.Context(), "vm-1", metav1.DeleteOptions{}); err != nil {
		t.Errorf("a deletion: %v", err)
	}

	// Updates use the remaining space.
	for i := 0; err == nil || !strings.Contains(err.Error(), "accepts only deletions"); i++ {
		patch := fmt.Sprintf(`{"metadata":{"labels":{"again":"%d"}}}`, i)
		if _, err = vms.Patch(t.Context(), "vm-0", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); i > 1000 {
			t.Fatalf("after %d changes: %v", i, err)
		}
	}
	if status := apierrors.APIStatus(nil); !errors.As(err, &status) || status.Status().Code != 507 || !strings.Contains(err.Error(), "virtualmachines.vm.slipway.dev cannot be changed: etcd is full") {
		t.Errorf("a change of a full store: %v, want status 507 with the reason", err)
	}
	// The deletion of an object with a finalizer consists of two updates.
	privileged := s.Client(t).VmV1alpha1().VirtualMachines(namespace)
	for i := 2; i < 20; i++ {
		name := fmt.Sprintf("vm-%d", i)
		if err := vms.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatalf("deleting %s from a full store: %v", name, err)
		}
		if vm, err := vms.Get(t.Context(), name, metav1.GetOptions{}); err != nil || vm.DeletionTimestamp == nil || len(vm.Finalizers) == 0 {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := privileged.Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
			t.Fatalf("removing the finalizer of %s in a full store: %v", name, err)
		}
		if _, err := vms.Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Fatalf("%s is there still: %v", name, err)
		}
	}
	makeRoom()
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := vms.Create(ctx, inlineVM("room-again"), metav1.CreateOptions{})
		return err == nil, nil
	})
	if err != nil {
		t.Errorf("there is room, and nothing can be created: %v", err)
	}
}
