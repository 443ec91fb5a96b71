// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
)

const (
	clusterKind = "Cluster"
	// byCluster is the index of members by Cluster. Its name contains the controller's name, because other controllers
	// add indexes to the same informers.
	byCluster = Name + "/cluster"
)

var memberIndexers = cache.Indexers{byCluster: func(obj any) ([]string, error) {
	if in, ok := clusterOf(obj); ok {
		return []string{in.String()}, nil
	}
	return nil, nil
}}

// clusterOf returns the Cluster that a member belongs to.
func clusterOf(obj any) (types.NamespacedName, bool) {
	switch o := obj.(type) {
	case *clusterv1alpha1.MachineDeployment:
		return types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.ClusterName}, true
	case *clusterv1alpha1.MachineSet:
		return types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.ClusterName}, true
	case *clusterv1alpha1.Machine:
		return types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.ClusterName}, true
	}
	return types.NamespacedName{}, false
}

// clusterChanged queues a Cluster unless only its status has changed.
func (c *Controller) clusterChanged(old, now *cluster) {
	if now == nil {
		return
	}
	if old == nil || old.UID != now.UID || old.Generation != now.Generation || old.DeletionTimestamp == nil && now.DeletionTimestamp != nil ||
		!equality.Semantic.DeepEqual(old.Annotations, now.Annotations) || !equality.Semantic.DeepEqual(old.Finalizers, now.Finalizers) {
		c.EnqueueAfter(controller.KeyOf(now), 0)
	}
}

// memberHandler queues a Cluster that is being deleted when a member is created or deleted.
func (c *Controller) memberHandler() cache.ResourceEventHandler {
	wake := func(obj any) {
		if deleted, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = deleted.Obj
		}
		in, ok := clusterOf(obj)
		if !ok {
			return
		}
		found, err := c.reconcile.clusters.Get(in)
		if err == nil && found != nil && found.DeletionTimestamp != nil {
			c.EnqueueAfter(in, controller.Settle)
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: wake, DeleteFunc: wake}
}

// externalChanged queues the Clusters that own an object. If the object was created or deleted, it also queues those
// that refer to it.
func (c *Controller) externalChanged(old, now *unstructured.Unstructured) {
	for _, o := range []*unstructured.Unstructured{old, now} {
		if o == nil {
			continue
		}
		for _, ref := range o.GetOwnerReferences() {
			if ref.Kind == clusterKind && strings.HasPrefix(ref.APIVersion, clusterv1alpha1.GroupName+"/") {
				c.EnqueueAfter(types.NamespacedName{Namespace: o.GetNamespace(), Name: ref.Name}, 0)
			}
		}
		if now == nil || old == nil {
			c.queueReferring(o)
		}
	}
}

// infrastructureHandler queues the Clusters that refer to a new infrastructure object of Slipway's own kind. The watch
// of external kinds does not see it, because it has no cluster label yet.
func (c *Controller) infrastructureHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{AddFunc: func(obj any, isInInitialList bool) {
		if o, ok := obj.(metav1.Object); ok && !isInInitialList {
			c.queueReferring(o)
		}
	}}
}

// queueReferring queues the Clusters of the namespace that refer to an object of this name.
func (c *Controller) queueReferring(o metav1.Object) {
	for _, obj := range c.clusters.GetIndexer().List() {
		in, ok := obj.(*cluster)
		if ok && in.Namespace == o.GetNamespace() && (in.Spec.InfrastructureRef.Name == o.GetName() || in.Spec.ControlPlaneRef.Name == o.GetName()) {
			c.EnqueueAfter(controller.KeyOf(in), 0)
		}
	}
}

func (c *Controller) connectionChanged(in types.NamespacedName) {
	if found, err := c.reconcile.clusters.Get(in); err == nil && found != nil {
		c.EnqueueAfter(in, 0)
	}
}
