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

// workers is how many libraries are listed at the same time: a large one must not keep the
// others waiting.
const workers = 4

// Deps is what the controller needs; all are required but Shard and Now.
type Deps struct {
	// Client writes images and ContentLibraries.
	Client versioned.Interface
	// Informers watch our kinds. New registers what it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Images tells what vSphere has.
	Images provider.Images
	// Shard says whether this replica reads vSphere; controller.Undivided when nil.
	Shard controller.Shard
	// Now is the clock of conditions; time.Now when nil.
	Now func() time.Time
}

// Controller keeps the images of content libraries.
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
		machines: vm.VirtualMachines().Lister(), read: vm.VirtualMachines().Informer().HasSynced,
	}}
	var err error
	c.Loop, err = controller.For[types.NamespacedName](Name, d.Informers).Workers(workers).
		Watches(libraries, c.reconcile.libraries.Handler(), controller.Changes(true, c.changed)).
		Watches(vm.VirtualMachinePublishRequests().Informer(), c.published()).
		Watches(vm.VCenters().Informer(), controller.Changes(false, c.vcenterChanged)).
		Watches(vm.VirtualMachineImages().Informer(), c.made()).
		Watches(vm.ClusterVirtualMachineImages().Informer(), c.made()).
		Reconciler(c.reconcile).
		Build()
	return c, err
}

// vcenterChanged handles the events of VCenters: one that becomes reachable or unreachable, is added or deleted,
// changes what is known of every library.
func (c *Controller) vcenterChanged(was, now *vmv1alpha1.VCenter) {
	if was != nil && now != nil && was.Generation == now.Generation &&
		conditions.IsTrue(was.Status.Conditions, vmv1alpha1.ConditionReady) == conditions.IsTrue(now.Status.Conditions, vmv1alpha1.ConditionReady) {
		return
	}
	all, err := c.lister.List(labels.Everything())
	if err != nil {
		return // a cache does not fail
	}
	for _, library := range all {
		c.look(library.Name, 0)
	}
}

func (c *Controller) look(name string, after time.Duration) {
	c.Look(types.NamespacedName{Name: name}, after)
}

// changed handles the events of ContentLibraries. What only status says was written here.
func (c *Controller) changed(was, now *vmv1alpha1.ContentLibrary) {
	if now != nil && (was == nil || controller.Edited(was, now)) {
		c.look(now.Name, 0)
	}
}

// made handles the events of images: one that was deleted by hand comes back, and one that
// was described gets its labels. Both wait, for a library has many, and a list takes one call
// for each item.
func (c *Controller) made() cache.ResourceEventHandler {
	look := func(obj any) {
		if image, ok := obj.(metav1.Object); ok && image.GetLabels()[vmv1alpha1.LabelContentLibrary] != "" {
			c.look(image.GetLabels()[vmv1alpha1.LabelContentLibrary], controller.Poll)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(oldObj, obj any) {
			if guestOf(oldObj) != guestOf(obj) {
				look(obj)
			}
		},
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			look(obj)
		},
	}
}

// published handles the events of requests to publish: a library that has got an item is
// listed at once.
func (c *Controller) published() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(oldObj, obj any) {
			old, request := oldObj.(*vmv1alpha1.VirtualMachinePublishRequest), obj.(*vmv1alpha1.VirtualMachinePublishRequest)
			if old.Status.ItemID != request.Status.ItemID && request.Status.ItemID != "" {
				c.look(request.Spec.Target.ContentLibrary, 0)
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
