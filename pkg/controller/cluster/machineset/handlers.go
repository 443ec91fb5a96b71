// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machineset

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

// Names of indexes. Those of shared informers start with the controller's name.
const (
	// byOwner is the index of Machines by the UID of the MachineSet that controls them.
	byOwner = Name + "/owner"
	// orphans is the index of Machines without a controller by namespace.
	orphans = Name + "/orphans"
	// byCluster, byDeployment and byNamespace are indexes of MachineSets by Cluster, by the UID of the
	// MachineDeployment, and by namespace.
	byCluster    = Name + "/cluster"
	byDeployment = Name + "/deployment"
	byNamespace  = Name + "/namespace"
)

var machineIndexers = cache.Indexers{
	byOwner: controller.IndexBy(func(m *machine) []string { return members.ControllerUID(m) }),
	orphans: controller.IndexBy(func(m *machine) []string { return members.UncontrolledNamespace(m) }),
}

var setIndexers = cache.Indexers{
	byCluster:    controller.IndexBy(func(s *set) []string { return []string{s.Namespace + "/" + s.Spec.ClusterName} }),
	byDeployment: controller.IndexBy(func(s *set) []string { return members.ControllerUID(s) }),
	byNamespace:  controller.IndexBy(func(s *set) []string { return []string{s.Namespace} }),
}

// queueIndexed queues the MachineSets with an index value for which wanted is nil or returns true.
func (c *Controller) queueIndexed(name, value string, wanted func(*set) bool) {
	controller.EnqueueIndexed(c.Loop, c.reconcile.sets, name, value, wanted)
}

// setChanged queues a MachineSet unless only its status has changed.
func (c *Controller) setChanged(old, now *set) {
	if now == nil {
		c.reconcile.createdObjects.remove(controller.KeyOf(old))
		return
	}
	if old == nil || members.IsEdited(old, now) {
		c.EnqueueAfter(controller.KeyOf(now), 0)
	}
}

// machineChanged queues the current and the previous controller of a Machine. If it has no controller, it queues the
// MachineSets that would adopt it.
func (c *Controller) machineChanged(old, now *machine) {
	if now == nil {
		c.reconcile.deletedNames.Add(controller.KeyOf(old), true)
	}
	for _, m := range []*machine{old, now} {
		if m == nil {
			continue
		}
		if ref := metav1.GetControllerOfNoCopy(m); ref != nil {
			if ref.Kind == setKind {
				c.EnqueueAfter(types.NamespacedName{Namespace: m.Namespace, Name: ref.Name}, controller.Settle)
			}
			continue
		}
		c.queueIndexed(byNamespace, m.Namespace, func(s *set) bool { return selects(s, m) })
	}
}

func (c *Controller) deploymentChanged(was, now *clusterv1alpha1.MachineDeployment) {
	if now == nil || was != nil && was.Generation == now.Generation && equality.Semantic.DeepEqual(was.Annotations, now.Annotations) {
		return
	}
	c.queueIndexed(byDeployment, string(now.UID), nil)
}

func (c *Controller) clusterChanged(was, now *clusterv1alpha1.Cluster) {
	if now == nil || was != nil && was.UID == now.UID && was.Generation == now.Generation {
		return
	}
	c.queueIndexed(byCluster, now.Namespace+"/"+now.Name, nil)
}

// selects reports whether a MachineSet counts or would adopt a Machine.
func selects(s *set, m *machine) bool {
	return m.Namespace == s.Namespace && members.IsSelected(&s.Spec.Selector, s.Spec.ClusterName, m)
}
