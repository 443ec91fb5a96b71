// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Name of the controller in logs, metrics and its queue.
const Name = "contentlibrary"

// workers is how many libraries are listed at the same time: a large one must not keep the
// others waiting.
const workers = 4

// Deps is what the controller needs; all are required but Bind and Now.
type Deps struct {
	// Client writes images and ContentLibraries.
	Client versioned.Interface
	// Informers watch our kinds. New registers what it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Images tells what vSphere has.
	Images provider.Images
	// Bind, if set, waits until there may be a pass, and returns the context for it. An
	// error, if not that of ctx, means that vSphere is another process's to ask.
	Bind func(ctx context.Context) (context.Context, error)
	// Now is the clock of conditions; time.Now when nil.
	Now func() time.Time
}

type loop = controller.Loop[types.NamespacedName]

// Controller keeps the images of content libraries.
type Controller struct {
	loop
	deps      Deps
	reconcile *reconciler
	libraries cache.SharedIndexInformer
	// images are the informers of both kinds.
	images []cache.SharedIndexInformer
}

// New makes a controller that does nothing until Run, and registers the informers that it
// needs. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if d.Client == nil || d.Informers == nil || d.Images == nil {
		return nil, errors.New("content library controller: client, informers and images are required")
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Bind == nil {
		d.Bind = func(ctx context.Context) (context.Context, error) { return ctx, nil }
	}
	vm := d.Informers.Vm().V1alpha1()
	c := &Controller{
		deps: d, libraries: vm.ContentLibraries().Informer(),
		images: []cache.SharedIndexInformer{vm.VirtualMachineImages().Informer(), vm.ClusterVirtualMachineImages().Informer()},
	}
	machines := vm.VirtualMachines()
	c.reconcile = &reconciler{
		client: d.Client.VmV1alpha1(), vsphere: d.Images, bind: d.Bind, now: d.Now,
		libraries: controller.NewStore[*vmv1alpha1.ContentLibrary](c.libraries, false),
		images:    vm.VirtualMachineImages().Lister(), cluster: vm.ClusterVirtualMachineImages().Lister(),
		machines: machines.Lister(), read: machines.Informer().HasSynced,
	}
	c.loop = controller.NewLoop(controller.NewQueue(Name, controller.QueueOptions{}), controller.Options[types.NamespacedName]{
		Name: Name, Workers: workers, Reconciler: c.reconcile,
	})
	return c, nil
}

// Run starts the informers and reconciles until ctx is done. It returns when all that it
// started has ended, with an error when the caches could not be filled. It must be called
// at most once.
func (c *Controller) Run(ctx context.Context) error {
	sources := []controller.Source{
		{Informer: c.libraries, Handler: c.reconcile.libraries.Handler()},
		{Informer: c.libraries, Handler: c.changed()},
	}
	requests := c.deps.Informers.Vm().V1alpha1().VirtualMachinePublishRequests().Informer()
	sources = append(sources, controller.Source{Informer: requests, Handler: c.published()})
	for _, informer := range c.images {
		sources = append(sources, controller.Source{Informer: informer, Handler: c.made()})
	}
	if err := controller.Fill(ctx, Name, c.deps.Informers, sources...); err != nil {
		return err
	}
	c.loop.Run(ctx)
	return nil
}

func (c *Controller) look(name string, after time.Duration) {
	c.Look(types.NamespacedName{Name: name}, after)
}

// changed handles the events of ContentLibraries. What only status says was written here.
func (c *Controller) changed() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { c.look(obj.(*vmv1alpha1.ContentLibrary).Name, 0) },
		UpdateFunc: func(oldObj, obj any) {
			old, library := oldObj.(*vmv1alpha1.ContentLibrary), obj.(*vmv1alpha1.ContentLibrary)
			if old.UID != library.UID || old.Generation != library.Generation || library.DeletionTimestamp != nil {
				c.look(library.Name, 0)
			}
		},
	}
}

// made handles the events of images: one that was deleted by hand comes back, and one that
// was described gets its labels. Both wait, for a library has many.
func (c *Controller) made() cache.ResourceEventHandler {
	look := func(obj any) {
		if image, ok := obj.(metav1.Object); ok && image.GetLabels()[vmv1alpha1.LabelContentLibrary] != "" {
			c.look(image.GetLabels()[vmv1alpha1.LabelContentLibrary], settle)
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
