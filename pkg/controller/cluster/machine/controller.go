// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/deletion"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/detach"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/drain"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/external"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/node"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/nodesync"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

// Name is the name of the controller in logs, metrics and its queue.
const Name = "machine"

// defaultWorkers is the number of Machines that are reconciled concurrently. A reconcile blocks only on the API of a
// workload cluster, for at most workload.VisitTimeout. One cluster occupies at most a quarter of the workers.
const defaultWorkers = 16

// Deps are the dependencies of the controller. Fields without a default are required.
type Deps struct {
	// Client writes Machines.
	Client versioned.Interface
	// Informers watch Slipway's kinds. New registers the informers it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Kinds resolves the kinds of the objects that Machines refer to.
	Kinds *contract.Resolver
	// Workloads are the workload clusters. The caller must register OnCluster and OnNode as their callbacks.
	Workloads step.Workloads
	// Recorder writes events.k8s.io events.
	Recorder events.EventRecorder
	// NodeRules select additional labels and annotations that are copied from Machines to Nodes. By default there are
	// none.
	NodeRules node.Rules
	// Grace is how long a workload cluster may not answer before the conditions of its Nodes become Unknown. The
	// default is 5 minutes.
	Grace time.Duration
	// Queue determines the order of Machines with the same priority.
	Queue controller.QueueOptions
	// Workers is the number of Machines that are reconciled concurrently. The default is 16.
	Workers int
	// ResyncPeriod is how often a Machine is reconciled without an event. The default is 10 minutes.
	ResyncPeriod time.Duration
	// Now returns the current time. The default is time.Now.
	Now func() time.Time
}

// Controller reconciles Machines.
type Controller struct {
	*controller.Loop[types.NamespacedName]
	machines  cache.SharedIndexInformer
	enqueuer  *controller.Enqueuer[*machine]
	reconcile *reconciler
}

// New returns a controller. Run starts it. New must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if err := controller.CheckDeps(Name, d, "Now"); err != nil {
		return nil, err
	}
	v1 := d.Informers.Cluster().V1alpha1()
	c := &Controller{machines: v1.Machines().Informer()}
	store := controller.NewStore[*machine](c.machines, false)
	echoes := controller.NewEchoes(func(m *machine) any { return m.Status })
	objects := &external.Reconciler{Writes: controller.NewWriteLimit()}
	recorder := step.Events{Recorder: d.Recorder}
	c.reconcile = &reconciler{
		writer:   writer{client: d.Client.ClusterV1alpha1(), machines: store, echoes: echoes},
		clusters: v1.Clusters().Lister(), sets: v1.MachineSets().Lister(), deployments: v1.MachineDeployments().Lister(),
		external: objects,
		nodes:    &nodesync.Reconciler{Workloads: d.Workloads, Rules: d.NodeRules, Grace: cmp.Or(d.Grace, node.DefaultGrace), Events: recorder},
		deletion: &deletion.Reconciler{
			External: objects, Members: func(key types.NamespacedName) []*machine { return c.indexed(indexByCluster, key.String()) },
			DrainRules: v1.MachineDrainRules().Lister(), Drain: drain.Drain, Detach: detach.Check, Events: recorder,
		},
		now: controller.Clock(d.Now),
	}
	queue := controller.NewQueue(Name, d.Queue)
	c.enqueuer = &controller.Enqueuer[*machine]{Queue: queue, Objects: store, Echoes: echoes, Priority: priority}
	resync := cmp.Or(d.ResyncPeriod, controller.DefaultResyncPeriod)
	var err error
	c.Loop, err = controller.For[types.NamespacedName](Name, d.Informers).Workers(cmp.Or(d.Workers, defaultWorkers)).
		Queue(queue).
		Priority(c.enqueuer.RequeuePriority).
		Index(c.machines, indexers).
		BeforeSync(func(ctx context.Context) (func(), error) {
			read := contract.NewObjects(ctx, d.Kinds, c.externalHandler())
			objects.Objects = read
			return read.Wait, nil
		}).
		Watches(c.machines, store.Handler(), c.enqueuer.Handler()).
		Watches(v1.Clusters().Informer(), c.clusterHandler()).
		Watches(v1.MachineSets().Informer(), c.setHandler()).
		Watches(v1.MachineDeployments().Informer(), c.deploymentHandler()).
		Reads(v1.MachineDrainRules().Informer()).
		RunsInParallel(func(ctx context.Context) { c.enqueuer.Resync(ctx, resync) }).
		Reconciler(c.reconcile).
		Build()
	return c, err
}

// NewWorkloads returns the Workloads of c.
func NewWorkloads(c *workload.Clusters) step.Workloads { return clusters{c} }

type clusters struct{ *workload.Clusters }

// Connection implements step.Workloads.
func (c clusters) Connection(key types.NamespacedName) (step.Workload, error) {
	connection, err := c.Clusters.Connection(key)
	if err != nil {
		return nil, err
	}
	return connection, nil
}
