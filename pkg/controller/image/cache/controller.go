// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Name of the controller in logs, metrics and its queue.
const Name = "virtualmachineimagecache"

// workers is how many caches are looked at at the same time: one that a vCenter is slow to
// answer for must not keep the others waiting.
const workers = 8

// VCenters are those that copies are in. The shard of a vCenter that does not exist is that of no vCenter.
type VCenters interface {
	controller.Shard
	// Files keeps the copies in a vCenter. The error is a NotUsableError if there is no such
	// vCenter, and any other if it cannot be used now.
	Files(vcenter string) (Files, error)
	// Hints calls changed for the operations of all, among others, until ctx is done.
	Hints(ctx context.Context, changed func(provider.Hint))
}

// Files reads copies in a vCenter, and runs operations on them.
type Files interface {
	provider.ImageFiles
	provider.ImageOperator
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

// Controller keeps the copies of VirtualMachineImageCaches.
type Controller struct {
	*controller.Loop[part]
	reconcile *reconciler
	caches    cache.Store
}

// New returns a controller that does nothing until Run. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if err := controller.CheckDeps(Name, d, "Now"); err != nil {
		return nil, err
	}
	vm := d.Informers.Vm().V1alpha1()
	caches := vm.VirtualMachineImageCaches().Informer()
	c := &Controller{caches: caches.GetStore()}
	c.reconcile = &reconciler{
		client: d.Client.VmV1alpha1().VirtualMachineImageCaches(), vcenters: d.VCenters, recorder: d.Recorder, now: controller.Clock(d.Now),
		caches: controller.NewStore[*vmv1alpha1.VirtualMachineImageCache](caches, false),
		due:    &due{next: map[spot]time.Time{}}, sweeps: newSweeps(), policy: d.Policy,
		look: func(p part, after time.Duration) { c.Look(p, after) }, names: c.caches.ListKeys,
	}
	var err error
	c.Loop, err = controller.For[part](Name, d.Informers).Workers(workers).
		Watches(caches, c.reconcile.caches.Handler(), controller.Changes(true, c.changed)).
		Watches(vm.VirtualMachines().Informer(), c.waits()).
		Shard(d.VCenters, c.gained).
		Runs(func(ctx context.Context) { d.VCenters.Hints(ctx, c.hinted) }).
		Reconciler(c.reconcile).
		Build()
	return c, err
}

// gained queues everything that may be in a vCenter.
func (c *Controller) gained(vcenter string) {
	if vcenter != "" {
		c.Look(sweepOf(vcenter), 0) // there may be directories that no cache is left of
	}
	for _, obj := range c.caches.List() {
		c.lookAll(obj.(*vmv1alpha1.VirtualMachineImageCache))
	}
}

// hinted queues the part of a location whose operation has made progress or has ended.
func (c *Controller) hinted(h provider.Hint) {
	if h.Key.Kind == provider.KindImageLocation {
		c.Look(partOf(h.Key.Name), 0)
	}
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
func (c *Controller) changed(was, now *vmv1alpha1.VirtualMachineImageCache) {
	if was == nil || now == nil || controller.Edited(was, now) {
		c.lookAll(cmp.Or(now, was))
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
		obj, there, err := c.caches.GetByKey(vm.Labels[vmv1alpha1.LabelImageCache])
		if err != nil || !there {
			return
		}
		one := obj.(*vmv1alpha1.VirtualMachineImageCache)
		if p := (part{cache: one.Name, vcenter: place.VCenter}); slices.Contains(partsOf(one), p) {
			c.reconcile.due.noLaterThan(p, c.reconcile.now().Add(doubtInterval))
			c.Look(p, doubtInterval)
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
