// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcequota

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/registry/quota"
)

// Name of the controller in logs, metrics and its queue.
const Name = "resourcequota"

// Deps has the dependencies of the controller. All fields are required except Now.
type Deps struct {
	// Host writes the status of ResourceQuotas.
	Host kubernetes.Interface
	// HostInformers watch ResourceQuotas. Run starts them.
	HostInformers kubeinformers.SharedInformerFactory
	// Informers watch VMs. Run starts them.
	Informers externalversions.SharedInformerFactory
	// Usage counts the used resources of a quota.
	Usage func(*corev1.ResourceQuota) (corev1.ResourceList, error)
	// Now returns the time. The default is time.Now.
	Now func() time.Time
}

// Controller writes the usage of ResourceQuotas.
type Controller struct {
	*controller.Loop[types.NamespacedName]
	quotas corev1listers.ResourceQuotaLister
}

// New returns a controller that does nothing until Run.
func New(d Deps) (*Controller, error) {
	if err := controller.CheckDeps(Name, d, "Now"); err != nil {
		return nil, err
	}
	quotas := d.HostInformers.Core().V1().ResourceQuotas()
	c := &Controller{quotas: quotas.Lister()}
	var err error
	// One worker, because the reconciler has state.
	c.Loop, err = controller.For[types.NamespacedName](Name, d.HostInformers, d.Informers).
		Watches(quotas.Informer(), c.quotaHandler()).
		Watches(d.Informers.Vm().V1alpha1().VirtualMachines().Informer(), c.machineHandler()).
		Reconciler(&reconciler{host: d.Host, quotas: c.quotas, usage: d.Usage, now: controller.Clock(d.Now), excess: map[types.NamespacedName]*observation{}}).
		Build()
	return c, err
}

// quotaHandler returns a handler that enqueues a quota immediately if it has resources that were never counted. Otherwise the
// quota is enqueued after settleTime, once for all charges in that time.
func (c *Controller) quotaHandler() cache.ResourceEventHandler {
	add := func(obj any) {
		if q, ok := controller.WithoutTombstone[*corev1.ResourceQuota](obj); ok {
			after := settleTime
			for _, name := range limited(q) {
				if _, counted := q.Status.Used[name]; !counted {
					after = 0
				}
			}
			c.EnqueueAfter(controller.KeyOf(q), after)
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) }, DeleteFunc: add}
}

// machineHandler returns a handler that enqueues the quotas of a namespace when a VM is deleted, and after settleTime when the
// usage of a VM has changed.
func (c *Controller) machineHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(oldObj, obj any) {
			old, updated := oldObj.(*vmv1alpha1.VirtualMachine), obj.(*vmv1alpha1.VirtualMachine)
			if old.Status.PowerState != updated.Status.PowerState || old.Spec.PowerState != updated.Spec.PowerState ||
				!equality.Semantic.DeepEqual(quota.Basis(old), quota.Basis(updated)) {
				c.enqueueAll(updated.Namespace, settleTime)
			}
		},
		DeleteFunc: func(obj any) {
			if deleted, ok := controller.WithoutTombstone[*vmv1alpha1.VirtualMachine](obj); ok {
				c.enqueueAll(deleted.Namespace, 0)
			}
		},
	}
}

func (c *Controller) enqueueAll(namespace string, after time.Duration) {
	all, err := c.quotas.ResourceQuotas(namespace).List(labels.Everything())
	if err != nil {
		return // a lister returns an error only for a missing index
	}
	for _, q := range all {
		c.EnqueueAfter(controller.KeyOf(q), after)
	}
}
