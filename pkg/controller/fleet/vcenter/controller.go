// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

// Name of the controller in logs, metrics and its queue.
const Name = "vcenter"

// workers is the number of vCenters that are reconciled concurrently, so that a vCenter that does not answer does not delay the
// others.
const workers = 8

// VCenters manages the vCenters in use. Calls for the same name do not overlap. Bind contends for the Lease of the vCenter.
type VCenters interface {
	controller.Shard
	// Leave ends the use of a vCenter and releases its Lease.
	Leave(ctx context.Context, name string) error
	// Use connects to the vCenter that obj describes, or the flags if obj is nil. If neither describes it, the use ends. Use
	// waits until the previous use has ended. It does nothing if the description is unchanged. An error is about the
	// description.
	Use(ctx context.Context, name string, obj *vmv1alpha1.VCenter) error
	// Observe returns the observed state of a vCenter in use.
	Observe(ctx context.Context, name string) Observation
	// Described reports whether the flags describe a vCenter.
	Described(name string) bool
	// InUse returns a description of the objects in a vCenter. It is empty if there are none. It returns an error if they are
	// not known.
	InUse(name string) (string, error)
}

// Observation is the observed state of a vCenter.
type Observation struct {
	// Status has no conditions. Unknown fields are zero.
	Status vmv1alpha1.VCenterStatus
	// Connected is the error of the connection, or nil; Reason is the reason for its condition. Ready is the error for which
	// the vCenter cannot be used, or nil.
	Connected, Ready error
	Reason           string
	// Skew is a warning about the difference of the clocks, or empty.
	Skew string
}

// Deps has the dependencies of the controller. All fields are required except Now.
type Deps struct {
	// Client writes VCenters.
	Client versioned.Interface
	// Informers watch the kinds of Slipway. New registers the informers that it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// VCenters manages the connections.
	VCenters VCenters
	// Now returns the time for conditions. The default is time.Now.
	Now func() time.Time
}

// Controller connects to vCenters and writes the status of VCenters.
type Controller struct {
	*controller.Loop[types.NamespacedName]
}

// New returns a controller that does nothing until Run. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if err := controller.CheckDeps(Name, d, "Now"); err != nil {
		return nil, err
	}
	c, vcenters := &Controller{}, d.Informers.Vm().V1alpha1().VCenters().Informer()
	store := controller.NewStore[*vmv1alpha1.VCenter](vcenters, false)
	var err error
	c.Loop, err = controller.For[types.NamespacedName](Name, d.Informers).Workers(workers).
		Watches(vcenters, store.Handler(), controller.HandleChanges(true, c.changed)).
		Shard(d.VCenters, c.enqueue).
		// The default vCenter is reconciled without an object too, because the flags may describe it.
		RunsInParallel(func(context.Context) { c.enqueue(vmv1alpha1.DefaultVCenter) }).
		Reconciler(&reconciler{client: d.Client.VmV1alpha1().VCenters(), vcenters: store, manager: d.VCenters, now: controller.Clock(d.Now)}).
		Build()
	return c, err
}

func (c *Controller) enqueue(name string) {
	if name != "" {
		c.EnqueueAfter(types.NamespacedName{Name: name}, 0)
	}
}

// changed enqueues a VCenter that was created, edited or deleted. It ignores changes of status, which this controller writes.
func (c *Controller) changed(before, now *vmv1alpha1.VCenter) {
	if before == nil || now == nil || controller.SpecChanged(before, now) || len(before.Finalizers) != len(now.Finalizers) {
		c.enqueue(cmp.Or(now, before).Name)
	}
}
