// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

// Name of the controller in logs, metrics and its queue.
const Name = "virtualmachinegroup"

// workers is the number of groups that are reconciled concurrently.
const workers = 4

// Deps has the dependencies of the controller. All fields are required except Now.
type Deps struct {
	// Client writes the status of groups.
	Client versioned.Interface
	// Informers watch the kinds of Slipway. New registers the informers that it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Now returns the time. The default is time.Now.
	Now func() time.Time
}

// Controller writes the status of groups.
type Controller struct {
	*controller.Loop[types.NamespacedName]
	groups cache.SharedIndexInformer
}

// New returns a controller that does nothing until Run. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if err := controller.CheckDeps(Name, d, "Now"); err != nil {
		return nil, err
	}
	vm := d.Informers.Vm().V1alpha1()
	c := &Controller{groups: vm.VirtualMachineGroups().Informer()}
	store := controller.NewStore[*group](c.groups, false)
	var err error
	c.Loop, err = controller.For[types.NamespacedName](Name, d.Informers).Workers(workers).
		Index(c.groups, indexers).
		Watches(c.groups, store.Handler(), c.groupHandler()).
		Watches(vm.VirtualMachines().Informer(), c.machineHandler()).
		Reconciler(&reconciler{client: d.Client.VmV1alpha1(), groups: store, vms: vm.VirtualMachines().Lister(), now: controller.Clock(d.Now)}).
		Build()
	return c, err
}
