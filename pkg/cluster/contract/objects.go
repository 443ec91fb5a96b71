// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// Objects reads objects of external kinds from one informer per kind. The informer starts with the first read of the
// kind. It contains the objects that have the label of a cluster.
type Objects struct {
	*Resolver
	handler cache.ResourceEventHandler
	// startInformer runs an informer until stop is called.
	startInformer func(cache.SharedIndexInformer) (stop context.CancelFunc)
	running       sync.WaitGroup

	mu        sync.Mutex
	informers map[schema.GroupKind]*kindInformer
}

// kindInformer is the informer of a kind.
type kindInformer struct {
	resource schema.GroupVersionResource
	informer cache.SharedIndexInformer
	stop     context.CancelFunc
}

// NewObjects returns Objects whose informers run until ctx is done. handler receives every event.
func NewObjects(ctx context.Context, r *Resolver, handler cache.ResourceEventHandler) *Objects {
	o := &Objects{Resolver: r, handler: handler, informers: map[schema.GroupKind]*kindInformer{}}
	o.startInformer = func(informer cache.SharedIndexInformer) context.CancelFunc {
		running, stop := context.WithCancel(ctx)
		o.running.Go(func() { informer.RunWithContext(running) })
		return stop
	}
	return o
}

// Wait returns when all informers have stopped.
func (o *Objects) Wait() { o.running.Wait() }

// Get returns an object from the informer of its kind, or from the server if it is not cached. The object is shared and
// must not be changed.
func (o *Objects) Get(ctx context.Context, ref Reference, namespace string) (*object, Kind, error) {
	k, err := o.namespaced(ctx, ref)
	if err != nil {
		return nil, Kind{}, err
	}
	informer, err := o.watch(k)
	if err != nil {
		return nil, k, err
	}
	if informer.HasSynced() {
		found, ok, err := informer.GetStore().GetByKey(cache.NewObjectName(namespace, ref.Name).String())
		if cached, isObject := found.(*object); err == nil && ok && isObject {
			return cached, k, nil
		}
	}
	found, err := o.read(ctx, k, ref, namespace)
	return found, k, err
}

// watch returns the informer of a kind and starts it if necessary. It stops an informer for another version of the
// kind.
func (o *Objects) watch(k Kind) (cache.SharedIndexInformer, error) {
	gk := k.GVK.GroupKind()
	o.mu.Lock()
	defer o.mu.Unlock()
	w, ok := o.informers[gk]
	if ok && w.resource == k.GVR {
		return w.informer, nil
	}
	if !ok && len(o.informers) >= maxKinds {
		return nil, fmt.Errorf("%w: %s: already watching the maximum of %d other kinds", ErrUnreadable, gk, maxKinds)
	}
	if ok {
		w.stop()
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(k.Client, k.GVR, "", 0, cache.Indexers{}, selectClusterObjects).Informer()
	if err := informer.SetTransform(withoutManagedFields); err != nil {
		return nil, fmt.Errorf("watching %s: %w", gk, err)
	}
	if _, err := informer.AddEventHandler(o.handler); err != nil {
		return nil, fmt.Errorf("watching %s: %w", gk, err)
	}
	o.informers[gk] = &kindInformer{resource: k.GVR, informer: informer, stop: o.startInformer(informer)}
	return informer, nil
}

// selectClusterObjects selects objects of clusters. It excludes, for example, virtual machines that belong to no
// cluster. Every object of a cluster has the label, because it is set when the object is adopted.
func selectClusterObjects(o *metav1.ListOptions) { o.LabelSelector = clusterv1alpha1.ClusterNameLabel }

func withoutManagedFields(obj any) (any, error) {
	if accessor, err := meta.Accessor(obj); err == nil {
		accessor.SetManagedFields(nil)
	}
	return obj, nil
}
