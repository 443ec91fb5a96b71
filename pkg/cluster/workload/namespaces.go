// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// namespaces watches the Namespaces of a cluster from when they are asked for on.
type namespaces struct {
	ctx     context.Context //nolint:containedctx // of the connection, which outlives the call that asks first
	running *sync.WaitGroup
	client  typedcorev1.NamespaceInterface
	// known is called when all are known, and broken of what no retry mends.
	known  func()
	broken func(error)

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

const (
	// maxNamespaces bounds those of one cluster: Kubernetes is made for 10,000.
	maxNamespaces = 20_000
	// maxNamespace bounds one of them as it is kept, in bytes. Usual ones have some hundred.
	maxNamespace = 16 << 10
)

// start runs the informer. The caller holds the lock.
func (n *namespaces) start() cache.SharedIndexInformer {
	all := &crowd[*corev1.Namespace]{
		what: "Namespaces", most: maxNamespaces, strip: onlyLabels, broken: n.broken, watch: n.client.Watch,
		list: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return n.client.List(ctx, o) },
	}
	informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(all.source(), n.client), &corev1.Namespace{}, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
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
func onlyLabels(namespace *corev1.Namespace) error {
	*namespace = corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace.Name, UID: namespace.UID, ResourceVersion: namespace.ResourceVersion, Labels: namespace.Labels,
		DeletionTimestamp: namespace.DeletionTimestamp,
	}}
	if size := namespace.Size(); size > maxNamespace {
		return fmt.Errorf("the Namespace %.253q has %d bytes of labels, and may have %d", namespace.Name, size, maxNamespace)
	}
	return nil
}
