// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// firstRetry and lastRetry are the minimum and maximum backoff between checks whether the kinds are served.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
	// callTimeout is the timeout of one check.
	callTimeout = 10 * time.Second
)

// managementSource reads the Machines and Clusters of the management cluster. It starts when the first object is
// requested.
type managementSource struct {
	client    dynamic.Interface
	discovery discovery.DiscoveryInterface
	reader    *Reader

	once      sync.Once
	requested chan struct{}

	mu sync.Mutex
	// machines and clusters are nil while the objects cannot be read; err is the reason.
	machines, clusters cache.Store
	err                error
}

func newManagementSource(client dynamic.Interface, discovery discovery.DiscoveryInterface, r *Reader) *managementSource {
	return &managementSource{client: client, discovery: discovery, reader: r, requested: make(chan struct{}), err: ErrNotRead}
}

func (h *managementSource) machine(key types.NamespacedName) (*Machine, error) {
	return readStored[Machine](h, "Machine", key, func() cache.Store { return h.machines })
}

func (h *managementSource) cluster(key types.NamespacedName) (*Cluster, error) {
	return readStored[Cluster](h, "Cluster", key, func() cache.Store { return h.clusters })
}

func readStored[T any](h *managementSource, kind string, key types.NamespacedName, of func() cache.Store) (*T, error) {
	h.once.Do(func() { close(h.requested) })
	h.mu.Lock()
	store, err := of(), h.err
	h.mu.Unlock()
	if store == nil {
		return nil, fmt.Errorf("%s %s of %s: %w", kind, key, Group, err)
	}
	obj, ok, err := store.GetByKey(cache.NewObjectName(key.Namespace, key.Name).String())
	if err != nil || !ok {
		return nil, err
	}
	known, ok := obj.(*cachedObject[T])
	if !ok {
		return nil, fmt.Errorf("%s %s of %s: %w", kind, key, Group, ErrNotRead)
	}
	facts := known.value
	return &facts, nil
}

// run waits until an object is requested, and then watches objects until ctx is done. While the kinds are not served,
// it checks for them with backoff.
func (h *managementSource) run(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-h.requested:
	}
	backoff := newBackoff()
	for ctx.Err() == nil {
		err := h.checkServed(ctx)
		if err == nil {
			if h.watch(ctx) {
				backoff = newBackoff()
			}
			err = ErrNotRead
		}
		h.setUnavailable(ctx, err)
		select {
		case <-ctx.Done():
		case <-time.After(backoff.Step()):
		}
	}
}

func newBackoff() wait.Backoff {
	return wait.Backoff{Duration: firstRetry, Factor: 2, Steps: 1 << 30, Cap: lastRetry, Jitter: 0.1}
}

// checkServed returns ErrNotServed if the management cluster does not serve the kinds.
func (h *managementSource) checkServed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var resources metav1.APIResourceList
	err := h.discovery.RESTClient().Get().AbsPath("/apis/" + Group + "/" + version).Do(ctx).Into(&resources)
	switch {
	case apierrors.IsNotFound(err):
		return ErrNotServed
	case err != nil:
		return fmt.Errorf("%w: %w", ErrNotRead, err)
	}
	for _, name := range []string{"machines", "clusters"} {
		if !slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == name }) {
			return ErrNotServed
		}
	}
	return nil
}

// setUnavailable stores why the objects can no longer be read.
func (h *managementSource) setUnavailable(ctx context.Context, err error) {
	h.mu.Lock()
	news := errors.Is(err, ErrNotServed) && !errors.Is(h.err, ErrNotServed)
	h.machines, h.clusters, h.err = nil, nil, err
	h.mu.Unlock()
	klog.FromContext(ctx).V(2).Info("Cannot read Machines and Clusters of Cluster API", "err", err)
	if news {
		h.reader.notifyGroup(Group) // The group is known to have no objects.
	}
}

// setReadError stores why the objects could not be read so far.
func (h *managementSource) setReadError(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.machines == nil {
		h.err = fmt.Errorf("%w: %w", ErrNotRead, err)
	}
}

// watch runs the informers until ctx is done or the kinds are no longer served. It reports whether the informers have
// synced.
func (h *managementSource) watch(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel() // Runs before all.Wait.
	var synced []cache.InformerSynced
	start := func(resource string, transform cache.TransformFunc, handler cache.ResourceEventHandler) cache.Store {
		informer := dynamicinformer.NewFilteredDynamicInformer(h.client, schema.GroupVersionResource{Group: Group, Version: version, Resource: resource},
			metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
		// The setters return an error only if the informer is already running.
		_ = informer.SetTransform(transform)
		_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
			if apierrors.IsNotFound(err) {
				cancel()
				return
			}
			h.setReadError(err)
			cache.DefaultWatchErrorHandler(ctx, r, err)
		})
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			cancel()
			return nil
		}
		synced = append(synced, registration.HasSynced)
		all.Go(func() { informer.RunWithContext(ctx) })
		return informer.GetStore()
	}
	machines := start("machines", cacheTransform(managementMachineOf), changeHandler(
		func(k *cachedObject[Machine]) Machine { return k.value }, func(key types.NamespacedName) { h.reader.notifyMachine(Group, key) }))
	clusters := start("clusters", cacheTransform(managementClusterOf), changeHandler(
		func(k *cachedObject[Cluster]) Cluster { return k.value }, func(key types.NamespacedName) { h.reader.notifyCluster(Group, key) }))
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return false
	}
	h.mu.Lock()
	h.machines, h.clusters, h.err = machines, clusters, nil
	h.mu.Unlock()
	h.reader.notifyGroup(Group)
	<-ctx.Done()
	return true
}
