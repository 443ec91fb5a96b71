// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
)

// queueIndexed queues the Machines with an index value.
func (c *Controller) queueIndexed(index, value string) {
	for _, m := range c.indexed(index, value) {
		c.enqueuer.EnqueueGeneric(controller.KeyOf(m))
	}
}

func (c *Controller) indexed(index, value string) []*machine {
	return controller.Indexed[*machine](c.machines.GetIndexer(), index, value)
}

// OnCluster queues all Machines of a Cluster. It must be called when a workload cluster is connected, is disconnected,
// or has not answered for longer than the grace period.
func (c *Controller) OnCluster(key types.NamespacedName) {
	c.queueIndexed(indexByCluster, key.String())
}

// OnNode queues the Machine of a Node that was read, is created, changes or is deleted. It finds the Machine by the
// name of its Node, or else by the provider ID.
func (c *Controller) OnNode(key types.NamespacedName, node *corev1.Node) {
	values := [][2]string{{indexByNode, inCluster(key.String(), node.Name)}, {indexByProvider, inCluster(key.String(), workload.ProviderKey(node.Spec.ProviderID))}}
	for _, v := range values {
		if found := c.indexed(v[0], v[1]); len(found) == 1 {
			c.enqueuer.EnqueueGeneric(controller.KeyOf(found[0]))
			return
		}
	}
}

// HasMachine reports whether a Machine of a Cluster has a provider ID.
func (c *Controller) HasMachine(key types.NamespacedName, providerID string) bool {
	return len(c.indexed(indexByProvider, inCluster(key.String(), workload.ProviderKey(providerID)))) > 0
}

// clusterHandler queues the Machines of a Cluster when a field that they use has changed.
func (c *Controller) clusterHandler() cache.ResourceEventHandler {
	return controller.HandleChanges(false, func(old, now *cluster) {
		if old == nil || now == nil || relevantFields(old) != relevantFields(now) || !equality.Semantic.DeepEqual(old.Labels, now.Labels) {
			c.OnCluster(controller.KeyOf(cmp.Or(old, now)))
		}
	})
}

// relevantFields returns the fields of a Cluster that Machines use.
func relevantFields(c *cluster) [5]any {
	initialized := conditions.IsTrue(c.Status.Conditions, clusterv1alpha1.ClusterControlPlaneInitializedCondition)
	return [5]any{
		c.UID, c.DeletionTimestamp != nil, [2]bool{step.IsTrue(c.Spec.Paused), initialized},
		step.IsTrue(c.Status.Initialization.InfrastructureProvisioned), c.Spec.ControlPlaneRef,
	}
}

// setHandler queues the Machines of a MachineSet when it is created or deleted, or when its spec or revision changes.
func (c *Controller) setHandler() cache.ResourceEventHandler {
	return controller.HandleChanges(false, func(old, now *machineSet) {
		if old != nil && now != nil && old.UID == now.UID && old.Generation == now.Generation && sameRevision(old, now) {
			return
		}
		c.queueIndexed(indexBySet, controller.KeyOf(cmp.Or(old, now)).String())
	})
}

// deploymentHandler queues the Machines of a MachineDeployment when it is created or deleted, or when its spec or
// revision changes.
func (c *Controller) deploymentHandler() cache.ResourceEventHandler {
	return controller.HandleChanges(false, func(old, now *deployment) {
		if old != nil && now != nil && old.UID == now.UID && old.Generation == now.Generation && sameRevision(old, now) {
			return
		}
		c.queueIndexed(indexByDeployment, controller.KeyOf(cmp.Or(old, now)).String())
	})
}

func sameRevision(old, now metav1.Object) bool {
	return old.GetAnnotations()[clusterv1alpha1.RevisionAnnotation] == now.GetAnnotations()[clusterv1alpha1.RevisionAnnotation] &&
		old.GetLabels()[clusterv1alpha1.MachineDeploymentNameLabel] == now.GetLabels()[clusterv1alpha1.MachineDeploymentNameLabel]
}

// externalHandler queues the Machines that own an external object. Changes of a paused object are ignored.
func (c *Controller) externalHandler() cache.ResourceEventHandler {
	return controller.HandleChanges(true, func(old, now *unstructured.Unstructured) {
		o := cmp.Or(now, old)
		if _, paused := o.GetAnnotations()[clusterv1alpha1.PausedAnnotation]; paused && old != nil && now != nil {
			return
		}
		for _, owner := range o.GetOwnerReferences() {
			if step.IsOwnKind(owner, step.MachineKind) {
				c.enqueuer.EnqueueGeneric(types.NamespacedName{Namespace: o.GetNamespace(), Name: owner.Name})
			}
		}
	})
}
