// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machineset

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/lru"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

// Name of the controller in logs, metrics and its queue.
const Name = "machineset"

// workers is how many sets are looked at at the same time.
const workers = 8

// rememberedNames is how many names of Machines that are gone are not used again.
const rememberedNames = 10000

// External reads templates and knows the kinds of what is made from them.
type External interface {
	// Get reads an object.
	Get(ctx context.Context, ref contract.Reference, namespace string) (*unstructured.Unstructured, contract.Kind, error)
	// Resolve tells what is known of a kind.
	Resolve(ctx context.Context, group, kind string) (contract.Kind, error)
}

// Deps is what the controller needs; all but Now are required.
type Deps struct {
	// Client writes MachineSets and Machines.
	Client versioned.Interface
	// Informers watch our kinds. New registers what it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// External are the kinds of bootstrap and infrastructure.
	External External
	// Recorder writes events.k8s.io events.
	Recorder events.EventRecorder
	// CreationsPerMinute is the number of Machines that the sets of a namespace create in a minute,
	// after the first ones.
	CreationsPerMinute int
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

type (
	loop    = controller.Loop[types.NamespacedName]
	set     = clusterv1alpha1.MachineSet
	machine = clusterv1alpha1.Machine
)

// Controller keeps the Machines of MachineSets.
type Controller struct {
	loop
	deps                                  Deps
	reconcile                             *reconciler
	sets, machines, deployments, clusters cache.SharedIndexInformer
}

// New makes a controller that does nothing until Run, and registers the informers and
// indexes that it needs. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if d.Client == nil || d.Informers == nil || d.External == nil || d.Recorder == nil {
		return nil, errors.New("MachineSet controller: client, informers, external kinds and recorder are required")
	}
	if d.CreationsPerMinute < 1 {
		return nil, fmt.Errorf("MachineSet controller: %d creations per minute, must be at least 1", d.CreationsPerMinute)
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	kinds := d.Informers.Cluster().V1alpha1()
	c := &Controller{
		deps: d, sets: kinds.MachineSets().Informer(), machines: kinds.Machines().Informer(),
		deployments: kinds.MachineDeployments().Informer(), clusters: kinds.Clusters().Informer(),
	}
	if err := c.sets.AddIndexers(setIndexers); err != nil {
		return nil, fmt.Errorf("indexing MachineSets: %w", err)
	}
	if err := c.machines.AddIndexers(machineIndexers); err != nil {
		return nil, fmt.Errorf("indexing Machines of MachineSets: %w", err)
	}
	c.reconcile = &reconciler{
		client: d.Client.ClusterV1alpha1(), sets: controller.NewStore[*set](c.sets, false), machines: controller.NewStore[*machine](c.machines, true),
		deployments: kinds.MachineDeployments().Lister(), clusters: kinds.Clusters().Lister(),
		external: d.External, recorder: d.Recorder, now: d.Now, made: newMade(), pace: newPace(d.CreationsPerMinute), gone: lru.New(rememberedNames),
	}
	c.loop = controller.NewLoop(controller.NewQueue(Name, controller.QueueOptions{Fairness: true}), controller.Options[types.NamespacedName]{
		Name: Name, Workers: workers, Reconciler: c.reconcile,
	})
	return c, nil
}

// Run starts the informers and reconciles until ctx is done. It returns when all that it
// started has ended, with an error when the caches could not be filled. It must be called at
// most once.
func (c *Controller) Run(ctx context.Context) error {
	err := controller.Fill(ctx, Name, c.deps.Informers,
		controller.Source{Informer: c.sets, Handler: c.reconcile.sets.Handler()},
		controller.Source{Informer: c.machines, Handler: c.reconcile.machines.Handler()},
		controller.Source{Informer: c.sets, Handler: controller.Changes(true, c.setChanged)},
		controller.Source{Informer: c.machines, Handler: controller.Changes(false, c.machineChanged)},
		controller.Source{Informer: c.deployments, Handler: controller.Changes(false, c.deploymentChanged)},
		controller.Source{Informer: c.clusters, Handler: controller.Changes(false, c.clusterChanged)},
	)
	if err != nil {
		return err
	}
	c.loop.Run(ctx)
	return nil
}
