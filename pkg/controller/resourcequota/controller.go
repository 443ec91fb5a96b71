// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcequota

import (
	"context"
	"errors"
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

// Deps is what the controller needs; all are required but Now.
type Deps struct {
	// Host writes the status of ResourceQuotas.
	Host kubernetes.Interface
	// HostInformers watch ResourceQuotas. Run starts them.
	HostInformers kubeinformers.SharedInformerFactory
	// Informers watch virtual machines. Run starts them.
	Informers externalversions.SharedInformerFactory
	// Usage counts what is used of a quota.
	Usage func(*corev1.ResourceQuota) (corev1.ResourceList, error)
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

type loop = controller.Loop[types.NamespacedName]

// Controller counts what is used.
type Controller struct {
	loop
	deps     Deps
	quotas   cache.SharedIndexInformer
	lister   corev1listers.ResourceQuotaLister
	machines cache.SharedIndexInformer
}

// New makes a controller that does nothing until Run.
func New(d Deps) (*Controller, error) {
	if d.Host == nil || d.HostInformers == nil || d.Informers == nil || d.Usage == nil {
		return nil, errors.New("ResourceQuota controller: host, both informers and usage are required")
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	quotas := d.HostInformers.Core().V1().ResourceQuotas()
	c := &Controller{
		deps:   d,
		quotas: quotas.Informer(), lister: quotas.Lister(),
		machines: d.Informers.Vm().V1alpha1().VirtualMachines().Informer(),
	}
	// One worker: the reconciler remembers, and a pass writes to the host cluster once.
	c.loop = controller.NewLoop(controller.NewQueue(Name, controller.QueueOptions{}), controller.Options[types.NamespacedName]{
		Name: Name, Workers: 1,
		Reconciler: &reconciler{host: d.Host, quotas: c.lister, usage: d.Usage, now: d.Now, seen: map[types.NamespacedName]*seen{}},
	})
	return c, nil
}

// Run starts the informers and reconciles until ctx is done. It returns when all that it
// started has ended, with an error when the caches could not be filled. It must be called
// at most once.
func (c *Controller) Run(ctx context.Context) error {
	c.deps.HostInformers.StartWithContext(ctx)
	err := controller.Fill(ctx, Name, c.deps.Informers,
		controller.Source{Informer: c.quotas, Handler: c.quotaHandler()},
		controller.Source{Informer: c.machines, Handler: c.machineHandler()},
	)
	if err != nil {
		return err
	}
	c.loop.Run(ctx)
	return nil
}

// quotaHandler queues a quota that is new or has resources that were never counted at
// once, and any other some time after it was charged, once for all charges of that time.
func (c *Controller) quotaHandler() cache.ResourceEventHandler {
	add := func(obj any) {
		if q, ok := controller.WithoutTombstone[*corev1.ResourceQuota](obj); ok {
			after := settleTime
			for _, name := range limited(q) {
				if _, counted := q.Status.Used[name]; !counted {
					after = 0
				}
			}
			c.Look(controller.KeyOf(q), after)
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) }, DeleteFunc: add}
}

// machineHandler queues the quotas of a namespace when something may be free again, and
// some time after what is charged has changed by other ways than a request.
func (c *Controller) machineHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(oldObj, obj any) {
			old, updated := oldObj.(*vmv1alpha1.VirtualMachine), obj.(*vmv1alpha1.VirtualMachine)
			if old.Status.PowerState != updated.Status.PowerState || old.Spec.PowerState != updated.Spec.PowerState ||
				!equality.Semantic.DeepEqual(quota.Basis(old), quota.Basis(updated)) {
				c.addAll(updated.Namespace, settleTime)
			}
		},
		DeleteFunc: func(obj any) {
			if gone, ok := controller.WithoutTombstone[*vmv1alpha1.VirtualMachine](obj); ok {
				c.addAll(gone.Namespace, 0)
			}
		},
	}
}

func (c *Controller) addAll(namespace string, after time.Duration) {
	all, err := c.lister.ResourceQuotas(namespace).List(labels.Everything())
	if err != nil {
		return // only for an index that does not exist
	}
	for _, q := range all {
		c.Look(controller.KeyOf(q), after)
	}
}
