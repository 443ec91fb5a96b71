// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machineset

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/lru"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

// Name is the name of the controller in logs, metrics and its queue.
const Name = "machineset"

// workers is the number of MachineSets that are reconciled concurrently.
const workers = 8

// rememberedNames is the number of names of deleted Machines that are cached and not used again.
const rememberedNames = 10000

// External reads templates and resolves the kinds of the objects that are created from them.
type External interface {
	// Get returns an object.
	Get(ctx context.Context, ref contract.Reference, namespace string) (*unstructured.Unstructured, contract.Kind, error)
	// Resolve returns the Kind of a group and kind.
	Resolve(ctx context.Context, group, kind string) (contract.Kind, error)
}

// Deps are the dependencies of the controller. All except Now are required.
type Deps struct {
	// Client writes MachineSets and Machines.
	Client versioned.Interface
	// Informers watch Slipway's kinds. New registers the informers it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// External reads bootstrap and infrastructure templates.
	External External
	// Recorder writes events.k8s.io events.
	Recorder events.EventRecorder
	// CreationsPerMinute is the number of Machines that the MachineSets of a namespace create per minute after an
	// initial burst. It must be at least 1.
	CreationsPerMinute int
	// Now returns the current time. The default is time.Now.
	Now func() time.Time
}

type (
	set     = clusterv1alpha1.MachineSet
	machine = clusterv1alpha1.Machine
)

// Controller reconciles MachineSets.
type Controller struct {
	*controller.Loop[types.NamespacedName]
	reconcile *reconciler
}

// New returns a controller. Run starts it. New must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if err := controller.CheckDeps(Name, d, "Now"); err != nil {
		return nil, err
	}
	if d.CreationsPerMinute < 1 {
		return nil, fmt.Errorf("MachineSet controller: %d creations per minute, must be at least 1", d.CreationsPerMinute)
	}
	kinds := d.Informers.Cluster().V1alpha1()
	sets, machines := kinds.MachineSets().Informer(), kinds.Machines().Informer()
	r := &reconciler{
		client: d.Client.ClusterV1alpha1(), sets: controller.NewStore[*set](sets, false), machines: controller.NewStore[*machine](machines, true),
		deployments: kinds.MachineDeployments().Lister(), clusters: kinds.Clusters().Lister(), external: d.External, recorder: d.Recorder,
		now: controller.Clock(d.Now), createdObjects: newCreatedObjects(), creationLimits: newCreationLimits(d.CreationsPerMinute), deletedNames: lru.New(rememberedNames),
	}
	c := &Controller{reconcile: r}
	var err error
	c.Loop, err = controller.For[types.NamespacedName](Name, d.Informers).Workers(workers).
		Queue(controller.NewQueue(Name, controller.QueueOptions{Fairness: true})).
		Index(sets, setIndexers).
		Index(machines, machineIndexers).
		Watches(sets, r.sets.Handler(), controller.HandleChanges(true, c.setChanged)).
		Watches(machines, r.machines.Handler(), controller.HandleChanges(false, c.machineChanged)).
		Watches(kinds.MachineDeployments().Informer(), controller.HandleChanges(false, c.deploymentChanged)).
		Watches(kinds.Clusters().Informer(), controller.HandleChanges(false, c.clusterChanged)).
		Reconciler(r).
		Build()
	return c, err
}
