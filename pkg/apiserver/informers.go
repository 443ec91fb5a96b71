// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/vm/references"
)

// storeReadyPoll is the interval at which list checks whether the watch cache of a store has been filled.
const storeReadyPoll = 10 * time.Millisecond

// ShareObjects makes the informers of virtual machines and their instances in f read from the stores. Call it before
// anything else requests these informers from f. The stores may be set later, but before the informers start.
//
// The informers share objects with the watch cache, except for the outermost struct of each object. An informer that
// uses the API would hold copies, which was more than a third of this process's memory per virtual machine. As with
// any informer, the objects must not be modified.
func ShareObjects(f externalversions.SharedInformerFactory, stores *references.Readers) {
	share := func(example runtime.Object, store func() *standard.REST) {
		f.InformerFor(example, func(_ versioned.Interface, resync time.Duration) cache.SharedIndexInformer {
			return cache.NewSharedIndexInformer(storeListWatch(store), example, resync, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		})
	}
	share(&vmv1alpha1.VirtualMachine{}, func() *standard.REST { return stores.Machines })
	share(&vmv1alpha1.VirtualMachineInstance{}, func() *standard.REST { return stores.Instances })
}

// storeListWatch returns a ListerWatcher of the objects in store.
func storeListWatch(store func() *standard.REST) cache.ListerWatcher {
	s := shared{store}
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{ListWithContextFunc: s.list, WatchFuncWithContext: s.watch}, listing{})
}

// shared lists and watches objects of a store that are shared with its watch cache.
type shared struct{ store func() *standard.REST }

// list waits until the watch cache is filled and returns the objects. They share memory with the watch cache.
func (s shared) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	store := s.store()
	// Do not return an error: an informer retries a failed list only after a second.
	if err := wait.PollUntilContextCancel(ctx, storeReadyPoll, true, func(context.Context) (bool, error) {
		return store.ReadinessCheck() == nil, nil
	}); err != nil {
		return nil, fmt.Errorf("waiting for the watch cache of %s: %w", store.DefaultQualifiedResource, err)
	}
	of, err := internalOptions(options)
	if err != nil {
		return nil, err
	}
	return store.List(ctx, of)
}

// watch returns the changes until the store or the caller ends the watch.
func (s shared) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	of, err := internalOptions(options)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	w, err := s.store().Watch(ctx, of)
	if err != nil {
		cancel()
		return nil, err
	}
	out := &watching{Interface: w, result: make(chan watch.Event), cancel: cancel}
	go func() {
		defer close(out.result)
		defer cancel()
		for e := range w.ResultChan() {
			e.Object = s.held(ctx, e)
			select {
			case out.result <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

// watching is a watch that returns its events through another channel.
type watching struct {
	watch.Interface
	result chan watch.Event
	cancel func()
}

// ResultChan implements watch.Interface.
func (w *watching) ResultChan() <-chan watch.Event { return w.result }

// Stop ends the watch. The remaining events need not be read.
func (w *watching) Stop() {
	w.cancel()
	w.Interface.Stop()
}

// held returns the object of e as the watch cache holds it. An event contains a copy, because watchers may modify it.
// If the cache already holds another version, held returns the copy; the next event replaces it.
func (s shared) held(ctx context.Context, e watch.Event) runtime.Object {
	if e.Type == watch.Added || e.Type == watch.Modified {
		if told, err := meta.Accessor(e.Object); err == nil {
			ctx = genericapirequest.WithNamespace(ctx, told.GetNamespace())
			obj, err := s.store().Get(ctx, told.GetName(), &metav1.GetOptions{ResourceVersion: told.GetResourceVersion()})
			if err == nil && isVersion(obj, told.GetResourceVersion()) {
				return obj
			}
		}
	}
	if several, ok := e.Object.(runtime.CacheableObject); ok { // shared by several watchers
		return several.GetObject()
	}
	return e.Object
}

func isVersion(obj runtime.Object, version string) bool {
	accessor, err := meta.Accessor(obj)
	return err == nil && accessor.GetResourceVersion() == version
}

func internalOptions(options metav1.ListOptions) (*metainternalversion.ListOptions, error) {
	internal := &metainternalversion.ListOptions{}
	if err := metainternalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&options, internal, nil); err != nil {
		return nil, fmt.Errorf("reading the options of an informer: %w", err)
	}
	return internal, nil
}
