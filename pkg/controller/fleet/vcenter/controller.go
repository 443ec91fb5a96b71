// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

// Name of the controller in logs, metrics and its queue.
const Name = "vcenter"

// workers is how many vCenters are looked at at the same time: one that is silent, or
// whose operations take time to end, must not keep the others waiting.
const workers = 8

// VCenters are those that are in use. Calls about one of a name do not overlap.
type VCenters interface {
	// Bind contends for the vCenter of a name, of which one process takes care at a time,
	// waits until there may be a pass over it, and returns the context for that. An error, if
	// it is not that of ctx, means that the vCenter is another process's.
	Bind(ctx context.Context, name string) (context.Context, error)
	// Leave ends the use of the vCenter of a name, and contends for it no longer.
	Leave(ctx context.Context, name string) error
	// Watch calls gained with the name of every vCenter that is or becomes this process's,
	// until ctx is done. One may come more than once. gained must not block.
	Watch(ctx context.Context, gained func(name string))
	// Use makes the vCenter of a name the one that obj describes, or the flags when obj
	// is nil, or none. It waits until the one before has ended, and does nothing when that
	// is described alike. The error is about what obj says.
	Use(ctx context.Context, name string, obj *vmv1alpha1.VCenter) error
	// Observe tells what is seen of the one in use.
	Observe(ctx context.Context, name string) Observation
	// Described is true if the flags describe the vCenter of a name.
	Described(name string) bool
	// InUse tells what would be without the vCenter of a name, in words, empty for nothing.
	// It is an error if that cannot be known.
	InUse(name string) (string, error)
}

// Observation is what is seen of a vCenter.
type Observation struct {
	// Status without conditions. What is not known is zero.
	Status vmv1alpha1.VCenterStatus
	// Connected is why there is no connection, with the reason for its condition; nil
	// while there is one. Ready is why the vCenter cannot be worked with.
	Connected, Ready error
	Reason           string
	// Skew describes clocks that are too far apart, empty if they are not.
	Skew string
}

// Deps is what the controller needs; all but Now are required.
type Deps struct {
	// Client writes VCenters.
	Client versioned.Interface
	// Informers watch our kinds. New registers what it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// VCenters are changed as objects say.
	VCenters VCenters
	// Now is the clock of conditions; time.Now when nil.
	Now func() time.Time
}

type loop = controller.Loop[types.NamespacedName]

// Controller keeps the vCenters that are in use.
type Controller struct {
	loop
	deps     Deps
	vcenters controller.Store[*vmv1alpha1.VCenter]
	informer cache.SharedIndexInformer
}

// New makes a controller that does nothing until Run, and registers the informers that it
// needs. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if d.Client == nil || d.Informers == nil || d.VCenters == nil {
		return nil, errors.New("vCenter controller: client, informers and vCenters are required")
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	informers := d.Informers.Vm().V1alpha1()
	c := &Controller{deps: d, informer: informers.VCenters().Informer()}
	c.vcenters = controller.NewStore[*vmv1alpha1.VCenter](c.informer, false)
	c.loop = controller.NewLoop(controller.NewQueue(Name, controller.QueueOptions{}), controller.Options[types.NamespacedName]{Name: Name, Workers: workers, Reconciler: &reconciler{
		client: d.Client.VmV1alpha1().VCenters(), vcenters: c.vcenters, uses: d.VCenters, now: d.Now,
	}})
	return c, nil
}

// Run starts the informers and reconciles until ctx is done. It returns when all that it
// started has ended, with an error when the caches could not be filled. It must be
// called at most once.
func (c *Controller) Run(ctx context.Context) error {
	err := controller.Fill(ctx, Name, c.deps.Informers,
		controller.Source{Informer: c.informer, Handler: c.vcenters.Handler()},
		controller.Source{Informer: c.informer, Handler: c.changed()},
	)
	if err != nil {
		return err
	}
	// Without an object too something is to be used, or it is to be known that there is none.
	c.Look(types.NamespacedName{Name: vmv1alpha1.DefaultVCenter}, 0)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		c.deps.VCenters.Watch(ctx, func(name string) { c.Look(types.NamespacedName{Name: name}, 0) })
	})
	c.loop.Run(ctx)
	return nil
}

// changed handles the events of VCenters. What only status says was written here.
func (c *Controller) changed() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { c.Look(controller.KeyOf(obj.(*vmv1alpha1.VCenter)), 0) },
		UpdateFunc: func(oldObj, obj any) {
			old, vc := oldObj.(*vmv1alpha1.VCenter), obj.(*vmv1alpha1.VCenter)
			if old.UID != vc.UID || old.Generation != vc.Generation || vc.DeletionTimestamp != nil || len(old.Finalizers) != len(vc.Finalizers) {
				c.Look(controller.KeyOf(vc), 0)
			}
		},
		DeleteFunc: func(obj any) {
			if gone, ok := controller.WithoutTombstone[*vmv1alpha1.VCenter](obj); ok {
				c.Look(controller.KeyOf(gone), 0)
			}
		},
	}
}
