// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machinedeployment

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

// Name is the name of the controller in logs, metrics and its queue.
const Name = "machinedeployment"

// workers is the number of MachineDeployments that are reconciled concurrently.
const workers = 4

// Deps are the dependencies of the controller. All except Now are required.
type Deps struct {
	// Client writes MachineDeployments and MachineSets.
	Client versioned.Interface
	// Informers watch Slipway's kinds. New registers the informers it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Recorder writes events.k8s.io events.
	Recorder events.EventRecorder
	// Now returns the current time. The default is time.Now.
	Now func() time.Time
}

// Controller reconciles MachineDeployments.
type Controller struct {
	*controller.Loop[types.NamespacedName]
	deployments controller.Store[*deployment]
	sets        cache.SharedIndexInformer
}

// New returns a controller. Run starts it. New must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if err := controller.CheckDeps(Name, d, "Now"); err != nil {
		return nil, err
	}
	kinds := d.Informers.Cluster().V1alpha1()
	deployments, machines := kinds.MachineDeployments().Informer(), kinds.Machines().Informer()
	c := &Controller{deployments: controller.NewStore[*deployment](deployments, false), sets: kinds.MachineSets().Informer()}
	r := &reconciler{
		client: d.Client.ClusterV1alpha1(), deployments: c.deployments, sets: controller.NewStore[*set](c.sets, true),
		machines: machines.GetIndexer(), clusters: kinds.Clusters().Lister(), recorder: d.Recorder, now: controller.Clock(d.Now),
	}
	var err error
	c.Loop, err = controller.For[types.NamespacedName](Name, d.Informers).Workers(workers).
		Queue(controller.NewQueue(Name, controller.QueueOptions{Fairness: true})).
		Index(deployments, deploymentIndexers).
		Index(c.sets, setIndexers).
		Index(machines, machineIndexers).
		Watches(deployments, c.deployments.Handler(), controller.HandleChanges(true, c.deploymentChanged)).
		Watches(c.sets, r.sets.Handler(), controller.HandleChanges(false, c.setChanged)).
		Watches(machines, controller.HandleChanges(false, c.machineChanged)).
		Watches(kinds.Clusters().Informer(), controller.HandleChanges(false, c.clusterChanged)).
		Reconciler(r).
		Build()
	return c, err
}
