// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"cmp"
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Name of the controller in logs, metrics and its queue.
const Name = "virtualmachinepublishrequest"

// workers is the number of requests that are reconciled concurrently.
const workers = 4

// Provider publishes VMs and reports events of requests and VMs.
type Provider interface {
	provider.Publisher
	Watch(ctx context.Context, changed func(provider.Event))
}

// Deps has the dependencies of the controller. All fields are required except Shard and Now.
type Deps struct {
	// Client writes requests.
	Client versioned.Interface
	// Informers watch the kinds of Slipway. New registers the informers that it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Provider publishes VMs.
	Provider Provider
	// NamespaceLabels returns the labels of a namespace, or nil if they are not known.
	NamespaceLabels func(namespace string) map[string]string
	// Recorder writes events.k8s.io events.
	Recorder events.EventRecorder
	// Shard divides requests by the vCenters of their libraries. The default is controller.Undivided.
	Shard controller.Shard
	// Now returns the time for conditions. The default is time.Now.
	Now func() time.Time
}

type request = vmv1alpha1.VirtualMachinePublishRequest

// Controller publishes virtual machines.
type Controller struct {
	*controller.Loop[types.NamespacedName]
	reconcile *reconciler
	enqueuer  *controller.Enqueuer[*request]
}

// Indexes of the requests that are not complete.
const (
	indexBySource  = "source"
	indexByLibrary = "library"
)

var indexers = cache.Indexers{
	indexBySource:  unfinished(func(r *request) string { return r.Namespace + "/" + r.SourceName() }),
	indexByLibrary: unfinished(func(r *request) string { return r.Spec.Target.ContentLibrary }),
}

func unfinished(value func(*request) string) cache.IndexFunc {
	return func(obj any) ([]string, error) {
		if r, ok := obj.(*request); ok && r.Status.CompletionTime == nil {
			return []string{value(r)}, nil
		}
		return nil, nil
	}
}

// New returns a controller that does nothing until Run. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if err := controller.CheckDeps(Name, d, "Shard", "Now"); err != nil {
		return nil, err
	}
	d.Shard = cmp.Or[controller.Shard](d.Shard, controller.Undivided{})
	vm := d.Informers.Vm().V1alpha1()
	requests := vm.VirtualMachinePublishRequests().Informer()
	store, queue := controller.NewStore[*request](requests, false), controller.NewQueue(Name, controller.QueueOptions{})
	c := &Controller{enqueuer: &controller.Enqueuer[*request]{Queue: queue, Objects: store}, reconcile: &reconciler{
		client: d.Client.VmV1alpha1(), requests: store, machines: vm.VirtualMachines().Lister(), libraries: vm.ContentLibraries().Lister(),
		images: vm.VirtualMachineImages().Lister(), clusterImages: vm.ClusterVirtualMachineImages().Lister(),
		provider: d.Provider, labels: d.NamespaceLabels, recorder: d.Recorder, shard: d.Shard, now: controller.Clock(d.Now),
	}}
	ofLibrary := c.enqueuer.RelatedHandler(indexByLibrary, func(o metav1.Object) string { return o.GetLabels()[vmv1alpha1.LabelContentLibrary] })
	var err error
	c.Loop, err = controller.For[types.NamespacedName](Name, d.Informers).Workers(workers).
		Queue(queue).
		Index(requests, indexers).
		Watches(requests, store.Handler(), c.enqueuer.EditHandler(func(deleted *request) { d.Provider.ForgetPublication(controller.KeyOf(deleted)) })).
		Watches(vm.VirtualMachines().Informer(), c.enqueuer.RelatedHandler(indexBySource, func(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() })).
		Watches(vm.ContentLibraries().Informer(), c.enqueuer.RelatedHandler(indexByLibrary, func(o metav1.Object) string { return o.GetName() })).
		Watches(vm.VirtualMachineImages().Informer(), ofLibrary).
		Watches(vm.ClusterVirtualMachineImages().Informer(), ofLibrary).
		Shard(d.Shard, func(string) { c.enqueuer.EnqueueGained(func(*request) bool { return true }) }).
		RunsInParallel(func(ctx context.Context) { d.Provider.Watch(ctx, c.providerEvent) }).
		Reconciler(c.reconcile).
		Build()
	return c, err
}

// providerEvent enqueues the request of an event of the provider, or the requests of a VM.
func (c *Controller) providerEvent(h provider.Event) {
	switch h.Key.Kind {
	case provider.KindPublishRequest:
		c.enqueuer.EnqueueGeneric(h.Key.NamespacedName)
	case provider.KindVirtualMachine:
		c.enqueuer.EnqueueIndexed(indexBySource, h.Key.NamespacedName.String())
	case provider.KindSnapshot, provider.KindImageLocation:
	}
}
