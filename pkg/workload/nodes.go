// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	// maxNodes bounds the Nodes of one cluster: Kubernetes is made for 5,000.
	maxNodes = 10_000
	// maxNode bounds one of them as it is kept, in bytes. Usual ones have four thousand.
	maxNode = 32 << 10
	// pageSize is that of the first list, and maxPages more than maxNodes need: a server that
	// always has another page is not followed for ever.
	pageSize, maxPages = 500, 2 * maxNodes / pageSize
)

// byProviderID is the index of Nodes.
const byProviderID = "providerID"

// nodeSource lists and watches Nodes, and lets through what is needed of them, within bounds.
type nodeSource struct {
	nodes typedcorev1.NodeInterface
	// broken is told once of what no retry mends.
	broken func(error)
	pages  atomic.Int32
}

// informer keeps the Nodes in memory and finds them by provider ID.
func (s *nodeSource) informer() cache.SharedIndexInformer {
	source := &cache.ListWatch{ListWithContextFunc: s.list, WatchFuncWithContext: s.watch}
	return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(source, s.nodes), &corev1.Node{}, 0, cache.Indexers{
		byProviderID: func(obj any) ([]string, error) {
			if node, ok := obj.(*corev1.Node); ok && node.Spec.ProviderID != "" {
				return []string{node.Spec.ProviderID}, nil
			}
			return nil, nil
		},
	})
}

func (s *nodeSource) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if o.Continue == "" {
		s.pages.Store(0)
	}
	if s.pages.Add(1) > maxPages {
		return nil, s.fail(fmt.Errorf("the list of Nodes has more than %d pages", maxPages))
	}
	if o.Limit == 0 {
		o.Limit = pageSize
	}
	list, err := s.nodes.List(ctx, o)
	if err != nil {
		return nil, err
	}
	if len(list.Items) > maxNodes {
		return nil, s.fail(errNodes)
	}
	for i := range list.Items {
		if err := strip(&list.Items[i]); err != nil {
			return nil, s.fail(err)
		}
	}
	return list, nil
}

// watch counts what comes in one watch beyond what goes: its beginning is the whole list.
func (s *nodeSource) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	w, err := s.nodes.Watch(ctx, o)
	if err != nil {
		return nil, err
	}
	alive := 0
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		node, ok := e.Object.(*corev1.Node)
		if !ok {
			return e, true
		}
		switch e.Type {
		case watch.Added:
			alive++
		case watch.Deleted:
			alive--
		case watch.Modified, watch.Bookmark, watch.Error: // as many as before
		}
		if alive > maxNodes {
			_ = s.fail(errNodes)
			return e, false
		}
		if err := strip(node); err != nil && e.Type != watch.Bookmark {
			_ = s.fail(err)
			return e, false
		}
		return e, true
	}), nil
}

var errNodes = fmt.Errorf("the cluster has more than %d Nodes", maxNodes)

func (s *nodeSource) fail(err error) error {
	s.broken(err)
	return err
}

// strip removes what nothing here reads: half of a Node, and what changes every minute in one
// that is well.
func strip(node *corev1.Node) error {
	node.ManagedFields = nil
	status := &node.Status
	status.Images, status.VolumesInUse, status.Config = nil, nil, nil
	status.Capacity, status.Allocatable = nil, nil
	status.RuntimeHandlers, status.Features, status.DeclaredFeatures = nil, nil, nil
	for i := range status.Conditions {
		status.Conditions[i].LastHeartbeatTime = metav1.Time{}
	}
	if size := node.Size(); size > maxNode {
		return fmt.Errorf("Node %.253q has %d bytes of metadata, spec and conditions, and may have %d", node.Name, size, maxNode)
	}
	return nil
}

// tell calls changed for every Node that comes, goes, or is another than before. Of those
// that are there when the connection is made the connection tells.
func tell(changed func(*corev1.Node)) cache.ResourceEventHandlerDetailedFuncs {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			if node, ok := obj.(*corev1.Node); ok && !isInInitialList {
				changed(node)
			}
		},
		UpdateFunc: func(before, now any) {
			was, ok := before.(*corev1.Node)
			is, isNode := now.(*corev1.Node)
			if ok && isNode && !same(was, is) {
				changed(is)
			}
		},
		DeleteFunc: func(obj any) {
			if missed, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = missed.Obj
			}
			if node, ok := obj.(*corev1.Node); ok {
				changed(node)
			}
		},
	}
}

// same is true when two states of a Node differ in nothing that is kept.
func same(a, b *corev1.Node) bool {
	if a.ResourceVersion == b.ResourceVersion {
		return true
	}
	x, y := *a, *b
	x.ResourceVersion, y.ResourceVersion = "", ""
	return equality.Semantic.DeepEqual(&x, &y)
}
