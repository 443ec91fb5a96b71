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

// Name is the name of the controller in logs, metrics and its queue.
const Name = "cluster"

// workers is the number of Clusters that are reconciled concurrently.
const workers = 4

// External reads the objects that Clusters refer to.
type External interface {
	// Get returns an object, which must not be changed.
	Get(ctx context.Context, ref contract.Reference, namespace string) (*unstructured.Unstructured, contract.Kind, error)
	// Wait waits until all watches have stopped.
	Wait()
}

// Connections manages the connections to workload clusters.
type Connections interface {
	// ConnectionError returns nil if a Cluster is connected. Otherwise it requests a connection and returns the reason.
	ConnectionError(cluster types.NamespacedName) error
	// Probe returns the time of the last successful probe and the number of failures since then. The time is zero if
	// the Cluster has never answered.
	Probe(cluster types.NamespacedName) (success time.Time, failures int)
	// OnCluster adds a callback for changes of the connection or of the probe state. f must not block. It must be
	// called before Run.
	OnCluster(f func(cluster types.NamespacedName))
}

// Deps are the dependencies of the controller. All except Grace and Now are required.
type Deps struct {
	// Client writes Clusters and deletes their members.
	Client versioned.Interface
	// Informers watch Slipway's kinds. New registers the informers it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// External returns a reader of external kinds that runs until ctx is done. handler receives its events.
	External func(ctx context.Context, handler cache.ResourceEventHandler) External
	// Connections manages the connections to workload clusters.
	Connections Connections
	// Recorder writes events.k8s.io events.
	Recorder events.EventRecorder
	// Grace is how long a Cluster may not answer before the probe condition becomes False. The default is 5 minutes.
	Grace time.Duration
	// Now returns the current time. The default is time.Now.
	Now func() time.Time
}

// defaultGrace is the same as in Cluster API.
const defaultGrace = 5 * time.Minute

type cluster = clusterv1alpha1.Cluster

// Controller reconciles Clusters.
type Controller struct {
	*controller.Loop[types.NamespacedName]
	reconcile *reconciler
	clusters  cache.SharedIndexInformer
}

// New returns a controller. Run starts it. New must be called before the informers are started.
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
		BeforeSync(func(ctx context.Context) (func(), error) {
			c.reconcile.external = d.External(ctx, controller.HandleChanges(false, c.externalChanged))
			return c.reconcile.external.Wait, nil
		}).
		Watches(c.clusters, c.reconcile.clusters.Handler(), controller.HandleChanges(true, c.clusterChanged)).
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
