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

// workers is how many zones are looked at at the same time.
const workers = 8

// Zones tell what is seen of them. The shard of a zone is that of its vCenter, or that of no vCenter if this does not
// exist.
type Zones interface {
	controller.Shard
	// State tells what is seen of a zone; an error is why nothing is.
	State(ctx context.Context, zone *vmv1alpha1.Zone) (provider.ZoneState, error)
	// Machines is the number of virtual machines in a zone; an error is why it is not known.
	Machines(zone string) (int, error)
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

// Controller keeps the status of Zones.
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
		Watches(zones, store.Handler(), controller.Changes(true, c.changed)).
		Watches(vm.VirtualMachines().Informer(), controller.Changes(false, c.counted)).
		Shard(d.Zones, func(string) {
			for _, obj := range zones.GetStore().List() {
				c.Look(controller.KeyOf(obj.(*vmv1alpha1.Zone)), 0)
			}
		}).
		Reconciler(&reconciler{client: d.Client.VmV1alpha1().Zones(), zones: store, seen: d.Zones, now: controller.Clock(d.Now)}).
		Build()
	return c, err
}

// changed handles the events of Zones. What only status says was written here.
func (c *Controller) changed(was, now *vmv1alpha1.Zone) {
	if now != nil && (was == nil || controller.Edited(was, now) || len(was.Finalizers) != len(now.Finalizers)) {
		c.Look(controller.KeyOf(now), 0)
	}
}

// counted handles the events of virtual machines: a zone that has more or fewer is looked at soon,
// once for all that come and go until then. Those that were there are counted by the first look.
func (c *Controller) counted(was, now *vmv1alpha1.VirtualMachine) {
	from, to := zoneOf(was), zoneOf(now)
	if from == to {
		return
	}
	for _, name := range []string{from, to} {
		if name != "" {
			c.Look(types.NamespacedName{Name: name}, countSoon)
		}
	}
}

// zoneOf is the zone of a virtual machine, empty without one.
func zoneOf(vm *vmv1alpha1.VirtualMachine) string {
	if vm == nil {
		return ""
	}
	return provider.ZoneOf(vm)
}
