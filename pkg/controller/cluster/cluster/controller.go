// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

// Name of the controller in logs, metrics and its queue.
const Name = "cluster"

// workers is how many Clusters are looked at at the same time.
const workers = 4

// External reads what Clusters refer to.
type External interface {
	// Get reads an object, which must not be changed.
	Get(ctx context.Context, ref contract.Reference, namespace string) (*unstructured.Unstructured, contract.Kind, error)
	// Wait returns when all that was begun has ended.
	Wait()
}

// Connections are those to workload clusters.
type Connections interface {
	// Connected says why there is no connection to a Cluster, and asks for one; nil if there is.
	Connected(cluster types.NamespacedName) error
	// Probe tells when a Cluster has last answered, zero if never, and how often it has not
	// since.
	Probe(cluster types.NamespacedName) (success time.Time, failures int)
	// OnCluster has f called when either changes. f may not block. It is called before Run.
	OnCluster(f func(cluster types.NamespacedName))
}

// Deps is what the controller needs; all but Grace and Now are required.
type Deps struct {
	// Client writes Clusters, and deletes what belongs to them.
	Client versioned.Interface
	// Informers watch our kinds. New registers what it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// External makes what reads external kinds until ctx is done; handler hears of their
	// events.
	External func(ctx context.Context, handler cache.ResourceEventHandler) External
	// Connections are those to workload clusters.
	Connections Connections
	// Recorder writes events.k8s.io events.
	Recorder events.EventRecorder
	// Grace is how long a Cluster may be silent before that is told; five minutes when 0.
	Grace time.Duration
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// defaultGrace is that of Cluster API.
const defaultGrace = 5 * time.Minute

type (
	loop    = controller.Loop[types.NamespacedName]
	cluster = clusterv1alpha1.Cluster
)

// Controller looks after Clusters.
type Controller struct {
	loop
	deps                                  Deps
	reconcile                             *reconciler
	clusters, deployments, sets, machines cache.SharedIndexInformer
}

// New makes a controller that does nothing until Run, and registers the informers and
// indexes that it needs. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if d.Client == nil || d.Informers == nil || d.External == nil || d.Connections == nil || d.Recorder == nil {
		return nil, errors.New("cluster controller: client, informers, external kinds, connections and recorder are required")
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Grace == 0 {
		d.Grace = defaultGrace
	}
	d.Informers.Vm().V1alpha1().SlipwayClusters().Informer() // It is started with the others.
	kinds := d.Informers.Cluster().V1alpha1()
	c := &Controller{
		deps: d, clusters: kinds.Clusters().Informer(), deployments: kinds.MachineDeployments().Informer(),
		sets: kinds.MachineSets().Informer(), machines: kinds.Machines().Informer(),
	}
	for _, informer := range []cache.SharedIndexInformer{c.deployments, c.sets, c.machines} {
		if err := informer.AddIndexers(memberIndexers); err != nil {
			return nil, fmt.Errorf("indexing what belongs to Clusters: %w", err)
		}
	}
	c.reconcile = &reconciler{
		client: d.Client.ClusterV1alpha1(), clusters: controller.NewStore[*cluster](c.clusters, false),
		deployments: c.deployments.GetIndexer(), sets: c.sets.GetIndexer(), machines: c.machines.GetIndexer(),
		writes: controller.NewWriteLimit(), connections: d.Connections, recorder: d.Recorder, grace: d.Grace, now: d.Now,
	}
	c.loop = controller.NewLoop(controller.NewQueue(Name, controller.QueueOptions{Fairness: true}), controller.Options[types.NamespacedName]{
		Name: Name, Workers: workers, Reconciler: c.reconcile,
	})
	d.Connections.OnCluster(c.connectionChanged)
	return c, nil
}

// Run starts the informers and reconciles until ctx is done. It returns when all that it
// started has ended, with an error when the caches could not be filled. It must be called at
// most once.
func (c *Controller) Run(ctx context.Context) error {
	external := c.deps.External(ctx, controller.Changes(false, c.externalChanged))
	defer external.Wait()
	c.reconcile.external = external
	err := controller.Fill(ctx, Name, c.deps.Informers,
		controller.Source{Informer: c.clusters, Handler: c.reconcile.clusters.Handler()},
		controller.Source{Informer: c.clusters, Handler: controller.Changes(true, c.clusterChanged)},
		controller.Source{Informer: c.deployments, Handler: c.memberHandler()},
		controller.Source{Informer: c.sets, Handler: c.memberHandler()},
		controller.Source{Informer: c.machines, Handler: c.memberHandler()},
		controller.Source{Informer: c.deps.Informers.Vm().V1alpha1().SlipwayClusters().Informer(), Handler: c.infrastructureHandler()},
	)
	if err != nil {
		return err
	}
	c.loop.Run(ctx)
	return nil
}
