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

// Name is the name of the controller in logs, metrics and its queue.
const Name = "slipwaycluster"

// workers is the number of objects that are reconciled concurrently.
const workers = 4

// Clusters reads Clusters. It is implemented by clusterapi.Reader.
type Clusters interface {
	// Cluster returns a Cluster, or nil if it does not exist.
	Cluster(group string, key types.NamespacedName) (*clusterapi.Cluster, error)
	// Watch adds handlers for changes.
	Watch(clusterapi.Handlers)
}

// Deps are the dependencies of the controller. All except Now are required.
type Deps struct {
	// Client writes the status.
	Client versioned.Interface
	// Informers watch Slipway's kinds. New registers the informers it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Clusters reads the owners of SlipwayClusters.
	Clusters Clusters
	// Zones returns all zones, including the default zone if virtual machines may be created in it. known is false
	// until they have been read.
	Zones func() (all []*vmv1alpha1.Zone, known bool)
	// NamespaceLabels returns the labels of a namespace, or nil if they are not known.
	NamespaceLabels func(namespace string) map[string]string
	// Now returns the current time. The default is time.Now.
	Now func() time.Time
}

// Controller reconciles SlipwayClusters.
type Controller struct {
	*controller.Loop[types.NamespacedName]
	informer cache.SharedIndexInformer
}

// indexByCluster is the index of SlipwayClusters by owning Cluster, and by the group of that Cluster.
const indexByCluster = "cluster"

// New returns a controller. Run starts it. New must be called before the informers are started.
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
		Watches(c.informer, store.Handler(), controller.HandleChanges(true, c.changed)).
		Watches(vm.Zones().Informer(), controller.HandleChanges(true, c.zoneChanged)).
		Reconciler(&reconciler{deps: d, objects: store}).
		Build()
	d.Clusters.Watch(clusterapi.Handlers{
		Machine: func(string, types.NamespacedName) {},
		Cluster: func(group string, key types.NamespacedName) { c.queueIndexed(indexValue(group, key)) },
		Group:   func(group string) { c.queueIndexed(group) },
	})
	return c, err
}

func (c *Controller) queue(obj any) {
	c.EnqueueAfter(controller.KeyOf(obj.(*vmv1alpha1.SlipwayCluster)), 0)
}

// queueIndexed queues the objects with an index value.
func (c *Controller) queueIndexed(value string) {
	for _, s := range controller.Indexed[*vmv1alpha1.SlipwayCluster](c.informer.GetIndexer(), indexByCluster, value) {
		c.queue(s)
	}
}

// changed queues an object unless only its status has changed.
func (c *Controller) changed(was, now *vmv1alpha1.SlipwayCluster) {
	if now == nil {
		return
	}
	if was == nil || was.UID != now.UID || was.Generation != now.Generation || clusterapi.PausedBy(was, nil) != clusterapi.PausedBy(now, nil) || ownerOf(was) != ownerOf(now) {
		c.queue(now)
	}
}

// zoneChanged queues all objects unless only the status of the Zone has changed.
func (c *Controller) zoneChanged(was, now *vmv1alpha1.Zone) {
	if was != nil && now != nil && was.UID == now.UID && was.Generation == now.Generation && (was.DeletionTimestamp == nil) == (now.DeletionTimestamp == nil) {
		return
	}
	for _, obj := range c.informer.GetStore().List() {
		c.queue(obj)
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
