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

// Indexes. Those of an informer that others index too carry the name of this package.
const (
	// byOwner has the Machines that a set controls, by its UID.
	byOwner = Name + "/owner"
	// orphans has the Machines of a namespace that nobody controls.
	orphans = Name + "/orphans"
	// byCluster has the sets of a Cluster, byDeployment those of a MachineDeployment, by its
	// UID, and byNamespace those of a namespace.
	byCluster    = Name + "/cluster"
	byDeployment = Name + "/deployment"
	byNamespace  = Name + "/namespace"
)

var machineIndexers = cache.Indexers{
	byOwner: controller.IndexBy(func(m *machine) []string { return members.ControllerUID(m) }),
	orphans: controller.IndexBy(func(m *machine) []string { return members.UncontrolledIn(m) }),
}

var setIndexers = cache.Indexers{
	byCluster:    controller.IndexBy(func(s *set) []string { return []string{s.Namespace + "/" + s.Spec.ClusterName} }),
	byDeployment: controller.IndexBy(func(s *set) []string { return members.ControllerUID(s) }),
	byNamespace:  controller.IndexBy(func(s *set) []string { return []string{s.Namespace} }),
}

// indexed queues the sets that an index has under value, if they are wanted.
func (c *Controller) indexed(name, value string, wanted func(*set) bool) {
	controller.EnqueueIndexed(c.Loop, c.reconcile.sets, name, value, wanted)
}

// setChanged queues a set of which more changed than its status, which is written here.
func (c *Controller) setChanged(was, now *set) {
	if now == nil {
		c.reconcile.made.forget(controller.KeyOf(was))
		return
	}
	if was == nil || members.Edited(was, now) {
		c.Look(controller.KeyOf(now), 0)
	}
}

// machineChanged queues the set that controls a Machine, or that did, and those that would
// adopt one that nobody controls.
func (c *Controller) machineChanged(was, now *machine) {
	if now == nil {
		c.reconcile.gone.Add(controller.KeyOf(was), true)
	}
	for _, m := range []*machine{was, now} {
		if m == nil {
			continue
		}
		if ref := metav1.GetControllerOfNoCopy(m); ref != nil {
			if ref.Kind == setKind {
				c.Look(types.NamespacedName{Namespace: m.Namespace, Name: ref.Name}, controller.Settle)
			}
			continue
		}
		c.indexed(byNamespace, m.Namespace, func(s *set) bool { return selects(s, m) })
	}
}

func (c *Controller) deploymentChanged(was, now *clusterv1alpha1.MachineDeployment) {
	if now == nil || was != nil && was.Generation == now.Generation && equality.Semantic.DeepEqual(was.Annotations, now.Annotations) {
		return
	}
	c.indexed(byDeployment, string(now.UID), nil)
}

func (c *Controller) clusterChanged(was, now *clusterv1alpha1.Cluster) {
	if now == nil || was != nil && was.UID == now.UID && was.Generation == now.Generation {
		return
	}
	c.indexed(byCluster, now.Namespace+"/"+now.Name, nil)
}

// selects is true for a Machine that a set counts or would adopt.
func selects(s *set, m *machine) bool {
	return m.Namespace == s.Namespace && members.Selected(&s.Spec.Selector, s.Spec.ClusterName, m)
}
