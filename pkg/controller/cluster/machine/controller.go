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

// Name of the controller in logs, metrics and its queue.
const Name = "machine"

// defaultWorkers is how many Machines are looked at at the same time. A pass waits for nothing
// but the API of a workload cluster, as long as a visit lasts (workload.VisitTimeout). Visits of one
// cluster keep a quarter of them at most.
const defaultWorkers = 16

// Deps is what the controller needs; all are required but those that say otherwise.
type Deps struct {
	// Client writes Machines.
	Client versioned.Interface
	// Informers watch our kinds. New registers what it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Kinds resolves those of objects that Machines refer to.
	Kinds *contract.Resolver
	// Workloads are the workload clusters. OnCluster and OnNode are to be told of them.
	Workloads step.Workloads
	// Recorder writes events.k8s.io events.
	Recorder events.EventRecorder
	// NodeRules say what of Machines goes to Nodes besides what always does; none if zero.
	NodeRules node.Rules
	// Grace is how long a workload cluster may be silent before what its Nodes have said is
	// not believed any more; five minutes if 0.
	Grace time.Duration
	// Queue says in which order Machines of one priority are handed out.
	Queue controller.QueueOptions
	// Workers is how many Machines are looked at at the same time, 16 if 0.
	Workers int
	// ResyncPeriod is how often every Machine is looked at without an event, ten minutes if 0.
	ResyncPeriod time.Duration
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Controller brings Machines to Nodes, and to their ends.
type Controller struct {
	*controller.Loop[types.NamespacedName]
	machines  cache.SharedIndexInformer
	enqueuer  *controller.Enqueuer[*machine]
	reconcile *reconciler
}

// New returns a controller that does nothing until Run. It must be called before the informers are started.
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
		Priority(c.enqueuer.Again).
		Index(c.machines, indexers).
		Before(func(ctx context.Context) (func(), error) {
			read := contract.NewObjects(ctx, d.Kinds, c.externalHandler())
			objects.Objects = read
			return read.Wait, nil
		}).
		Watches(c.machines, store.Handler(), c.enqueuer.Handler()).
		Watches(v1.Clusters().Informer(), c.clusterHandler()).
		Watches(v1.MachineSets().Informer(), c.setHandler()).
		Watches(v1.MachineDeployments().Informer(), c.deploymentHandler()).
		Reads(v1.MachineDrainRules().Informer()).
		Runs(func(ctx context.Context) { c.enqueuer.Resync(ctx, resync) }).
		Reconciler(c.reconcile).
		Build()
	return c, err
}

// Of makes Workloads of what keeps the connections.
func Of(c *workload.Clusters) step.Workloads { return clusters{c} }

type clusters struct{ *workload.Clusters }

// Connection returns a connection as a Workload.
func (c clusters) Connection(key types.NamespacedName) (step.Workload, error) {
	connection, err := c.Clusters.Connection(key)
	if err != nil {
		return nil, err
	}
	return connection, nil
}
