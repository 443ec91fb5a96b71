// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/priorityqueue"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Name of the controller in logs, metrics and its queue.
const Name = "virtualmachinepublishrequest"

const workers = 4

// Provider publishes, and hints at requests and virtual machines.
type Provider interface {
	provider.Publisher
	Watch(ctx context.Context, changed func(provider.Hint))
}

// Deps is what the controller needs; all are required but Bind, Gained and Now.
type Deps struct {
	// Client writes requests.
	Client versioned.Interface
	// Informers watch our kinds. New registers what it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Provider publishes.
	Provider Provider
	// NamespaceLabels are the labels of a namespace, nil if they are not known.
	NamespaceLabels func(namespace string) map[string]string
	// Recorder writes events.k8s.io events.
	Recorder events.EventRecorder
	// Bind, if set, waits until there may be a pass about a vCenter, and returns the context
	// for it. An error, if not that of ctx, means that the vCenter is another process's.
	Bind func(ctx context.Context, vcenter string) (context.Context, error)
	// Gained, if set, calls its function whenever a vCenter becomes this process's, until ctx
	// is done.
	Gained func(ctx context.Context, gained func(vcenter string))
	// Now is the clock of conditions; time.Now when nil.
	Now func() time.Time
}

type (
	loop    = controller.Loop[types.NamespacedName]
	request = vmv1alpha1.VirtualMachinePublishRequest
)

// Controller publishes virtual machines.
type Controller struct {
	loop
	deps      Deps
	reconcile *reconciler
	enqueuer  *controller.Enqueuer[*request]
	requests  cache.SharedIndexInformer
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

// New makes a controller that does nothing until Run, and registers the informers and
// indexes that it needs. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if d.Client == nil || d.Informers == nil || d.Provider == nil || d.NamespaceLabels == nil || d.Recorder == nil {
		return nil, errors.New("publish request controller: client, informers, provider, labels of namespaces and recorder are required")
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Bind == nil {
		d.Bind = func(ctx context.Context, _ string) (context.Context, error) { return ctx, nil }
	}
	if d.Gained == nil {
		d.Gained = func(context.Context, func(string)) {}
	}
	vm := d.Informers.Vm().V1alpha1()
	c := &Controller{deps: d, requests: vm.VirtualMachinePublishRequests().Informer()}
	if err := c.requests.AddIndexers(indexers); err != nil {
		return nil, fmt.Errorf("indexing requests to publish: %w", err)
	}
	store := controller.NewStore[*request](c.requests, false)
	c.reconcile = &reconciler{
		client: d.Client.VmV1alpha1(), requests: store, machines: vm.VirtualMachines().Lister(), libraries: vm.ContentLibraries().Lister(),
		images: vm.VirtualMachineImages().Lister(), clusterImages: vm.ClusterVirtualMachineImages().Lister(),
		provider: d.Provider, labels: d.NamespaceLabels, recorder: d.Recorder, bind: d.Bind, now: d.Now,
	}
	queue := controller.NewQueue(Name, controller.QueueOptions{})
	c.loop = controller.NewLoop(queue, controller.Options[types.NamespacedName]{Name: Name, Workers: workers, Reconciler: c.reconcile})
	c.enqueuer = &controller.Enqueuer[*request]{
		Queue: queue, Objects: store, Priority: func(_ *request, fallback int) int { return fallback },
	}
	return c, nil
}

// Run starts the informers and reconciles until ctx is done. It returns when all that it
// started has ended, with an error when the caches could not be filled. It must be called
// at most once.
func (c *Controller) Run(ctx context.Context) error {
	vm := c.deps.Informers.Vm().V1alpha1()
	ofLibrary := func(o metav1.Object) string { return o.GetLabels()[vmv1alpha1.LabelContentLibrary] }
	err := controller.Fill(ctx, Name, c.deps.Informers, []controller.Source{
		{Informer: c.requests, Handler: c.reconcile.requests.Handler()},
		{Informer: c.requests, Handler: c.handler()},
		{Informer: vm.VirtualMachines().Informer(), Handler: c.enqueuer.Related(indexBySource, func(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() })},
		{Informer: vm.ContentLibraries().Informer(), Handler: c.enqueuer.Related(indexByLibrary, func(o metav1.Object) string { return o.GetName() })},
		{Informer: vm.VirtualMachineImages().Informer(), Handler: c.enqueuer.Related(indexByLibrary, ofLibrary)},
		{Informer: vm.ClusterVirtualMachineImages().Informer(), Handler: c.enqueuer.Related(indexByLibrary, ofLibrary)},
	}...)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all.Go(func() { c.deps.Provider.Watch(ctx, c.hinted) })
	all.Go(func() { c.deps.Gained(ctx, func(string) { c.enqueuer.Gained(func(*request) bool { return true }) }) })
	c.loop.Run(ctx)
	return nil
}

// hinted queues a request that the provider hints at, and those of a virtual machine.
func (c *Controller) hinted(h provider.Hint) {
	switch h.Key.Kind {
	case provider.KindPublishRequest:
		c.enqueuer.Generic(h.Key.NamespacedName)
	case provider.KindVirtualMachine:
		waiting, err := c.requests.GetIndexer().ByIndex(indexBySource, h.Key.Namespace+"/"+h.Key.Name)
		for _, obj := range waiting {
			if r, ok := obj.(*request); ok && err == nil {
				c.enqueuer.Generic(controller.KeyOf(r))
			}
		}
	case provider.KindSnapshot:
	}
}

// handler handles the events of requests. What only status says was written here.
func (c *Controller) handler() cache.ResourceEventHandler {
	add := func(r *request, priority int) {
		c.Keys.AddWithOpts(priorityqueue.AddOpts{Priority: priority}, controller.KeyOf(r))
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { add(obj.(*request), controller.PriorityDefaultCreate) },
		UpdateFunc: func(oldObj, obj any) {
			old, now := oldObj.(*request), obj.(*request)
			if old.UID != now.UID || old.Generation != now.Generation || now.DeletionTimestamp != nil {
				add(now, controller.PriorityDefaultUpdate)
			}
		},
		DeleteFunc: func(obj any) {
			if gone, ok := controller.WithoutTombstone[*request](obj); ok {
				c.deps.Provider.ForgetPublication(controller.KeyOf(gone))
			}
		},
	}
}
