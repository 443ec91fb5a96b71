// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

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
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Name of the controller in logs, metrics and its queue.
const Name = "virtualmachinesnapshot"

const workers = 4

// Provider takes snapshots, and hints at them and at virtual machines.
type Provider interface {
	provider.Snapshotter
	Watch(ctx context.Context, changed func(provider.Hint))
}

// Shares say which process takes care of a virtual machine.
type Shares interface {
	// Of is the share of vm.
	Of(vm *vmv1alpha1.VirtualMachine) string
	// Bind waits until there may be a pass about a share, and returns the context for it. An
	// error, if not that of ctx, means that the share is another process's.
	Bind(ctx context.Context, share string) (context.Context, error)
	// Watch calls gained whenever a share becomes this process's, until ctx is done.
	Watch(ctx context.Context, gained func(share string))
}

// Deps is what the controller needs; all are required but Now.
type Deps struct {
	// Client writes snapshots, and reads revisions.
	Client versioned.Interface
	// Informers watch our kinds. New registers what it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Provider takes snapshots.
	Provider Provider
	// Shares are those of virtual machines.
	Shares Shares
	// Recorder writes events.k8s.io events.
	Recorder events.EventRecorder
	// Now is the clock of conditions; time.Now when nil.
	Now func() time.Time
}

type (
	loop     = controller.Loop[types.NamespacedName]
	snapshot = vmv1alpha1.VirtualMachineSnapshot
)

// Controller takes snapshots.
type Controller struct {
	loop
	deps      Deps
	reconcile *reconciler
	enqueuer  *controller.Enqueuer[*snapshot]
	snapshots cache.SharedIndexInformer
}

// indexByMachine has the snapshots of a virtual machine.
const indexByMachine = "machine"

var indexers = cache.Indexers{indexByMachine: controller.IndexBy(func(s *snapshot) []string {
	return []string{s.Namespace + "/" + s.Spec.VMName}
})}

// New makes a controller that does nothing until Run, and registers the informers and
// indexes that it needs. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if d.Client == nil || d.Informers == nil || d.Provider == nil || d.Shares == nil || d.Recorder == nil {
		return nil, errors.New("snapshot controller: client, informers, provider, shares and recorder are required")
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	vm := d.Informers.Vm().V1alpha1()
	c := &Controller{deps: d, snapshots: vm.VirtualMachineSnapshots().Informer()}
	if err := c.snapshots.AddIndexers(indexers); err != nil {
		return nil, fmt.Errorf("indexing snapshots: %w", err)
	}
	store := controller.NewStore[*snapshot](c.snapshots, false)
	c.reconcile = &reconciler{
		client: d.Client.VmV1alpha1(), revisions: d.Client.InstancetypeV1alpha1(), snapshots: store, machines: vm.VirtualMachines().Lister(),
		beside: c.ofMachine, provider: d.Provider, shares: d.Shares, recorder: d.Recorder, now: d.Now,
	}
	queue := controller.NewQueue(Name, controller.QueueOptions{})
	c.loop = controller.NewLoop(queue, controller.Options[types.NamespacedName]{Name: Name, Workers: workers, Reconciler: c.reconcile})
	c.enqueuer = &controller.Enqueuer[*snapshot]{
		Queue: queue, Objects: store, Priority: func(_ *snapshot, fallback int) int { return fallback },
	}
	return c, nil
}

// Run starts the informers and reconciles until ctx is done. It returns when all that it
// started has ended, with an error when the caches could not be filled. It must be called
// at most once.
func (c *Controller) Run(ctx context.Context) error {
	machines := c.deps.Informers.Vm().V1alpha1().VirtualMachines().Informer()
	err := controller.Fill(ctx, Name, c.deps.Informers, []controller.Source{
		{Informer: c.snapshots, Handler: c.reconcile.snapshots.Handler()},
		{Informer: c.snapshots, Handler: c.handler()},
		{Informer: machines, Handler: c.enqueuer.Related(indexByMachine, func(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() })},
	}...)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all.Go(func() { c.deps.Provider.Watch(ctx, c.hinted) })
	all.Go(func() {
		c.deps.Shares.Watch(ctx, func(string) { c.enqueuer.Gained(func(*snapshot) bool { return true }) })
	})
	c.loop.Run(ctx)
	return nil
}

// hinted queues a snapshot that the provider hints at, and those of a virtual machine.
func (c *Controller) hinted(h provider.Hint) {
	switch h.Key.Kind {
	case provider.KindSnapshot:
		c.enqueuer.Generic(h.Key.NamespacedName)
	case provider.KindVirtualMachine:
		for _, s := range c.ofMachine(h.Key.NamespacedName) {
			c.enqueuer.Generic(controller.KeyOf(s))
		}
	case provider.KindPublishRequest:
	}
}

// ofMachine are the snapshots of a virtual machine.
func (c *Controller) ofMachine(key types.NamespacedName) []*snapshot {
	all, err := c.snapshots.GetIndexer().ByIndex(indexByMachine, key.String())
	if err != nil {
		return nil // There is the index: New has made it.
	}
	out := make([]*snapshot, 0, len(all))
	for _, obj := range all {
		if s, ok := obj.(*snapshot); ok {
			out = append(out, s)
		}
	}
	return out
}

// handler handles the events of snapshots. What only status says was written here, but that
// one was taken or refused is the turn of those that wait for it.
func (c *Controller) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { c.enqueuer.Evaluate(obj.(*snapshot), controller.PriorityDefaultCreate) },
		UpdateFunc: func(oldObj, obj any) {
			old, now := oldObj.(*snapshot), obj.(*snapshot)
			if old.UID != now.UID || old.Generation != now.Generation || now.DeletionTimestamp != nil {
				c.enqueuer.Evaluate(now, controller.PriorityDefaultUpdate)
			}
			if waitsFor(old) != waitsFor(now) {
				c.next(now)
			}
		},
		DeleteFunc: func(obj any) {
			if gone, ok := controller.WithoutTombstone[*snapshot](obj); ok {
				c.deps.Provider.ForgetSnapshot(controller.KeyOf(gone))
				c.next(gone)
			}
		},
	}
}

// next queues those that may have waited for s.
func (c *Controller) next(s *snapshot) {
	for _, other := range c.ofMachine(types.NamespacedName{Namespace: s.Namespace, Name: s.Spec.VMName}) {
		if waitsFor(other) {
			c.enqueuer.Generic(controller.KeyOf(other))
		}
	}
}
