// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

// byCluster is the index of MachineHealthChecks and Machines by Cluster.
const byCluster = Name + "/cluster"

var checkIndexers = cache.Indexers{byCluster: controller.IndexBy(func(c *check) []string { return []string{c.Namespace + "/" + c.Spec.ClusterName} })}

var machineIndexers = cache.Indexers{byCluster: controller.IndexBy(func(m *machine) []string { return []string{m.Namespace + "/" + m.Spec.ClusterName} })}

// queueIndexed queues the MachineHealthChecks of a Cluster for which wanted is nil or returns true.
func (c *Controller) queueIndexed(in string, wanted func(*check) bool) {
	controller.EnqueueIndexed(c.Loop, c.checks, byCluster, in, wanted)
}

// checkChanged queues a MachineHealthCheck unless only its status has changed.
func (c *Controller) checkChanged(old, now *check) {
	if now == nil {
		c.queueIndexed(old.Namespace+"/"+old.Spec.ClusterName, nil) // The other checks may have combined its result with theirs.
		return
	}
	if old == nil || old.UID != now.UID || old.Generation != now.Generation ||
		!equality.Semantic.DeepEqual(old.Labels, now.Labels) || !equality.Semantic.DeepEqual(old.Annotations, now.Annotations) {
		c.EnqueueAfter(controller.KeyOf(now), 0)
	}
}

// machineChanged queues the MachineHealthChecks that select a Machine or selected it before.
func (c *Controller) machineChanged(old, now *machine) {
	for _, m := range []*machine{old, now} {
		if m != nil {
			c.queueIndexed(m.Namespace+"/"+m.Spec.ClusterName, func(h *check) bool {
				return members.IsSelected(&h.Spec.Selector, h.Spec.ClusterName, m)
			})
		}
	}
}

func (c *Controller) clusterChanged(old, now *cluster) {
	if now == nil || old != nil && old.Generation == now.Generation && equality.Semantic.DeepEqual(old.Status.Conditions, now.Status.Conditions) {
		return
	}
	c.queueIndexed(now.Namespace+"/"+now.Name, nil)
}

// onClusterEvent queues the MachineHealthChecks of a Cluster when its connection or Nodes have changed.
func (c *Controller) onClusterEvent(in types.NamespacedName) { c.queueIndexed(in.String(), nil) }
