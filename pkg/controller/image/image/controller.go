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

// workers is how many libraries and templates are looked at at the same time: one that
// vCenter has to fetch first must not keep the others waiting.
const workers = 4

// Deps is what the controller needs; all are required but Shard and Now.
type Deps struct {
	// Client writes the status of images.
	Client versioned.Interface
	// Informers watch our kinds. New registers what it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Images tells what vSphere has.
	Images provider.Images
	// Shard says whether this replica reads vSphere; controller.Undivided when nil.
	Shard controller.Shard
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Controller writes the status of images.
type Controller struct {
	*controller.Loop[place]
	// images are the informers of both kinds.
	images []cache.SharedIndexInformer
	// again forgets what libraries had.
	again func()
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
	c := &Controller{again: r.lists.Clear, images: []cache.SharedIndexInformer{vm.VirtualMachineImages().Informer(), vm.ClusterVirtualMachineImages().Informer()}}
	b := controller.For[place](Name, d.Informers).Workers(workers).
		Watches(vm.VCenters().Informer(), c.followVCenters()).
		Watches(vm.VirtualMachinePublishRequests().Informer(), c.published()).
		Reconciler(r)
	for _, images := range c.images {
		b.Index(images, cache.Indexers{indexByPlace: byPlace}).Watches(images, c.handler())
		r.images = append(r.images, images.GetIndexer())
	}
	var err error
	c.Loop, err = b.Build()
	return c, err
}

// handler queues the place of an image that is new. Nothing else that happens to one
// concerns vSphere: its spec is immutable, and its status is ours.
func (c *Controller) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			priority := controller.PriorityDefaultGeneric
			if isInInitialList {
				priority = controller.PriorityDefaultCreate
			}
			if i, ok := imageOf(obj); ok {
				c.Keys.AddWithOpts(priorityqueue.AddOpts{Priority: priority}, placeOf(&i.Spec))
			}
		},
	}
}

// followVCenters looks at all images when a vCenter can be asked that could not, or is gone.
func (c *Controller) followVCenters() cache.ResourceEventHandler {
	ready := func(obj any) bool {
		vc, ok := obj.(*vmv1alpha1.VCenter)
		return ok && conditions.IsTrue(vc.Status.Conditions, vmv1alpha1.ConditionReady)
	}
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(old, obj any) {
			if ready(obj) && !ready(old) {
				c.lookAtAll()
			}
		},
		DeleteFunc: func(any) { c.lookAtAll() },
	}
}

func (c *Controller) lookAtAll() {
	c.lookAt(func(*vmv1alpha1.VirtualMachineImage) bool { return true })
}

// lookAt looks at images anew, whenever their libraries were listed last.
func (c *Controller) lookAt(wanted func(*vmv1alpha1.VirtualMachineImage) bool) {
	c.again()
	for _, informer := range c.images {
		for _, obj := range informer.GetStore().List() {
			if i, ok := imageOf(obj); ok && wanted(i) {
				c.Look(placeOf(&i.Spec), 0)
			}
		}
	}
}

// published looks at the image of an item that has got another version by a request.
func (c *Controller) published() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(oldObj, obj any) {
			old, request := oldObj.(*vmv1alpha1.VirtualMachinePublishRequest), obj.(*vmv1alpha1.VirtualMachinePublishRequest)
			if old.Status.ContentVersion != request.Status.ContentVersion {
				c.lookAt(func(i *vmv1alpha1.VirtualMachineImage) bool {
					return i.Labels[vmv1alpha1.LabelContentLibrary] == request.Spec.Target.ContentLibrary &&
						i.Spec.ContentLibrary != nil && i.Spec.ContentLibrary.Item == request.ItemName()
				})
			}
		},
	}
}
