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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"

	"github.com/slipway-dev/slipway/pkg/embeddedetcd"
)

// world is what a test of the suite has besides its store.
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
	// The first call tells at most what the second needs to know.
	known, _, done, err := etcd3.Compact(ctx, w.client, 0, int64(revision))
	if err == nil && done != int64(revision) {
		_, _, done, err = etcd3.Compact(ctx, w.client, known, int64(revision))
	}
	if err != nil || done != int64(revision) {
		t.Fatalf("compacted up to %d, want %d (error %v)", done, revision, err)
	}
}

type conformance func(ctx context.Context, t *testing.T, s storage.Interface, w *world)

// suite is what k8s.io/apiserver asks of a store.
var suite = map[string]conformance{
	"create": func(ctx context.Context, t *testing.T, s storage.Interface, _ *world) {
		storagetesting.RunTestCreate(ctx, t, s, func(context.Context, *testing.T, string) {})
	},
	"create with a time to live":     plain(storagetesting.RunTestCreateWithTTL),
	"create what exists":             plain(storagetesting.RunTestCreateWithKeyExist),
	"get":                            plain(storagetesting.RunTestGet),
	"delete":                         plain(storagetesting.RunTestUnconditionalDelete),
	"delete with preconditions":      plain(storagetesting.RunTestConditionalDelete),
	"delete as suggested":            plain(storagetesting.RunTestDeleteWithSuggestion),
	"delete with a conflict":         plain(storagetesting.RunTestDeleteWithConflict),
	"delete, suggested and conflict": plain(storagetesting.RunTestDeleteWithSuggestionAndConflict),
	"delete what was deleted":        plain(storagetesting.RunTestDeleteWithSuggestionOfDeletedObject),
	"delete what validates":          plain(storagetesting.RunTestValidateDeletionWithSuggestion),
	"delete what validates alone":    plain(storagetesting.RunTestValidateDeletionWithOnlySuggestionValid),
	"delete under a precondition":    plain(storagetesting.RunTestPreconditionalDeleteWithSuggestion),
	"pages":                          plain(storagetesting.RunTestListPaging),
	"list of a namespace":            plain(storagetesting.RunTestNamespaceScopedList),
	"list below a prefix":            plain(storagetesting.RunTestGetListRecursivePrefix),
	"update with a time to live":     plain(storagetesting.RunTestGuaranteedUpdateWithTTL),
	"update with a conflict":         plain(storagetesting.RunTestGuaranteedUpdateWithConflict),
	"update, suggested and conflict": plain(storagetesting.RunTestGuaranteedUpdateWithSuggestionAndConflict),
	"keys":                           plain(storagetesting.RunTestKeySchema),
	"watch":                          plain(storagetesting.RunTestWatch),
	"watch a deletion":               plain(storagetesting.RunTestDeleteTriggerWatch),
	"watch from a version":           plain(storagetesting.RunTestWatchFromNonZero),
	"watch that is slow":             plain(storagetesting.RunTestDelayedWatchDelivery),
	"watch that is ended":            plain(storagetesting.RunTestWatchContextCancel),
	"watch of a namespace":           plain(storagetesting.RunTestNamespaceScopedWatch),
	"version of a deletion":          plain(storagetesting.RunTestWatchDeleteEventObjectHaveLatestRV),
	"consistent list": func(ctx context.Context, t *testing.T, s storage.Interface, w *world) {
		storagetesting.RunTestConsistentList(ctx, t, s, w.write, false, true, false)
	},
	"list of one": func(ctx context.Context, t *testing.T, s storage.Interface, w *world) {
		storagetesting.RunTestGetListNonRecursive(ctx, t, w.write, s)
	},
	"pages across a compaction": func(ctx context.Context, t *testing.T, s storage.Interface, w *world) {
		storagetesting.RunTestListInconsistentContinuation(ctx, t, s, w.compact)
	},
	"watch across a compaction": func(ctx context.Context, t *testing.T, s storage.Interface, w *world) {
		storagetesting.RunTestWatchFromZero(ctx, t, s, w.compact)
	},
}

func plain(f func(context.Context, *testing.T, storage.Interface)) conformance {
	return func(ctx context.Context, t *testing.T, s storage.Interface, _ *world) { f(ctx, t, resuming{s}) }
}

// examples is the codec of the objects of the suite.
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

// startEtcd starts an etcd of the test.
func startEtcd(t *testing.T) *embeddedetcd.Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "store") // short, for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	etcd, err := embeddedetcd.Start(t.Context(), embeddedetcd.Options{Dir: dir, UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	return etcd
}

func TestBothWaysToEtcdKeepTheContractOfAStore(t *testing.T) {
	etcd := startEtcd(t)
	config := storagebackend.NewDefaultConfig("", examples(t))
	config.Transport.ServerList = []string{etcd.Endpoint()}
	embedded := NewEmbedded(nil, etcd.Client, config.CompactionInterval)
	t.Cleanup(embedded.Close)
	client := etcd.Client()
	t.Cleanup(func() { _ = client.Close() })
	w := &world{client}

	type maker func(*storagebackend.ConfigForResource, func() runtime.Object, func() runtime.Object, string) (storage.Interface, factory.DestroyFunc, error)
	overSocket := func(c *storagebackend.ConfigForResource, newFunc, newList func() runtime.Object, prefix string) (storage.Interface, factory.DestroyFunc, error) {
		return factory.Create(*c, newFunc, newList, prefix)
	}
	for way, store := range map[string]maker{"a socket": overSocket, "a function": embedded.raw} {
		for name, test := range suite {
			t.Run(name+" over "+way, func(t *testing.T) {
				mine := *config
				mine.Prefix = "/" + t.Name()
				s, destroy, err := store(mine.ForResource(schema.GroupResource{Resource: "pods"}),
					func() runtime.Object { return &example.Pod{} }, func() runtime.Object { return &example.PodList{} }, "/pods/")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(destroy)
				test(t.Context(), t, s, w)
			})
		}
	}
}
