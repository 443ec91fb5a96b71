// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/pkg/store/identity"
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
	known := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: identity.ConfigMapName}, Data: map[string]string{"id": "store"}}
	if _, err := r.host.CoreV1().ConfigMaps(namespace).Create(t.Context(), known, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	r.stop(all...)
	if err := r.host.CoreV1().ConfigMaps(namespace).Delete(t.Context(), ConfigMapName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.lose("r-1")
	if _, err := embedded.Restore(filepath.Join(r.dir, "r-0"), file, false); err != nil {
		t.Fatal(err)
	}
	r.start(all...)
	r.members("r-0", all...)
	r.has(map[string]string{"/k": "old"})
	r.isReleasedBy("r-1")
}

// isReleasedBy looks whether all wait for the release, lets one of them release the store, and looks
// whether none waits any more.
func (r *replicas) isReleasedBy(name string) {
	r.Helper()
	waits := func(want bool) {
		r.Helper()
		for name, m := range r.all {
			if got, err := m.Waiting(r.Context()); got != want || err != nil {
				r.Errorf("%s waits for the release: %t, %v, want %t", name, got, err, want)
			}
		}
	}
	waits(true)
	a, err := embedded.Attach(r.Context(), filepath.Join(r.dir, name))
	if err != nil {
		r.Fatal(err)
	}
	defer a.Close()
	if released, err := a.Release(r.Context()); !released || err != nil {
		r.Errorf("released %t, %v", released, err)
	}
	waits(false)
}

// The documentation says to replace a member that is damaged. Who restores a snapshot into it
// instead must not mix two histories.
func TestMemberThatWasRestoredAloneIsRefusedByTheOthersAndReplaced(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 3)
	lone, err := embedded.Start(t.Context(), embedded.Options{Dir: filepath.Join(r.dir, "r-0"), UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "snapshot")
	if _, err := lone.SaveFile(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	lone.Close()
	r.start("r-0") // else another one founds
	r.start("r-1", "r-2")
	r.put("r-1", "/k", "v")
	r.stop("r-0")
	if _, err := embedded.Restore(filepath.Join(r.dir, "r-0"), file, false); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	m, err := Start(ctx, r.options("r-0"))
	if err == nil {
		m.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "its data is of the cluster") {
		t.Fatalf("starting what was restored: %v, want that it is of another cluster", err)
	}
	r.put("r-1", "/k", "v2")
	r.lose("r-0")
	r.start("r-0")
	r.members("r-0", "r-0", "r-1", "r-2")
	r.has(map[string]string{"/k": "v2"})
}
