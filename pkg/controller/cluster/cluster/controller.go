// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
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

type cluster = clusterv1alpha1.Cluster

// Controller looks after Clusters.
type Controller struct {
	*controller.Loop[types.NamespacedName]
	reconcile *reconciler
	clusters  cache.SharedIndexInformer
}

// New returns a controller that does nothing until Run. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if err := controller.CheckDeps(Name, d, "Now"); err != nil {
		return nil, err
	}
	kinds := d.Informers.Cluster().V1alpha1()
	deployments, sets, machines := kinds.MachineDeployments().Informer(), kinds.MachineSets().Informer(), kinds.Machines().Informer()
	c := &Controller{clusters: kinds.Clusters().Informer()}
	c.reconcile = &reconciler{
		client: d.Client.ClusterV1alpha1(), clusters: controller.NewStore[*cluster](c.clusters, false),
		deployments: deployments.GetIndexer(), sets: sets.GetIndexer(), machines: machines.GetIndexer(),
		writes: controller.NewWriteLimit(), connections: d.Connections, recorder: d.Recorder, grace: cmp.Or(d.Grace, defaultGrace), now: controller.Clock(d.Now),
	}
	b := controller.For[types.NamespacedName](Name, d.Informers).Workers(workers).
		Queue(controller.NewQueue(Name, controller.QueueOptions{Fairness: true})).
		Before(func(ctx context.Context) (func(), error) {
			c.reconcile.external = d.External(ctx, controller.Changes(false, c.externalChanged))
			return c.reconcile.external.Wait, nil
		}).
		Watches(c.clusters, c.reconcile.clusters.Handler(), controller.Changes(true, c.clusterChanged)).
		Watches(d.Informers.Vm().V1alpha1().SlipwayClusters().Informer(), c.infrastructureHandler()).
		Reconciler(c.reconcile)
	for _, members := range []cache.SharedIndexInformer{deployments, sets, machines} {
		b.Index(members, memberIndexers).Watches(members, c.memberHandler())
	}
	var err error
	c.Loop, err = b.Build()
	d.Connections.OnCluster(c.connectionChanged)
	return c, err
}
