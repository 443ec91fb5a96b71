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

// byCluster indexes checks and Machines by their Cluster.
const byCluster = Name + "/cluster"

var checkIndexers = cache.Indexers{byCluster: controller.IndexBy(func(c *check) []string { return []string{c.Namespace + "/" + c.Spec.ClusterName} })}

var machineIndexers = cache.Indexers{byCluster: controller.IndexBy(func(m *machine) []string { return []string{m.Namespace + "/" + m.Spec.ClusterName} })}

// indexed queues the checks of a Cluster, if they are wanted.
func (c *Controller) indexed(in string, wanted func(*check) bool) {
	controller.EnqueueIndexed(c.Loop, c.checks, byCluster, in, wanted)
}

// checkChanged queues a check of which more changed than its status, which is written here.
func (c *Controller) checkChanged(was, now *check) {
	if now == nil {
		c.indexed(was.Namespace+"/"+was.Spec.ClusterName, nil) // They no longer repeat what it found.
		return
	}
	if was == nil || was.UID != now.UID || was.Generation != now.Generation ||
		!equality.Semantic.DeepEqual(was.Labels, now.Labels) || !equality.Semantic.DeepEqual(was.Annotations, now.Annotations) {
		c.Look(controller.KeyOf(now), 0)
	}
}

// machineChanged queues the checks that look after a Machine, or did.
func (c *Controller) machineChanged(was, now *machine) {
	for _, m := range []*machine{was, now} {
		if m != nil {
			c.indexed(m.Namespace+"/"+m.Spec.ClusterName, func(h *check) bool {
				return members.Selected(&h.Spec.Selector, h.Spec.ClusterName, m)
			})
		}
	}
}

func (c *Controller) clusterChanged(was, now *cluster) {
	if now == nil || was != nil && was.Generation == now.Generation && equality.Semantic.DeepEqual(was.Status.Conditions, now.Status.Conditions) {
		return
	}
	c.indexed(now.Namespace+"/"+now.Name, nil)
}

// clusterTells queues the checks of a Cluster whose Nodes have changed.
func (c *Controller) clusterTells(in types.NamespacedName) { c.indexed(in.String(), nil) }
