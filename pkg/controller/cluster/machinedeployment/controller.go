// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machinedeployment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

// Name of the controller in logs, metrics and its queue.
const Name = "machinedeployment"

// workers is how many deployments are looked at at the same time.
const workers = 4

// Deps is what the controller needs; all but Now are required.
type Deps struct {
	// Client writes MachineDeployments and MachineSets.
	Client versioned.Interface
	// Informers watch our kinds. New registers what it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Recorder writes events.k8s.io events.
	Recorder events.EventRecorder
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

type loop = controller.Loop[types.NamespacedName]

// Controller rolls Machines from template to template.
type Controller struct {
	loop
	deps                                  Deps
	reconcile                             *reconciler
	deployments, sets, machines, clusters cache.SharedIndexInformer
}

// New makes a controller that does nothing until Run, and registers the informers and
// indexes that it needs. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if d.Client == nil || d.Informers == nil || d.Recorder == nil {
		return nil, errors.New("MachineDeployment controller: client, informers and recorder are required")
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	kinds := d.Informers.Cluster().V1alpha1()
	c := &Controller{
		deps: d, deployments: kinds.MachineDeployments().Informer(), sets: kinds.MachineSets().Informer(),
		machines: kinds.Machines().Informer(), clusters: kinds.Clusters().Informer(),
	}
	for informer, indexers := range map[cache.SharedIndexInformer]cache.Indexers{
		c.deployments: deploymentIndexers, c.sets: setIndexers, c.machines: machineIndexers,
	} {
		if err := informer.AddIndexers(indexers); err != nil {
			return nil, fmt.Errorf("indexing for MachineDeployments: %w", err)
		}
	}
	c.reconcile = &reconciler{
		client:      d.Client.ClusterV1alpha1(),
		deployments: controller.NewStore[*deployment](c.deployments, false), sets: controller.NewStore[*set](c.sets, true),
		machines: c.machines.GetIndexer(), clusters: kinds.Clusters().Lister(), recorder: d.Recorder, now: d.Now,
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
		controller.Source{Informer: c.deployments, Handler: c.reconcile.deployments.Handler()},
		controller.Source{Informer: c.sets, Handler: c.reconcile.sets.Handler()},
		controller.Source{Informer: c.deployments, Handler: controller.Changes(true, c.deploymentChanged)},
		controller.Source{Informer: c.sets, Handler: controller.Changes(false, c.setChanged)},
		controller.Source{Informer: c.machines, Handler: controller.Changes(false, c.machineChanged)},
		controller.Source{Informer: c.clusters, Handler: controller.Changes(false, c.clusterChanged)},
	)
	if err != nil {
		return err
	}
	c.loop.Run(ctx)
	return nil
}
