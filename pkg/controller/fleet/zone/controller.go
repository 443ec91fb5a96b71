// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Name of the controller in logs, metrics and its queue.
const Name = "zone"

// workers is how many zones are looked at at the same time.
const workers = 8

// Zones tell what is seen of them.
type Zones interface {
	// Bind waits until there may be a pass over a zone, and returns the context for it. An
	// error, if it is not that of ctx, means that the zone is another process's.
	Bind(ctx context.Context, zone *vmv1alpha1.Zone) (context.Context, error)
	// State tells what is seen of a zone; an error is why nothing is.
	State(ctx context.Context, zone *vmv1alpha1.Zone) (provider.ZoneState, error)
	// Machines is the number of virtual machines in a zone; an error is why it is not known.
	Machines(zone string) (int, error)
	// Watch calls gained whenever zones become this process's, until ctx is done. gained must
	// not block.
	Watch(ctx context.Context, gained func())
}

// Deps is what the controller needs; all but Now are required.
type Deps struct {
	// Client writes Zones.
	Client versioned.Interface
	// Informers watch our kinds. New registers what it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Zones tell what is seen.
	Zones Zones
	// Now is the clock of conditions; time.Now when nil.
	Now func() time.Time
}

type loop = controller.Loop[types.NamespacedName]

// Controller keeps the status of Zones.
type Controller struct {
	loop
	deps     Deps
	zones    controller.Store[*vmv1alpha1.Zone]
	informer cache.SharedIndexInformer
	machines cache.SharedIndexInformer
}

// New makes a controller that does nothing until Run, and registers the informers that it
// needs. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if d.Client == nil || d.Informers == nil || d.Zones == nil {
		return nil, errors.New("zone controller: client, informers and zones are required")
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	vm := d.Informers.Vm().V1alpha1()
	c := &Controller{deps: d, informer: vm.Zones().Informer(), machines: vm.VirtualMachines().Informer()}
	c.zones = controller.NewStore[*vmv1alpha1.Zone](c.informer, false)
	c.loop = controller.NewLoop(controller.NewQueue(Name, controller.QueueOptions{}), controller.Options[types.NamespacedName]{
		Name: Name, Workers: workers, Reconciler: &reconciler{client: d.Client.VmV1alpha1().Zones(), zones: c.zones, seen: d.Zones, now: d.Now},
	})
	return c, nil
}

// Run starts the informers and reconciles until ctx is done. It returns when all that it
// started has ended, with an error when the caches could not be filled. It must be
// called at most once.
func (c *Controller) Run(ctx context.Context) error {
	err := controller.Fill(ctx, Name, c.deps.Informers,
		controller.Source{Informer: c.informer, Handler: c.zones.Handler()},
		controller.Source{Informer: c.informer, Handler: c.changed()},
		controller.Source{Informer: c.machines, Handler: c.counted()},
	)
	if err != nil {
		return err
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		c.deps.Zones.Watch(ctx, func() {
			for _, obj := range c.informer.GetStore().List() {
				c.look(obj)
			}
		})
	})
	c.loop.Run(ctx)
	return nil
}

func (c *Controller) look(obj any) {
	c.Look(controller.KeyOf(obj.(*vmv1alpha1.Zone)), 0)
}

// changed handles the events of Zones. What only status says was written here.
func (c *Controller) changed() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: c.look,
		UpdateFunc: func(oldObj, obj any) {
			old, z := oldObj.(*vmv1alpha1.Zone), obj.(*vmv1alpha1.Zone)
			if old.UID != z.UID || old.Generation != z.Generation || (old.DeletionTimestamp == nil) != (z.DeletionTimestamp == nil) || len(old.Finalizers) != len(z.Finalizers) {
				c.look(z)
			}
		},
	}
}

// counted handles the events of virtual machines: a zone that has more or fewer is looked at soon,
// once for all that come and go until then. Those that were there are counted by the first look.
func (c *Controller) counted() cache.ResourceEventHandler {
	zoneOf := func(vm *vmv1alpha1.VirtualMachine) string {
		if vm == nil {
			return ""
		}
		return provider.ZoneOf(vm)
	}
	return controller.Changes(false, func(was, now *vmv1alpha1.VirtualMachine) {
		from, to := zoneOf(was), zoneOf(now)
		if from == to {
			return
		}
		for _, name := range []string{from, to} {
			if name != "" {
				c.Look(types.NamespacedName{Name: name}, countSoon)
			}
		}
	})
}
