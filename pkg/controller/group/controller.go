// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

// Name of the controller in logs, metrics and its queue.
const Name = "virtualmachinegroup"

// workers is how many groups are looked at at the same time.
const workers = 4

// Deps is what the controller needs; all but Now are required.
type Deps struct {
	// Client writes the status of groups.
	Client versioned.Interface
	// Informers watch our kinds. New registers what it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

type loop = controller.Loop[types.NamespacedName]

// Controller keeps the status of groups.
type Controller struct {
	loop
	deps             Deps
	store            controller.Store[*group]
	groups, machines cache.SharedIndexInformer
}

// New makes a controller that does nothing until Run, and registers the informers and
// indexes that it needs. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if d.Client == nil || d.Informers == nil {
		return nil, errors.New("group controller: client and informers are required")
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	vm := d.Informers.Vm().V1alpha1()
	c := &Controller{deps: d, groups: vm.VirtualMachineGroups().Informer(), machines: vm.VirtualMachines().Informer()}
	if err := c.groups.AddIndexers(indexers); err != nil {
		return nil, fmt.Errorf("indexing groups: %w", err)
	}
	c.store = controller.NewStore[*group](c.groups, false)
	c.loop = controller.NewLoop(controller.NewQueue(Name, controller.QueueOptions{}), controller.Options[types.NamespacedName]{
		Name: Name, Workers: workers,
		Reconciler: &reconciler{client: d.Client.VmV1alpha1(), groups: c.store, vms: vm.VirtualMachines().Lister(), now: d.Now},
	})
	return c, nil
}

// Run starts the informers and reconciles until ctx is done. It returns when all that it
// started has ended, with an error when the caches could not be filled. It must be
// called at most once.
func (c *Controller) Run(ctx context.Context) error {
	err := controller.Fill(ctx, Name, c.deps.Informers,
		controller.Source{Informer: c.groups, Handler: c.store.Handler()},
		controller.Source{Informer: c.groups, Handler: c.groupHandler()},
		controller.Source{Informer: c.machines, Handler: c.machineHandler()},
	)
	if err != nil {
		return err
	}
	c.loop.Run(ctx)
	return nil
}
