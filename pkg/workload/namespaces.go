// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// namespaces watches the Namespaces of a cluster from when they are asked for on.
type namespaces struct {
	ctx     context.Context //nolint:containedctx // of the connection, which outlives the call that asks first
	running *sync.WaitGroup
	client  typedcorev1.NamespaceInterface
	// known is called when all are known.
	known func()

	mu       sync.Mutex
	informer cache.SharedIndexInformer
	closed   bool
}

var errNamespaces = errors.New("its Namespaces are not known yet")

// lister starts the informer if there is none.
func (n *namespaces) lister(cluster types.NamespacedName) (corelisters.NamespaceLister, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.informer == nil && !n.closed {
		n.informer = n.start()
	}
	if n.informer == nil || !n.informer.HasSynced() {
		return nil, &NotConnectedError{Cluster: cluster, Reason: errNamespaces}
	}
	return corelisters.NewNamespaceLister(n.informer.GetIndexer()), nil
}

// start runs the informer. The caller holds the lock.
func (n *namespaces) start() cache.SharedIndexInformer {
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := n.client.List(ctx, o)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return n.client.Watch(ctx, o)
		},
	}
	informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(source, n.client), &corev1.Namespace{}, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	_ = informer.SetTransform(onlyLabels) // it fails only after the start
	n.running.Go(func() { informer.RunWithContext(n.ctx) })
	n.running.Go(func() {
		select {
		case <-informer.HasSyncedChecker().Done():
			n.known()
		case <-n.ctx.Done():
		}
	})
	return informer
}

// close lets nothing start any more.
func (n *namespaces) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
}

// onlyLabels leaves of a Namespace what selectors look at.
func onlyLabels(obj any) (any, error) {
	if namespace, ok := obj.(*corev1.Namespace); ok {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: namespace.Name, UID: namespace.UID, ResourceVersion: namespace.ResourceVersion, Labels: namespace.Labels,
			DeletionTimestamp: namespace.DeletionTimestamp,
		}}, nil
	}
	return obj, nil
}
