// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/embeddedetcd"
	"github.com/slipway-dev/slipway/pkg/storeidentity"
)

// As docs/operations.md says: the others begin without data and without a record, and must not
// found a cluster of their own, or act by what was restored because the mark was elsewhere.
func TestSnapshotIsRestoredIntoOneReplicaAndTheOthersJoinAndWaitForTheReleaseToo(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 2)
	all := []string{"r-0", "r-1"}
	r.start(all...)
	r.put("r-0", "/k", "old")
	file := filepath.Join(t.TempDir(), "snapshot")
	if _, err := r.all["r-1"].SaveFile(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	r.put("r-1", "/k", "new")
	known := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: storeidentity.ConfigMapName}, Data: map[string]string{"id": "store"}}
	if _, err := r.host.CoreV1().ConfigMaps(namespace).Create(t.Context(), known, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	r.stop(all...)
	if err := r.host.CoreV1().ConfigMaps(namespace).Delete(t.Context(), ConfigMapName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.lose("r-1")
	if _, err := embeddedetcd.Restore(filepath.Join(r.dir, "r-0"), file, false); err != nil {
		t.Fatal(err)
	}
	r.start(all...)
	r.members("r-0", all...)
	r.has(map[string]string{"/k": "old"})
	waits := func(want bool) {
		t.Helper()
		for _, name := range all {
			if got, err := r.all[name].Waiting(t.Context()); got != want || err != nil {
				t.Errorf("%s waits for the release: %t, %v, want %t", name, got, err, want)
			}
		}
	}
	waits(true)
	a, err := embeddedetcd.Attach(t.Context(), filepath.Join(r.dir, "r-1"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if released, err := a.Release(t.Context()); !released || err != nil {
		t.Errorf("released %t, %v", released, err)
	}
	waits(false)
}
