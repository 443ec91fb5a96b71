// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Name of the controller in logs, metrics and its queue.
const Name = "zone"

// workers is the number of zones that are reconciled concurrently.
const workers = 8

// Zones observes zones. The shard of a zone is that of its vCenter. If the vCenter does not exist, it is that of the empty name.
type Zones interface {
	controller.Shard
	// State returns the observed state of a zone, or an error if it cannot be observed.
	State(ctx context.Context, zone *vmv1alpha1.Zone) (provider.ZoneState, error)
	// Machines returns the number of VMs in a zone, or an error if it is not known.
	Machines(zone string) (int, error)
}

// Deps has the dependencies of the controller. All fields are required except Now.
type Deps struct {
	// Client writes Zones.
	Client versioned.Interface
	// Informers watch the kinds of Slipway. New registers the informers that it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Zones observes zones.
	Zones Zones
	// Now returns the time for conditions. The default is time.Now.
	Now func() time.Time
}

// Controller writes the status of Zones.
type Controller struct {
	*controller.Loop[types.NamespacedName]
}

// New returns a controller that does nothing until Run. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if err := controller.CheckDeps(Name, d, "Now"); err != nil {
		return nil, err
	}
	vm := d.Informers.Vm().V1alpha1()
	c, zones := &Controller{}, vm.Zones().Informer()
	store := controller.NewStore[*vmv1alpha1.Zone](zones, false)
	var err error
	c.Loop, err = controller.For[types.NamespacedName](Name, d.Informers).Workers(workers).
		Watches(zones, store.Handler(), controller.HandleChanges(true, c.changed)).
		Watches(vm.VirtualMachines().Informer(), controller.HandleChanges(false, c.countChanged)).
		Shard(d.Zones, func(string) {
			for _, obj := range zones.GetStore().List() {
				c.EnqueueAfter(controller.KeyOf(obj.(*vmv1alpha1.Zone)), 0)
			}
		}).
		Reconciler(&reconciler{client: d.Client.VmV1alpha1().Zones(), zones: store, observer: d.Zones, now: controller.Clock(d.Now)}).
		Build()
	return c, err
}

// changed enqueues a Zone that was created or edited. It ignores changes of status, which this controller writes.
func (c *Controller) changed(before, now *vmv1alpha1.Zone) {
	if now != nil && (before == nil || controller.SpecChanged(before, now) || len(before.Finalizers) != len(now.Finalizers)) {
		c.EnqueueAfter(controller.KeyOf(now), 0)
	}
}

// countChanged enqueues the zones of a VM that was created, deleted or moved. The delay collects several such events. Existing VMs
// are counted by the first reconcile.
func (c *Controller) countChanged(before, now *vmv1alpha1.VirtualMachine) {
	from, to := zoneOf(before), zoneOf(now)
	if from == to {
		return
	}
	for _, name := range []string{from, to} {
		if name != "" {
			c.EnqueueAfter(types.NamespacedName{Name: name}, countSoon)
		}
	}
}

// zoneOf returns the zone of a VM, or an empty string.
func zoneOf(vm *vmv1alpha1.VirtualMachine) string {
	if vm == nil {
		return ""
	}
	return provider.ZoneOf(vm)
}
