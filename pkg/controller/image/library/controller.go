// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	vmlisters "github.com/slipway-dev/slipway/pkg/generated/listers/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Name of the controller in logs, metrics and its queue.
const Name = "contentlibrary"

// workers is the number of libraries that are listed concurrently, so that a large library does not delay the others.
const workers = 4

// Deps has the dependencies of the controller. All fields are required except Shard and Now.
type Deps struct {
	// Client writes images and ContentLibraries.
	Client versioned.Interface
	// Informers watch the kinds of Slipway. New registers the informers that it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Images lists the items of content libraries in vSphere.
	Images provider.Images
	// Shard reports whether this replica reads vSphere. The default is controller.Undivided.
	Shard controller.Shard
	// Now returns the time for conditions. The default is time.Now.
	Now func() time.Time
}

// Controller creates, updates and deletes the images of content libraries.
type Controller struct {
	*controller.Loop[types.NamespacedName]
	reconcile *reconciler
	lister    vmlisters.ContentLibraryLister
}

// New returns a controller that does nothing until Run. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if err := controller.CheckDeps(Name, d, "Shard", "Now"); err != nil {
		return nil, err
	}
	vm := d.Informers.Vm().V1alpha1()
	libraries := vm.ContentLibraries().Informer()
	c := &Controller{lister: vm.ContentLibraries().Lister(), reconcile: &reconciler{
		client: d.Client.VmV1alpha1(), vsphere: d.Images, shard: cmp.Or[controller.Shard](d.Shard, controller.Undivided{}), now: controller.Clock(d.Now),
		libraries: controller.NewStore[*vmv1alpha1.ContentLibrary](libraries, false),
		images:    vm.VirtualMachineImages().Lister(), cluster: vm.ClusterVirtualMachineImages().Lister(),
		machines: vm.VirtualMachines().Lister(), machinesSynced: vm.VirtualMachines().Informer().HasSynced,
	}}
	var err error
	c.Loop, err = controller.For[types.NamespacedName](Name, d.Informers).Workers(workers).
		Watches(libraries, c.reconcile.libraries.Handler(), controller.HandleChanges(true, c.changed)).
		Watches(vm.VirtualMachinePublishRequests().Informer(), c.publishRequestHandler()).
		Watches(vm.VCenters().Informer(), controller.HandleChanges(false, c.vcenterChanged)).
		Watches(vm.VirtualMachineImages().Informer(), c.imageHandler()).
		Watches(vm.ClusterVirtualMachineImages().Informer(), c.imageHandler()).
		Reconciler(c.reconcile).
		Build()
	return c, err
}

// vcenterChanged enqueues all libraries when a VCenter is added, changed or deleted, or when its condition Ready changes.
func (c *Controller) vcenterChanged(before, now *vmv1alpha1.VCenter) {
	if before != nil && now != nil && before.Generation == now.Generation &&
		conditions.IsTrue(before.Status.Conditions, vmv1alpha1.ConditionReady) == conditions.IsTrue(now.Status.Conditions, vmv1alpha1.ConditionReady) {
		return
	}
	all, err := c.lister.List(labels.Everything())
	if err != nil {
		return // a lister's cache does not return errors
	}
	for _, library := range all {
		c.enqueueLibrary(library.Name, 0)
	}
}

func (c *Controller) enqueueLibrary(name string, after time.Duration) {
	c.EnqueueAfter(types.NamespacedName{Name: name}, after)
}

// changed enqueues a ContentLibrary that was created or edited. It ignores changes of status, which this controller writes.
func (c *Controller) changed(before, now *vmv1alpha1.ContentLibrary) {
	if now != nil && (before == nil || controller.SpecChanged(before, now)) {
		c.enqueueLibrary(now.Name, 0)
	}
}

// imageHandler returns a handler that enqueues the library of an image when the image is deleted, so that it is created
// again, and when its guest operating system becomes known, so that it is labelled. Both are delayed, because listing a
// library takes one call for each item.
func (c *Controller) imageHandler() cache.ResourceEventHandler {
	enqueueLibrary := func(obj any) {
		if image, ok := obj.(metav1.Object); ok && image.GetLabels()[vmv1alpha1.LabelContentLibrary] != "" {
			c.enqueueLibrary(image.GetLabels()[vmv1alpha1.LabelContentLibrary], controller.Poll)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(oldObj, obj any) {
			if guestOf(oldObj) != guestOf(obj) {
				enqueueLibrary(obj)
			}
		},
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			enqueueLibrary(obj)
		},
	}
}

// publishRequestHandler returns a handler that enqueues a library immediately when a publish request has added an item.
func (c *Controller) publishRequestHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(oldObj, obj any) {
			old, request := oldObj.(*vmv1alpha1.VirtualMachinePublishRequest), obj.(*vmv1alpha1.VirtualMachinePublishRequest)
			if old.Status.ItemID != request.Status.ItemID && request.Status.ItemID != "" {
				c.enqueueLibrary(request.Spec.Target.ContentLibrary, 0)
			}
		},
	}
}

func guestOf(obj any) string {
	switch i := obj.(type) {
	case *vmv1alpha1.VirtualMachineImage:
		return i.Status.GuestID
	case *vmv1alpha1.ClusterVirtualMachineImage:
		return i.Status.GuestID
	}
	return ""
}
