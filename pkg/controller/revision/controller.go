// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	itlisters "github.com/slipway-dev/slipway/pkg/generated/listers/instancetype/v1alpha1"
)

const (
	// Name of the controller in logs, metrics and its queue.
	Name = "controllerrevision"
	// lookAgainDelay is when a revision is looked at again that is new, or that has to
	// stay for a reason that no event ends.
	lookAgainDelay = controller.DefaultResyncPeriod
)

// Deps is what the controller needs; all are required.
type Deps struct {
	// Client marks and deletes revisions, and reads what may name them.
	Client versioned.Interface
	// Informers watch our kinds. New registers what it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
}

type loop = controller.Loop[types.NamespacedName]

// Controller collects revisions.
type Controller struct {
	loop
	deps Deps
	// vms, vmis, snapshots and revisions are the informers.
	vms, vmis, snapshots, revisions cache.SharedIndexInformer
}

// New makes a controller that does nothing until Run, and registers the informers and
// indexes that it needs. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if d.Client == nil || d.Informers == nil {
		return nil, errors.New("revision controller: client and informers are required")
	}
	vm := d.Informers.Vm().V1alpha1()
	revisions := d.Informers.Instancetype().V1alpha1().ControllerRevisions()
	c := &Controller{
		deps: d,
		vms:  vm.VirtualMachines().Informer(), vmis: vm.VirtualMachineInstances().Informer(), snapshots: vm.VirtualMachineSnapshots().Informer(),
		revisions: revisions.Informer(),
	}
	for _, informer := range []cache.SharedIndexInformer{c.vms, c.vmis, c.snapshots} {
		if err := informer.AddIndexers(cache.Indexers{indexByRevision: named}); err != nil {
			return nil, fmt.Errorf("indexing what names revisions: %w", err)
		}
	}
	c.loop = controller.NewLoop(controller.NewQueue(Name, controller.QueueOptions{}), controller.Options[types.NamespacedName]{Name: Name, Reconciler: &reconciler{
		client: d.Client, revisions: itlisters.NewControllerRevisionLister(c.revisions.GetIndexer()),
		users: []cache.Indexer{c.vms.GetIndexer(), c.vmis.GetIndexer(), c.snapshots.GetIndexer()},
	}})
	return c, nil
}

// Run starts the informers and collects until ctx is done. It returns when all that it
// started has ended, with an error when the caches could not be filled. It must be
// called at most once.
func (c *Controller) Run(ctx context.Context) error {
	err := controller.Fill(ctx, Name, c.deps.Informers,
		controller.Source{Informer: c.vms, Handler: c.users()},
		controller.Source{Informer: c.vmis, Handler: c.users()},
		controller.Source{Informer: c.snapshots, Handler: c.users()},
		controller.Source{Informer: c.revisions, Handler: c.made()},
	)
	if err != nil {
		return err
	}
	c.loop.Run(ctx)
	return nil
}
