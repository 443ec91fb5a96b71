// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machinedeployment

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

// Indexes. Those of informers that others index too carry the name of this package.
const (
	// ofSet has the Machines that a set controls, by its UID, ofDeployment the sets of a
	// deployment.
	ofSet        = Name + "/set"
	ofDeployment = Name + "/deployment"
	// orphans has the sets of a namespace that nobody controls.
	orphans = Name + "/orphans"
	// byCluster has the deployments of a Cluster, byNamespace those of a namespace.
	byCluster   = Name + "/cluster"
	byNamespace = Name + "/namespace"
)

var machineIndexers = cache.Indexers{ofSet: controller.IndexBy(func(m *machine) []string { return members.ControllerUID(m) })}

var setIndexers = cache.Indexers{
	ofDeployment: controller.IndexBy(func(s *set) []string { return members.ControllerUID(s) }),
	orphans:      controller.IndexBy(func(s *set) []string { return members.UncontrolledIn(s) }),
}

var deploymentIndexers = cache.Indexers{
	byCluster:   controller.IndexBy(func(d *deployment) []string { return []string{d.Namespace + "/" + d.Spec.ClusterName} }),
	byNamespace: controller.IndexBy(func(d *deployment) []string { return []string{d.Namespace} }),
}

// deploymentChanged queues a deployment of which more changed than its status, which is
// written here.
func (c *Controller) deploymentChanged(was, now *deployment) {
	if now == nil {
		return
	}
	if was == nil || members.Edited(was, now) {
		c.Look(controller.KeyOf(now), 0)
	}
}

// setChanged queues the deployment of a set, and those that would adopt one that nobody
// controls.
func (c *Controller) setChanged(was, now *set) {
	for _, s := range []*set{was, now} {
		if s == nil {
			continue
		}
		if ref := metav1.GetControllerOfNoCopy(s); ref != nil {
			if ref.Kind == deploymentKind {
				c.Look(types.NamespacedName{Namespace: s.Namespace, Name: ref.Name}, controller.Settle)
			}
			continue
		}
		c.indexed(byNamespace, s.Namespace, func(d *deployment) bool { return selects(d, s) })
	}
}

// machineChanged queues the deployment whose set controls a Machine.
func (c *Controller) machineChanged(was, now *machine) {
	m := cmp.Or(now, was)
	ref := metav1.GetControllerOfNoCopy(m)
	if ref == nil {
		return
	}
	obj, ok, err := c.sets.GetIndexer().GetByKey(m.Namespace + "/" + ref.Name)
	if s, isSet := obj.(*set); err == nil && ok && isSet && s.UID == ref.UID {
		c.setChanged(nil, s)
	}
}

func (c *Controller) clusterChanged(was, now *clusterv1alpha1.Cluster) {
	if now == nil || was != nil && was.UID == now.UID && was.Generation == now.Generation {
		return
	}
	c.indexed(byCluster, now.Namespace+"/"+now.Name, nil)
}

// indexed queues the deployments that an index has under value, if they are wanted.
func (c *Controller) indexed(name, value string, wanted func(*deployment) bool) {
	controller.EnqueueIndexed(c.Loop, c.deployments, name, value, wanted)
}

// selects is true for a set that a deployment would adopt.
func selects(d *deployment, s *set) bool {
	selector, err := metav1.LabelSelectorAsSelector(&d.Spec.Selector)
	return err == nil && !selector.Empty() && s.Spec.ClusterName == d.Spec.ClusterName && selector.Matches(labels.Set(s.Labels))
}
