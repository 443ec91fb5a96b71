// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"cmp"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/priorityqueue"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Name of the controller in logs, metrics and its queue.
const Name = "virtualmachineimage"

// workers is the number of libraries and templates that are read concurrently, so that one which vCenter must fetch first
// does not delay the others.
const workers = 4

// Deps has the dependencies of the controller. All fields are required except Shard and Now.
type Deps struct {
	// Client writes the status of images.
	Client versioned.Interface
	// Informers watch the kinds of Slipway. New registers the informers that it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Images reads libraries and templates in vSphere.
	Images provider.Images
	// Shard reports whether this replica reads vSphere. The default is controller.Undivided.
	Shard controller.Shard
	// Now returns the time. The default is time.Now.
	Now func() time.Time
}

// Controller writes the status of images.
type Controller struct {
	*controller.Loop[source]
	// images are the informers of both kinds.
	images []cache.SharedIndexInformer
	// clearLists removes the lists of libraries from the memory of the reconciler.
	clearLists func()
}

// New returns a controller that does nothing until Run. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if err := controller.CheckDeps(Name, d, "Shard", "Now"); err != nil {
		return nil, err
	}
	vm := d.Informers.Vm().V1alpha1()
	r := &reconciler{
		client: d.Client.VmV1alpha1(), vsphere: d.Images, now: controller.Clock(d.Now),
		shard: cmp.Or[controller.Shard](d.Shard, controller.Undivided{}),
	}
	c := &Controller{clearLists: r.lists.Clear, images: []cache.SharedIndexInformer{vm.VirtualMachineImages().Informer(), vm.ClusterVirtualMachineImages().Informer()}}
	b := controller.For[source](Name, d.Informers).Workers(workers).
		Watches(vm.VCenters().Informer(), c.vcenterHandler()).
		Watches(vm.VirtualMachinePublishRequests().Informer(), c.publishRequestHandler()).
		Reconciler(r)
	for _, images := range c.images {
		b.Index(images, cache.Indexers{indexBySource: sourceIndex}).Watches(images, c.imageHandler())
		r.images = append(r.images, images.GetIndexer())
	}
	var err error
	c.Loop, err = b.Build()
	return c, err
}

// imageHandler returns a handler that enqueues the source of a new image. Updates need no reconcile: spec is immutable, and
// only this controller writes status.
func (c *Controller) imageHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			priority := controller.PriorityDefaultGeneric
			if isInInitialList {
				priority = controller.PriorityDefaultCreate
			}
			if i, ok := imageOf(obj); ok {
				c.Keys.AddWithOpts(priorityqueue.AddOpts{Priority: priority}, sourceOf(&i.Spec))
			}
		},
	}
}

// vcenterHandler returns a handler that enqueues all images when a VCenter becomes Ready or is deleted.
func (c *Controller) vcenterHandler() cache.ResourceEventHandler {
	ready := func(obj any) bool {
		vc, ok := obj.(*vmv1alpha1.VCenter)
		return ok && conditions.IsTrue(vc.Status.Conditions, vmv1alpha1.ConditionReady)
	}
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(old, obj any) {
			if ready(obj) && !ready(old) {
				c.enqueueAll()
			}
		},
		DeleteFunc: func(any) { c.enqueueAll() },
	}
}

func (c *Controller) enqueueAll() {
	c.enqueueImages(func(*vmv1alpha1.VirtualMachineImage) bool { return true })
}

// enqueueImages enqueues the sources of the selected images, and has their libraries listed again.
func (c *Controller) enqueueImages(selected func(*vmv1alpha1.VirtualMachineImage) bool) {
	c.clearLists()
	for _, informer := range c.images {
		for _, obj := range informer.GetStore().List() {
			if i, ok := imageOf(obj); ok && selected(i) {
				c.EnqueueAfter(sourceOf(&i.Spec), 0)
			}
		}
	}
}

// publishRequestHandler returns a handler that enqueues the image of an item of which a request has published a new version.
func (c *Controller) publishRequestHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(oldObj, obj any) {
			old, request := oldObj.(*vmv1alpha1.VirtualMachinePublishRequest), obj.(*vmv1alpha1.VirtualMachinePublishRequest)
			if old.Status.ContentVersion != request.Status.ContentVersion {
				c.enqueueImages(func(i *vmv1alpha1.VirtualMachineImage) bool {
					return i.Labels[vmv1alpha1.LabelContentLibrary] == request.Spec.Target.ContentLibrary &&
						i.Spec.ContentLibrary != nil && i.Spec.ContentLibrary.Item == request.ItemName()
				})
			}
		},
	}
}
