// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/priorityqueue"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Name of the controller in logs, metrics and its queue.
const Name = "virtualmachineimagecache"

// workers is how many caches are looked at at the same time: one that a vCenter is slow to
// answer for must not keep the others waiting.
const workers = 8

// VCenters are those that copies are in.
type VCenters interface {
	// Bind waits until there may be a pass over what is in the vCenter of a name, and returns
	// the context for it. An error, if it is not that of ctx, means that it is another
	// process's.
	Bind(ctx context.Context, vcenter string) (context.Context, error)
	// Files keeps the copies in a vCenter. The error is a NotUsableError if there is no such
	// vCenter, and any other if it cannot be used now.
	Files(vcenter string) (provider.ImageFiles, error)
	// Watch calls gained with the names of vCenters that become this process's, empty for
	// what is in none, until ctx is done. gained must not block.
	Watch(ctx context.Context, gained func(vcenter string))
}

// Deps is what the controller needs; all but Policy and Now are required.
type Deps struct {
	// Client writes caches.
	Client versioned.Interface
	// Informers watch our kinds. New registers what it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// VCenters have the copies.
	VCenters VCenters
	// Recorder tells users what happens.
	Recorder events.EventRecorder
	// Policy says when copies go.
	Policy Policy
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// part is what one pass is about: the locations of a cache in one vCenter. Those of no vCenter
// stand for what a cache has in none.
type part struct{ cache, vcenter string }

// String names it in logs.
func (p part) String() string { return p.cache + " in VCenter " + p.vcenter }

type loop = controller.Loop[part]

// Controller keeps the copies of VirtualMachineImageCaches.
type Controller struct {
	loop
	deps      Deps
	reconcile *reconciler
	caches    cache.SharedIndexInformer
	machines  cache.SharedIndexInformer
}

// New makes a controller that does nothing until Run, and registers the informers that it
// needs. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if d.Client == nil || d.Informers == nil || d.VCenters == nil || d.Recorder == nil {
		return nil, errors.New("image cache controller: client, informers, vCenters and recorder are required")
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	vm := d.Informers.Vm().V1alpha1()
	c := &Controller{deps: d, caches: vm.VirtualMachineImageCaches().Informer(), machines: vm.VirtualMachines().Informer()}
	c.reconcile = &reconciler{
		client: d.Client.VmV1alpha1().VirtualMachineImageCaches(), vcenters: d.VCenters, recorder: d.Recorder, now: d.Now,
		caches:     controller.NewStore[*vmv1alpha1.VirtualMachineImageCache](c.caches, false),
		operations: newOperations(func(p part) { c.Look(p, 0) }), due: newSchedule(), sweeps: newSweeps(), policy: d.Policy,
		names: c.caches.GetStore().ListKeys,
	}
	parts := priorityqueue.New(Name, priorityqueue.WithRateLimiter(controller.NewRateLimiter[part]()))
	c.loop = controller.NewLoop(parts, controller.Options[part]{Name: Name, Workers: workers, Reconciler: c.reconcile})
	return c, nil
}

// Run starts the informers and reconciles until ctx is done. It returns when all that it
// started has ended, with an error when the caches could not be filled. It must be called at
// most once.
func (c *Controller) Run(ctx context.Context) error {
	err := controller.Fill(ctx, Name, c.deps.Informers,
		controller.Source{Informer: c.caches, Handler: c.reconcile.caches.Handler()},
		controller.Source{Informer: c.caches, Handler: c.changed()},
		controller.Source{Informer: c.machines, Handler: c.waits()},
	)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		c.deps.VCenters.Watch(ctx, func(vcenter string) {
			if vcenter != "" {
				c.Look(sweepOf(vcenter), 0) // there may be directories that no cache is left of
			}
			for _, obj := range c.caches.GetStore().List() {
				c.lookAll(obj.(*vmv1alpha1.VirtualMachineImageCache))
			}
		})
	})
	c.reconcile.operations.run(ctx, func() { c.loop.Run(ctx) })
	return nil
}

func (c *Controller) lookAll(obj *vmv1alpha1.VirtualMachineImageCache) {
	for _, p := range partsOf(obj) {
		c.Look(p, 0)
		if p.vcenter != "" {
			c.Look(sweepOf(p.vcenter), 0)
		}
	}
}

// changed handles the events of caches. What only status says was written here, but for the
// last location that goes: then the cache may.
func (c *Controller) changed() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { c.lookAll(obj.(*vmv1alpha1.VirtualMachineImageCache)) },
		UpdateFunc: func(oldObj, obj any) {
			old, now := oldObj.(*vmv1alpha1.VirtualMachineImageCache), obj.(*vmv1alpha1.VirtualMachineImageCache)
			if old.UID != now.UID || old.Generation != now.Generation || now.DeletionTimestamp != nil {
				c.lookAll(now)
			}
		},
		DeleteFunc: func(obj any) {
			if gone, ok := controller.WithoutTombstone[*vmv1alpha1.VirtualMachineImageCache](obj); ok {
				c.lookAll(gone)
			}
		},
	}
}

// waits handles the events of virtual machines: one that begins to wait for copies may know
// that some are gone. What it says anybody may have written who may write it: only a part that
// there is is looked at, so that texts which nobody knows are not kept. A cache that the informer
// has yet to see is looked at when it comes.
func (c *Controller) waits() cache.ResourceEventHandler {
	look := func(vm *vmv1alpha1.VirtualMachine) {
		place, ok := provider.ParseCachePlace(vm.Annotations[vmv1alpha1.AnnotationImageCacheLocation])
		if !ok {
			return
		}
		obj, there, err := c.caches.GetStore().GetByKey(vm.Labels[vmv1alpha1.LabelImageCache])
		if err != nil || !there {
			return
		}
		one := obj.(*vmv1alpha1.VirtualMachineImageCache)
		if p := (part{cache: one.Name, vcenter: place.VCenter}); slices.Contains(partsOf(one), p) {
			c.reconcile.due.doubt(p)
			c.Look(p, 0)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { look(obj.(*vmv1alpha1.VirtualMachine)) },
		UpdateFunc: func(oldObj, obj any) {
			old, now := oldObj.(*vmv1alpha1.VirtualMachine), obj.(*vmv1alpha1.VirtualMachine)
			if old.Labels[vmv1alpha1.LabelImageCache] != now.Labels[vmv1alpha1.LabelImageCache] ||
				old.Annotations[vmv1alpha1.AnnotationImageCacheLocation] != now.Annotations[vmv1alpha1.AnnotationImageCacheLocation] {
				look(now)
			}
		},
	}
}
