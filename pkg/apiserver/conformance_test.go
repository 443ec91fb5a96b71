// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
)

type conformance func(ctx context.Context, t *testing.T, s storage.Interface, w *world)

func plain(f func(context.Context, *testing.T, storage.Interface)) conformance {
	return func(ctx context.Context, t *testing.T, s storage.Interface, _ *world) { f(ctx, t, resuming{s}) }
}

// uncounted wraps tests that can check the number of etcd requests, which is not part of the contract.
func uncounted(f func(context.Context, *testing.T, storage.Interface, storagetesting.CallsValidation)) conformance {
	return func(ctx context.Context, t *testing.T, s storage.Interface, _ *world) {
		f(ctx, t, s, func(*testing.T, uint64, uint64) {})
	}
}

// suite contains the storage tests of k8s.io/apiserver for a store with or without a watch cache. Tests that need
// their own transformer are omitted, because these stores do not support it.
var suite = map[string]conformance{
	"create": func(ctx context.Context, t *testing.T, s storage.Interface, _ *world) {
		storagetesting.RunTestCreate(ctx, t, s, func(context.Context, *testing.T, string) {})
	},
	"create with a time to live":                           plain(storagetesting.RunTestCreateWithTTL),
	"create existing":                                      plain(storagetesting.RunTestCreateWithKeyExist),
	"get":                                                  plain(storagetesting.RunTestGet),
	"delete":                                               plain(storagetesting.RunTestUnconditionalDelete),
	"delete with preconditions":                            plain(storagetesting.RunTestConditionalDelete),
	"delete with suggestion":                               plain(storagetesting.RunTestDeleteWithSuggestion),
	"delete with a conflict":                               plain(storagetesting.RunTestDeleteWithConflict),
	"delete with suggestion and conflict":                  plain(storagetesting.RunTestDeleteWithSuggestionAndConflict),
	"delete deleted object with suggestion":                plain(storagetesting.RunTestDeleteWithSuggestionOfDeletedObject),
	"delete with validation":                               plain(storagetesting.RunTestValidateDeletionWithSuggestion),
	"delete if only the suggestion is valid":               plain(storagetesting.RunTestValidateDeletionWithOnlySuggestionValid),
	"delete with precondition":                             plain(storagetesting.RunTestPreconditionalDeleteWithSuggestion),
	"delete if only the suggestion meets the precondition": plain(storagetesting.RunTestPreconditionalDeleteWithOnlySuggestionPass),
	"pages":                               plain(storagetesting.RunTestListPaging),
	"continued pages":                     uncounted(storagetesting.RunTestListContinuation),
	"pages with a filter":                 uncounted(storagetesting.RunTestListContinuationWithFilter),
	"pages of rare objects":               uncounted(storagetesting.RunTestListPaginationRareObject),
	"list of a namespace":                 plain(storagetesting.RunTestNamespaceScopedList),
	"list below a prefix":                 plain(storagetesting.RunTestGetListRecursivePrefix),
	"update with a time to live":          plain(storagetesting.RunTestGuaranteedUpdateWithTTL),
	"update with a conflict":              plain(storagetesting.RunTestGuaranteedUpdateWithConflict),
	"update with suggestion and conflict": plain(storagetesting.RunTestGuaranteedUpdateWithSuggestionAndConflict),
	"keys":                                plain(storagetesting.RunTestKeySchema),
	"watch":                               plain(storagetesting.RunTestWatch),
	"watch a deletion":                    plain(storagetesting.RunTestDeleteTriggerWatch),
	"watch from a version":                plain(storagetesting.RunTestWatchFromNonZero),
	"watch of a namespace":                plain(storagetesting.RunTestNamespaceScopedWatch),
	"version of a deletion":               plain(storagetesting.RunTestWatchDeleteEventObjectHaveLatestRV),
	// The watched object is created and has no previous value that could be lost.
	"slow watch": func(ctx context.Context, t *testing.T, s storage.Interface, _ *world) {
		storagetesting.RunTestDelayedWatchDelivery(ctx, t, s)
	},
	"list": func(ctx context.Context, t *testing.T, s storage.Interface, w *world) {
		storagetesting.RunTestGetListNonRecursive(ctx, t, w.write, s)
	},
}

// suiteOfRaw contains tests of a store without a watch cache.
var suiteOfRaw = map[string]conformance{
	"canceled watch": plain(storagetesting.RunTestWatchContextCancel),
	"consistent list": func(ctx context.Context, t *testing.T, s storage.Interface, w *world) {
		storagetesting.RunTestConsistentList(ctx, t, s, w.write, false, true, false)
	},
	"pages across a compaction": func(ctx context.Context, t *testing.T, s storage.Interface, w *world) {
		storagetesting.RunTestListInconsistentContinuation(ctx, t, s, w.compact)
	},
	"watch across a compaction": func(ctx context.Context, t *testing.T, s storage.Interface, w *world) {
		storagetesting.RunTestWatchFromZero(ctx, t, s, w.compact)
	},
}

// suiteOfCached contains tests of a store with a watch cache.
var suiteOfCached = map[string]conformance{
	"consistent list": func(ctx context.Context, t *testing.T, s storage.Interface, w *world) {
		storagetesting.RunTestConsistentList(ctx, t, s, w.write, true, true, true)
	},
	"watch initialization signal": plain(storagetesting.RunTestWatchInitializationSignal),
	"watch that is not read":      plain(storagetesting.RunTestWatcherTimeout),
	"bookmarks":                   plain(storagetesting.RunTestOptionalWatchBookmarksWithCorrectResourceVersion),
	"bookmarks of initial events": plain(storagetesting.RunSendInitialEventsBackwardCompatibility),
	"dispatched bookmarks": func(ctx context.Context, t *testing.T, s storage.Interface, _ *world) {
		storagetesting.RunTestWatchDispatchBookmarkEvents(ctx, t, s, true)
	},
}

func newPod() runtime.Object  { return &example.Pod{} }
func newPods() runtime.Object { return &example.PodList{} }

func keyOfPod(obj runtime.Object) (string, error) {
	pod := obj.(*example.Pod)
	return fmt.Sprintf("/pods/%s/%s", pod.Namespace, pod.Name), nil
}

func attributesOfPod(obj runtime.Object) (labels.Set, fields.Set, error) {
	pod := obj.(*example.Pod)
	return pod.Labels, fields.Set{"metadata.name": pod.Name, "metadata.namespace": pod.Namespace, "spec.nodeName": pod.Spec.NodeName}, nil
}

// maker creates a store.
type maker func(*storagebackend.ConfigForResource) (storage.Interface, factory.DestroyFunc, error)

func cached(decorate generic.StorageDecorator) maker {
	return func(c *storagebackend.ConfigForResource) (storage.Interface, factory.DestroyFunc, error) {
		return decorate(c, "/pods/", keyOfPod, newPod, newPods, attributesOfPod, nil, nil)
	}
}

// The variants run at the same time, because the tests of the suite mostly wait. They are not parallel subtests,
// because those would be paused in the middle of a test whose objects expire after a second.
func TestStores_KeepTheStorageContract(t *testing.T) {
	var ways sync.WaitGroup
	defer ways.Wait()
	for way, of := range map[string]struct {
		store func(*Embedded) maker
		own   map[string]conformance
	}{
		"over a socket": {func(*Embedded) maker {
			return func(c *storagebackend.ConfigForResource) (storage.Interface, factory.DestroyFunc, error) {
				return factory.Create(*c, newPod, newPods, "/pods/")
			}
		}, suiteOfRaw},
		"over a function": {func(e *Embedded) maker {
			return func(c *storagebackend.ConfigForResource) (storage.Interface, factory.DestroyFunc, error) {
				return e.raw(c, newPod, newPods, "/pods/")
			}
		}, suiteOfRaw},
		"over a socket, cached":   {func(*Embedded) maker { return cached(genericregistry.StorageWithCacher()) }, suiteOfCached},
		"over a function, cached": {func(e *Embedded) maker { return cached(e.store) }, suiteOfCached},
	} {
		ways.Go(func() { t.Run(way, func(t *testing.T) { wholeSuite(t, of.store, of.own) }) })
	}
}

// wholeSuite runs the suite and the tests in own.
func wholeSuite(t *testing.T, store func(*Embedded) maker, own map[string]conformance) {
	etcd := startEtcd(t) // no other test changes its revisions
	config := storagebackend.NewDefaultConfig("", examples(t))
	config.Transport.ServerList = []string{etcd.Endpoint()}
	embedded := NewEmbedded(nil, etcd.Client, config.CompactionInterval)
	t.Cleanup(embedded.Close)
	client := etcd.Client()
	t.Cleanup(func() { _ = client.Close() })
	tests := maps.Clone(suite)
	maps.Copy(tests, own)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			mine := *config
			mine.Prefix = "/" + t.Name()
			keeps(t, store(embedded), mine.ForResource(schema.GroupResource{Resource: "pods"}), test, &world{client})
		})
	}
}

// keeps runs a test of the suite with its own store.
func keeps(t *testing.T, store maker, config *storagebackend.ConfigForResource, test conformance, w *world) {
	s, destroy, err := store(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(destroy)
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return s.ReadinessCheck() == nil, nil
	}); err != nil {
		t.Fatalf("waiting for the store: %v", err)
	}
	test(t.Context(), t, s, w)
}
