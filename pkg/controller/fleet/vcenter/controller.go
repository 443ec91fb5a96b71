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

// workers is how many vCenters are looked at at the same time: one that is silent, or
// whose operations take time to end, must not keep the others waiting.
const workers = 8

// VCenters are those that are in use. Calls about one of a name do not overlap. Bind contends for the vCenter.
type VCenters interface {
	controller.Shard
	// Leave ends the use of the vCenter of a name, and contends for it no longer.
	Leave(ctx context.Context, name string) error
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

// Controller keeps the vCenters that are in use.
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
		Watches(vcenters, store.Handler(), controller.Changes(true, c.changed)).
		Shard(d.VCenters, c.look).
		// Without an object too something is to be used, or it is to be known that there is none.
		Runs(func(context.Context) { c.look(vmv1alpha1.DefaultVCenter) }).
		Reconciler(&reconciler{client: d.Client.VmV1alpha1().VCenters(), vcenters: store, uses: d.VCenters, now: controller.Clock(d.Now)}).
		Build()
	return c, err
}

func (c *Controller) look(name string) {
	if name != "" {
		c.Look(types.NamespacedName{Name: name}, 0)
	}
}

// changed handles the events of VCenters. What only status says was written here.
func (c *Controller) changed(was, now *vmv1alpha1.VCenter) {
	if was == nil || now == nil || controller.Edited(was, now) || len(was.Finalizers) != len(now.Finalizers) {
		c.look(cmp.Or(now, was).Name)
	}
}
