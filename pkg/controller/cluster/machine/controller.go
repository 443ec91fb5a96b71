// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/detach"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/drain"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/node"
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
	Workloads Workloads
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

type loop = controller.Loop[types.NamespacedName]

// Controller brings Machines to Nodes, and to their ends.
type Controller struct {
	loop
	deps      Deps
	machines  cache.SharedIndexInformer
	enqueuer  *controller.Enqueuer[*machine]
	reconcile *reconciler
}

// New makes a controller that does nothing until Run, and registers the informers and indexes
// that it needs. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if d.Client == nil || d.Informers == nil || d.Kinds == nil || d.Workloads == nil || d.Recorder == nil {
		return nil, errors.New("machine controller: client, informers, kinds, workload clusters and recorder are required")
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Grace == 0 {
		d.Grace = node.DefaultGrace
	}
	if d.Workers == 0 {
		d.Workers = defaultWorkers
	}
	if d.ResyncPeriod == 0 {
		d.ResyncPeriod = controller.DefaultResyncPeriod
	}
	v1 := d.Informers.Cluster().V1alpha1()
	c := &Controller{deps: d, machines: v1.Machines().Informer()}
	if err := c.machines.AddIndexers(indexers); err != nil {
		return nil, fmt.Errorf("indexing Machines: %w", err)
	}
	store := controller.NewStore[*machine](c.machines, false)
	echoes := controller.NewEchoes(func(m *machine) any { return m.Status })
	c.reconcile = &reconciler{
		client: d.Client.ClusterV1alpha1(), machines: store, echoes: echoes, clusters: v1.Clusters().Lister(),
		sets: v1.MachineSets().Lister(), deployments: v1.MachineDeployments().Lister(), drainRules: v1.MachineDrainRules().Lister(),
		members: func(key types.NamespacedName) []*machine { return c.indexed(indexByCluster, key.String()) },
		writes:  controller.NewWriteLimit(), workloads: d.Workloads, recorder: d.Recorder, now: d.Now, nodeRules: d.NodeRules, grace: d.Grace, drain: drain.Drain, detach: detach.Check,
	}
	queue := controller.NewQueue(Name, d.Queue)
	c.enqueuer = &controller.Enqueuer[*machine]{Queue: queue, Objects: store, Echoes: echoes, Priority: priority}
	c.loop = controller.NewLoop(queue, controller.Options[types.NamespacedName]{
		Name: Name, Workers: d.Workers, Reconciler: c.reconcile, Priority: c.enqueuer.Again,
	})
	return c, nil
}

// Run starts the informers and reconciles until ctx is done. It returns when all that it
// started has ended, with an error when the caches could not be filled. It must be called
// at most once.
func (c *Controller) Run(ctx context.Context) error {
	v1 := c.deps.Informers.Cluster().V1alpha1()
	objects := contract.NewObjects(ctx, c.deps.Kinds, c.externalHandler())
	defer objects.Wait()
	c.reconcile.objects = objects
	err := controller.Fill(ctx, Name, c.deps.Informers,
		controller.Source{Informer: c.machines, Handler: c.reconcile.machines.Handler()},
		controller.Source{Informer: c.machines, Handler: c.enqueuer.Handler()},
		controller.Source{Informer: v1.Clusters().Informer(), Handler: c.clusterHandler()},
		controller.Source{Informer: v1.MachineSets().Informer(), Handler: c.setHandler()},
		controller.Source{Informer: v1.MachineDeployments().Informer(), Handler: c.deploymentHandler()},
		controller.Source{Informer: v1.MachineDrainRules().Informer(), Handler: controller.Changes(false, func(_, _ *clusterv1alpha1.MachineDrainRule) {})},
	)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all.Go(func() { c.enqueuer.Resync(ctx, c.deps.ResyncPeriod) })
	c.loop.Run(ctx)
	return nil
}
