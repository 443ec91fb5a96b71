// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"os"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
)

// world is the fixture of a storage test in addition to the store.
type world struct{ client *clientv3.Client }

func (w *world) write(ctx context.Context, t *testing.T) int64 {
	answer, err := w.client.Put(ctx, "increaseRV", "ok")
	if err != nil {
		t.Fatal(err)
	}
	return answer.Header.GetRevision()
}

func (w *world) compact(ctx context.Context, t *testing.T, version string) {
	revision, err := storage.APIObjectVersioner{}.ParseResourceVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	// The first call returns the state that the second call needs.
	known, _, done, err := etcd3.Compact(ctx, w.client, 0, int64(revision))
	if err == nil && done != int64(revision) {
		_, _, done, err = etcd3.Compact(ctx, w.client, known, int64(revision))
	}
	if err != nil || done != int64(revision) {
		t.Fatalf("compacted up to %d, want %d (error %v)", done, revision, err)
	}
}

// examples returns the codec of the suite's objects.
func examples(t *testing.T) runtime.Codec {
	t.Helper()
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	for _, add := range []func(*runtime.Scheme) error{example.AddToScheme, examplev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return serializer.NewCodecFactory(scheme).LegacyCodec(examplev1.SchemeGroupVersion)
}

// startEtcd starts an etcd server for the test.
func startEtcd(t *testing.T) *embedded.Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "store") // short, for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	etcd, err := embedded.Start(t.Context(), embedded.Options{Dir: dir, UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	return etcd
}
