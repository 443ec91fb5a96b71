// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	// maxNodes bounds the Nodes of one cluster: Kubernetes is made for 5,000.
	maxNodes = 10_000
	// maxNode bounds one of them as it is kept, in bytes. Usual ones have four thousand.
	maxNode = 32 << 10
)

// byProviderID is the index of Nodes.
const byProviderID = "providerID"

// nodesOf keeps the Nodes in memory and finds them by provider ID. broken is told of what no
// retry mends.
func nodesOf(nodes typedcorev1.NodeInterface, broken func(error)) cache.SharedIndexInformer {
	all := &crowd[*corev1.Node]{
		what: "Nodes", most: maxNodes, strip: strip, broken: broken, watch: nodes.Watch,
		list: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return nodes.List(ctx, o) },
	}
	return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(all.source(), nodes), &corev1.Node{}, 0, cache.Indexers{
		byProviderID: func(obj any) ([]string, error) {
			if node, ok := obj.(*corev1.Node); ok && node.Spec.ProviderID != "" {
				return []string{node.Spec.ProviderID}, nil
			}
			return nil, nil
		},
	})
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
