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

// Names of indexes. Those of shared informers start with the controller's name.
const (
	// ofSet is the index of Machines by the UID of their MachineSet. ofDeployment is the index of MachineSets by the
	// UID of their MachineDeployment.
	ofSet        = Name + "/set"
	ofDeployment = Name + "/deployment"
	// orphans is the index of MachineSets without a controller by namespace.
	orphans = Name + "/orphans"
	// byCluster and byNamespace are indexes of MachineDeployments by Cluster and by namespace.
	byCluster   = Name + "/cluster"
	byNamespace = Name + "/namespace"
)

var machineIndexers = cache.Indexers{ofSet: controller.IndexBy(func(m *machine) []string { return members.ControllerUID(m) })}

var setIndexers = cache.Indexers{
	ofDeployment: controller.IndexBy(func(s *set) []string { return members.ControllerUID(s) }),
	orphans:      controller.IndexBy(func(s *set) []string { return members.UncontrolledNamespace(s) }),
}

var deploymentIndexers = cache.Indexers{
	byCluster:   controller.IndexBy(func(d *deployment) []string { return []string{d.Namespace + "/" + d.Spec.ClusterName} }),
	byNamespace: controller.IndexBy(func(d *deployment) []string { return []string{d.Namespace} }),
}

// deploymentChanged queues a MachineDeployment unless only its status has changed.
func (c *Controller) deploymentChanged(old, now *deployment) {
	if now == nil {
		return
	}
	if old == nil || members.IsEdited(old, now) {
		c.EnqueueAfter(controller.KeyOf(now), 0)
	}
}

// setChanged queues the MachineDeployment of a MachineSet. If it has no controller, it queues the MachineDeployments
// that would adopt it.
func (c *Controller) setChanged(old, now *set) {
	for _, s := range []*set{old, now} {
		if s == nil {
			continue
		}
		if ref := metav1.GetControllerOfNoCopy(s); ref != nil {
			if ref.Kind == deploymentKind {
				c.EnqueueAfter(types.NamespacedName{Namespace: s.Namespace, Name: ref.Name}, controller.Settle)
			}
			continue
		}
		c.queueIndexed(byNamespace, s.Namespace, func(d *deployment) bool { return selects(d, s) })
	}
}

// machineChanged queues the MachineDeployment of the MachineSet that controls a Machine.
func (c *Controller) machineChanged(old, now *machine) {
	m := cmp.Or(now, old)
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
	c.queueIndexed(byCluster, now.Namespace+"/"+now.Name, nil)
}

// queueIndexed queues the MachineDeployments with an index value for which wanted is nil or returns true.
func (c *Controller) queueIndexed(name, value string, wanted func(*deployment) bool) {
	controller.EnqueueIndexed(c.Loop, c.deployments, name, value, wanted)
}

// selects reports whether a MachineDeployment would adopt a MachineSet.
func selects(d *deployment, s *set) bool {
	selector, err := metav1.LabelSelectorAsSelector(&d.Spec.Selector)
	return err == nil && !selector.Empty() && s.Spec.ClusterName == d.Spec.ClusterName && selector.Matches(labels.Set(s.Labels))
}
