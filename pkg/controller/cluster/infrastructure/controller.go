// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

type loop = controller.Loop[types.NamespacedName]

// Controller keeps the status of SlipwayClusters.
type Controller struct {
	loop
	deps            Deps
	store           controller.Store[*vmv1alpha1.SlipwayCluster]
	informer, zones cache.SharedIndexInformer
}

// indexByCluster has those that belong to a Cluster, by that, and all that belong to any of a
// group by the group.
const indexByCluster = "cluster"

// New makes a controller that does nothing until Run, and registers the informers and
// indexes that it needs. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if d.Client == nil || d.Informers == nil || d.Clusters == nil || d.Zones == nil || d.NamespaceLabels == nil {
		return nil, errors.New("SlipwayCluster controller: client, informers, clusters, zones and labels of namespaces are required")
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	vm := d.Informers.Vm().V1alpha1()
	c := &Controller{deps: d, informer: vm.SlipwayClusters().Informer(), zones: vm.Zones().Informer()}
	if err := c.informer.AddIndexers(cache.Indexers{indexByCluster: byCluster}); err != nil {
		return nil, fmt.Errorf("indexing SlipwayClusters: %w", err)
	}
	c.store = controller.NewStore[*vmv1alpha1.SlipwayCluster](c.informer, false)
	c.loop = controller.NewLoop(controller.NewQueue(Name, controller.QueueOptions{}), controller.Options[types.NamespacedName]{
		Name: Name, Workers: workers, Reconciler: &reconciler{deps: d, objects: c.store},
	})
	d.Clusters.Watch(clusterapi.Handlers{
		Machine: func(string, types.NamespacedName) {},
		Cluster: func(group string, key types.NamespacedName) { c.lookAt(indexValue(group, key)) },
		Group:   func(group string) { c.lookAt(group) },
	})
	return c, nil
}

// Run starts the informers and reconciles until ctx is done. It returns when all that it
// started has ended, with an error when the caches could not be filled. It must be
// called at most once.
func (c *Controller) Run(ctx context.Context) error {
	err := controller.Fill(ctx, Name, c.deps.Informers,
		controller.Source{Informer: c.informer, Handler: c.store.Handler()},
		controller.Source{Informer: c.informer, Handler: c.changed()},
		controller.Source{Informer: c.zones, Handler: c.zoneChanged()},
	)
	if err != nil {
		return err
	}
	c.loop.Run(ctx)
	return nil
}

func (c *Controller) look(obj any) {
	c.Look(controller.KeyOf(obj.(*vmv1alpha1.SlipwayCluster)), 0)
}

// lookAt looks at those that the index finds.
func (c *Controller) lookAt(value string) {
	found, err := c.informer.GetIndexer().ByIndex(indexByCluster, value)
	if err != nil {
		return // only for an index that does not exist
	}
	for _, obj := range found {
		c.look(obj)
	}
}

// changed handles the events of the objects. What only status says was written here.
func (c *Controller) changed() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: c.look,
		UpdateFunc: func(oldObj, obj any) {
			old, s := oldObj.(*vmv1alpha1.SlipwayCluster), obj.(*vmv1alpha1.SlipwayCluster)
			if old.UID != s.UID || old.Generation != s.Generation || clusterapi.PausedBy(old, nil) != clusterapi.PausedBy(s, nil) || ownerOf(old) != ownerOf(s) {
				c.look(s)
			}
		},
	}
}

// zoneChanged handles the events of Zones, of which status counts for nothing.
func (c *Controller) zoneChanged() cache.ResourceEventHandler {
	all := func() {
		for _, obj := range c.informer.GetStore().List() {
			c.look(obj)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { all() },
		UpdateFunc: func(oldObj, obj any) {
			old, z := oldObj.(metav1.Object), obj.(metav1.Object)
			if old.GetUID() != z.GetUID() || old.GetGeneration() != z.GetGeneration() || (old.GetDeletionTimestamp() == nil) != (z.GetDeletionTimestamp() == nil) {
				all()
			}
		},
		DeleteFunc: func(any) { all() },
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
