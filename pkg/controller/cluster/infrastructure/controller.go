// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/clusterapi"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

// Name of the controller in logs, metrics and its queue.
const Name = "slipwaycluster"

// workers is how many objects are looked at at the same time.
const workers = 4

// Clusters reads Clusters; clusterapi.Reader does.
type Clusters interface {
	// Cluster returns what counts of a Cluster, nil for one that does not exist.
	Cluster(group string, key types.NamespacedName) (*clusterapi.Cluster, error)
	// Watch tells of changes from when they are read on.
	Watch(clusterapi.Handlers)
}

// Deps is what the controller needs; all but Now are required.
type Deps struct {
	// Client writes the status.
	Client versioned.Interface
	// Informers watch our kinds. New registers what it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Clusters are those whose infrastructure the objects are.
	Clusters Clusters
	// Zones are all that there are, the default one among them if virtual machines may be made
	// in it; known is false until they are read.
	Zones func() (all []*vmv1alpha1.Zone, known bool)
	// NamespaceLabels are the labels of a namespace, nil if they are not known.
	NamespaceLabels func(namespace string) map[string]string
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Controller keeps the status of SlipwayClusters.
type Controller struct {
	*controller.Loop[types.NamespacedName]
	informer cache.SharedIndexInformer
}

// indexByCluster has those that belong to a Cluster, by that, and all that belong to any of a
// group by the group.
const indexByCluster = "cluster"

// New returns a controller that does nothing until Run. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if err := controller.CheckDeps(Name, d, "Now"); err != nil {
		return nil, err
	}
	d.Now = controller.Clock(d.Now)
	vm := d.Informers.Vm().V1alpha1()
	c := &Controller{informer: vm.SlipwayClusters().Informer()}
	store := controller.NewStore[*vmv1alpha1.SlipwayCluster](c.informer, false)
	var err error
	c.Loop, err = controller.For[types.NamespacedName](Name, d.Informers).Workers(workers).
		Index(c.informer, cache.Indexers{indexByCluster: byCluster}).
		Watches(c.informer, store.Handler(), controller.Changes(true, c.changed)).
		Watches(vm.Zones().Informer(), controller.Changes(true, c.zoneChanged)).
		Reconciler(&reconciler{deps: d, objects: store}).
		Build()
	d.Clusters.Watch(clusterapi.Handlers{
		Machine: func(string, types.NamespacedName) {},
		Cluster: func(group string, key types.NamespacedName) { c.lookAt(indexValue(group, key)) },
		Group:   func(group string) { c.lookAt(group) },
	})
	return c, err
}

func (c *Controller) look(obj any) {
	c.Look(controller.KeyOf(obj.(*vmv1alpha1.SlipwayCluster)), 0)
}

// lookAt looks at those that the index finds.
func (c *Controller) lookAt(value string) {
	for _, s := range controller.Indexed[*vmv1alpha1.SlipwayCluster](c.informer.GetIndexer(), indexByCluster, value) {
		c.look(s)
	}
}

// changed handles the events of the objects. What only status says was written here.
func (c *Controller) changed(was, now *vmv1alpha1.SlipwayCluster) {
	if now == nil {
		return
	}
	if was == nil || was.UID != now.UID || was.Generation != now.Generation || clusterapi.PausedBy(was, nil) != clusterapi.PausedBy(now, nil) || ownerOf(was) != ownerOf(now) {
		c.look(now)
	}
}

// zoneChanged handles the events of Zones, of which status counts for nothing.
func (c *Controller) zoneChanged(was, now *vmv1alpha1.Zone) {
	if was != nil && now != nil && was.UID == now.UID && was.Generation == now.Generation && (was.DeletionTimestamp == nil) == (now.DeletionTimestamp == nil) {
		return
	}
	for _, obj := range c.informer.GetStore().List() {
		c.look(obj)
	}
}

func byCluster(obj any) ([]string, error) {
	s, ok := obj.(*vmv1alpha1.SlipwayCluster)
	if !ok {
		return nil, nil
	}
	o := ownerOf(s)
	if o.name == "" {
		return nil, nil
	}
	return []string{o.group, indexValue(o.group, types.NamespacedName{Namespace: s.Namespace, Name: o.name})}, nil
}

func indexValue(group string, key types.NamespacedName) string { return group + "/" + key.String() }
