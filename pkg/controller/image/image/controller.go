// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"fmt"
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

// Deps is what the controller needs; all are required but Bind and Now.
type Deps struct {
	// Client writes the status of images.
	Client versioned.Interface
	// Informers watch our kinds. New registers what it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Images tells what vSphere has.
	Images provider.Images
	// Bind, if set, waits until there may be a pass, and returns the context for it. An
	// error, if not that of ctx, means that vSphere is another process's to ask.
	Bind func(ctx context.Context) (context.Context, error)
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

type loop = controller.Loop[place]

// Controller writes the status of images.
type Controller struct {
	loop
	deps Deps
	// images are the informers of both kinds.
	images   []cache.SharedIndexInformer
	vcenters cache.SharedIndexInformer
	// again forgets what libraries had.
	again func()
}

// New makes a controller that does nothing until Run, and registers the informers and
// indexes that it needs. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if d.Client == nil || d.Informers == nil || d.Images == nil {
		return nil, errors.New("image controller: client, informers and images are required")
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Bind == nil {
		d.Bind = func(ctx context.Context) (context.Context, error) { return ctx, nil }
	}
	vm := d.Informers.Vm().V1alpha1()
	c := &Controller{
		deps: d, vcenters: vm.VCenters().Informer(),
		images: []cache.SharedIndexInformer{vm.VirtualMachineImages().Informer(), vm.ClusterVirtualMachineImages().Informer()},
	}
	r := &reconciler{client: d.Client.VmV1alpha1(), vsphere: d.Images, bind: d.Bind, now: d.Now}
	for _, informer := range c.images {
		if err := informer.AddIndexers(cache.Indexers{indexByPlace: byPlace}); err != nil {
			return nil, fmt.Errorf("indexing images: %w", err)
		}
		r.images = append(r.images, informer.GetIndexer())
	}
	c.again = r.lists.Clear
	places := priorityqueue.New(Name, priorityqueue.WithRateLimiter(controller.NewRateLimiter[place]()))
	c.loop = controller.NewLoop(places, controller.Options[place]{Name: Name, Workers: workers, Reconciler: r})
	return c, nil
}

// Run starts the informers and reconciles until ctx is done. It returns when all that it
// started has ended, with an error when the caches could not be filled. It must be called
// at most once.
func (c *Controller) Run(ctx context.Context) error {
	var sources []controller.Source
	for _, informer := range c.images {
		sources = append(sources, controller.Source{Informer: informer, Handler: c.handler()})
	}
	sources = append(sources,
		controller.Source{Informer: c.vcenters, Handler: c.followVCenters()},
		controller.Source{Informer: c.deps.Informers.Vm().V1alpha1().VirtualMachinePublishRequests().Informer(), Handler: c.published()})
	if err := controller.Fill(ctx, Name, c.deps.Informers, sources...); err != nil {
		return err
	}
	c.loop.Run(ctx)
	return nil
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
