// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	itlisters "github.com/slipway-dev/slipway/pkg/generated/listers/instancetype/v1alpha1"
)

// Name of the controller in logs, metrics and its queue.
const Name = "controllerrevision"

// Deps has the dependencies of the controller. All fields are required.
type Deps struct {
	// Client marks and deletes revisions, and reads the objects that may refer to them.
	Client versioned.Interface
	// Informers watch the kinds of Slipway. New registers the informers that it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
}

// Controller deletes unused revisions.
type Controller struct {
	*controller.Loop[types.NamespacedName]
	revisions cache.SharedIndexInformer
}

// New returns a controller that does nothing until Run. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if err := controller.CheckDeps(Name, d); err != nil {
		return nil, err
	}
	vm, revisions := d.Informers.Vm().V1alpha1(), d.Informers.Instancetype().V1alpha1().ControllerRevisions().Informer()
	c := &Controller{revisions: revisions}
	r := &reconciler{client: d.Client, revisions: itlisters.NewControllerRevisionLister(revisions.GetIndexer())}
	b := controller.For[types.NamespacedName](Name, d.Informers).Watches(revisions, c.revisionHandler()).Reconciler(r)
	for _, users := range []cache.SharedIndexInformer{
		vm.VirtualMachines().Informer(), vm.VirtualMachineInstances().Informer(), vm.VirtualMachineSnapshots().Informer(),
	} {
		b.Index(users, cache.Indexers{indexByRevision: byRevision}).Watches(users, c.userHandler())
		r.users = append(r.users, users.GetIndexer())
	}
	var err error
	c.Loop, err = b.Build()
	return c, err
}
