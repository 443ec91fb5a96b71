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

// workers is the number of caches that are reconciled concurrently, so that a slow vCenter does not delay the others.
const workers = 8

// VCenters gives access to the vCenters in which copies are stored. A vCenter that does not exist belongs to the shard of
// the empty name.
type VCenters interface {
	controller.Shard
	// Files returns the files of a vCenter. The error is a NotUsableError if the vCenter does not exist, and another error
	// if it cannot be used at the moment.
	Files(vcenter string) (Files, error)
	// Hints calls changed for events of operations in all vCenters, and for other events, until ctx is done.
	Hints(ctx context.Context, changed func(provider.Event))
}

// Files reads copies in a vCenter, and runs operations on them.
type Files interface {
	provider.ImageFiles
	provider.ImageOperator
}

// Deps has the dependencies of the controller. All fields are required except Policy and Now.
type Deps struct {
	// Client writes caches.
	Client versioned.Interface
	// Informers watch the kinds of Slipway. New registers the informers that it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// VCenters gives access to the copies.
	VCenters VCenters
	// Recorder records events.
	Recorder events.EventRecorder
	// Policy decides when copies are removed.
	Policy Policy
	// Now returns the time. The default is time.Now.
	Now func() time.Time
}

// part is a queue key: the locations of a cache in one vCenter. With an empty vcenter it is the cache itself, of which only
// the conditions are summarized. With an empty cache it is the sweep of a vCenter.
type part struct{ cache, vcenter string }

// String returns the name for logs.
func (p part) String() string { return p.cache + " in VCenter " + p.vcenter }

// Controller creates and removes the copies of VirtualMachineImageCaches.
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
		due:    &due{next: map[locationKey]time.Time{}}, sweeps: newSweeps(), policy: d.Policy,
		enqueue: func(p part, after time.Duration) { c.EnqueueAfter(p, after) }, names: c.caches.ListKeys,
	}
	var err error
	c.Loop, err = controller.For[part](Name, d.Informers).Workers(workers).
		Watches(caches, c.reconcile.caches.Handler(), controller.HandleChanges(true, c.changed)).
		Watches(vm.VirtualMachines().Informer(), c.vmHandler()).
		Shard(d.VCenters, c.shardGained).
		RunsInParallel(func(ctx context.Context) { d.VCenters.Hints(ctx, c.operationChanged) }).
		Reconciler(c.reconcile).
		Build()
	return c, err
}

// shardGained enqueues everything that may be in a vCenter when this replica begins to own it.
func (c *Controller) shardGained(vcenter string) {
	if vcenter != "" {
		c.EnqueueAfter(sweepPart(vcenter), 0) // the vCenter may have directories of deleted caches
	}
	for _, obj := range c.caches.List() {
		c.enqueueAll(obj.(*vmv1alpha1.VirtualMachineImageCache))
	}
}

// operationChanged enqueues the part of a location whose operation has made progress or has ended.
func (c *Controller) operationChanged(h provider.Event) {
	if h.Key.Kind == provider.KindImageLocation {
		c.EnqueueAfter(partOf(h.Key.Name), 0)
	}
}

func (c *Controller) enqueueAll(obj *vmv1alpha1.VirtualMachineImageCache) {
	for _, p := range partsOf(obj) {
		c.EnqueueAfter(p, 0)
		if p.vcenter != "" {
			c.EnqueueAfter(sweepPart(p.vcenter), 0)
		}
	}
}

// changed enqueues a cache that was created, edited or deleted. It ignores changes of status, which this controller writes.
func (c *Controller) changed(before, now *vmv1alpha1.VirtualMachineImageCache) {
	if before == nil || now == nil || controller.SpecChanged(before, now) {
		c.enqueueAll(cmp.Or(now, before))
	}
}

// vmHandler returns a handler for virtual machines. If a VM begins to wait for copies, files may be missing, so the location
// is checked. Users can write the label and the annotation that name the location. Only an existing part is enqueued, so that
// the queue does not store arbitrary text. A cache that the informer does not have yet is enqueued when it is added.
func (c *Controller) vmHandler() cache.ResourceEventHandler {
	look := func(vm *vmv1alpha1.VirtualMachine) {
		place, ok := provider.ParseCacheLocation(vm.Annotations[vmv1alpha1.AnnotationImageCacheLocation])
		if !ok {
			return
		}
		obj, there, err := c.caches.GetByKey(vm.Labels[vmv1alpha1.LabelImageCache])
		if err != nil || !there {
			return
		}
		one := obj.(*vmv1alpha1.VirtualMachineImageCache)
		if p := (part{cache: one.Name, vcenter: place.VCenter}); slices.Contains(partsOf(one), p) {
			c.reconcile.due.noLaterThan(p, c.reconcile.now().Add(waitingVMInterval))
			c.EnqueueAfter(p, waitingVMInterval)
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
