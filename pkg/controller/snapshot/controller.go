// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
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
const Name = "virtualmachinesnapshot"

// workers is the number of snapshots that are reconciled concurrently.
const workers = 4

// Provider takes snapshots and reports events of snapshots and VMs.
type Provider interface {
	provider.Snapshotter
	Watch(ctx context.Context, changed func(provider.Event))
}

// Deps has the dependencies of the controller. All fields are required except Now.
type Deps struct {
	// Client writes snapshots and reads revisions.
	Client versioned.Interface
	// Informers watch the kinds of Slipway. New registers the informers that it needs; Run starts them.
	Informers externalversions.SharedInformerFactory
	// Provider takes snapshots.
	Provider Provider
	// Shard divides snapshots by the vCenters of their VMs, which VCenterOf returns.
	Shard     controller.Shard
	VCenterOf func(vm *vmv1alpha1.VirtualMachine) string
	// Recorder writes events.k8s.io events.
	Recorder events.EventRecorder
	// Now returns the time for conditions. The default is time.Now.
	Now func() time.Time
}

type snapshot = vmv1alpha1.VirtualMachineSnapshot

// Controller takes snapshots.
type Controller struct {
	*controller.Loop[types.NamespacedName]
	reconcile *reconciler
	enqueuer  *controller.Enqueuer[*snapshot]
	snapshots cache.SharedIndexInformer
}

// indexByMachine is the name of the index of snapshots by VM.
const indexByMachine = "machine"

var indexers = cache.Indexers{indexByMachine: controller.IndexBy(func(s *snapshot) []string {
	return []string{s.Namespace + "/" + s.Spec.VMName}
})}

// New returns a controller that does nothing until Run. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if err := controller.CheckDeps(Name, d, "Now"); err != nil {
		return nil, err
	}
	vm := d.Informers.Vm().V1alpha1()
	c := &Controller{snapshots: vm.VirtualMachineSnapshots().Informer()}
	store, queue := controller.NewStore[*snapshot](c.snapshots, false), controller.NewQueue(Name, controller.QueueOptions{})
	c.reconcile = &reconciler{
		client: d.Client.VmV1alpha1(), revisions: d.Client.InstancetypeV1alpha1(), snapshots: store, machines: vm.VirtualMachines().Lister(),
		siblings: c.ofMachine, provider: d.Provider, shard: d.Shard, vcenterOf: d.VCenterOf, recorder: d.Recorder, now: controller.Clock(d.Now),
	}
	c.enqueuer = &controller.Enqueuer[*snapshot]{Queue: queue, Objects: store}
	byName := func(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }
	var err error
	c.Loop, err = controller.For[types.NamespacedName](Name, d.Informers).Workers(workers).
		Queue(queue).
		Index(c.snapshots, indexers).
		Watches(c.snapshots, store.Handler(), controller.HandleChanges(false, c.changed)).
		Watches(c.snapshots, c.enqueuer.EditHandler(func(deleted *snapshot) { d.Provider.ForgetSnapshot(controller.KeyOf(deleted)) })).
		Watches(vm.VirtualMachines().Informer(), c.enqueuer.RelatedHandler(indexByMachine, byName)).
		Shard(d.Shard, func(string) { c.enqueuer.EnqueueGained(func(*snapshot) bool { return true }) }).
		RunsInParallel(func(ctx context.Context) { d.Provider.Watch(ctx, c.providerEvent) }).
		Reconciler(c.reconcile).
		Build()
	return c, err
}

// providerEvent enqueues the snapshot of an event of the provider, or the snapshots of a VM.
func (c *Controller) providerEvent(h provider.Event) {
	switch h.Key.Kind {
	case provider.KindSnapshot:
		c.enqueuer.EnqueueGeneric(h.Key.NamespacedName)
	case provider.KindVirtualMachine:
		c.enqueuer.EnqueueIndexed(indexByMachine, h.Key.NamespacedName.String())
	case provider.KindPublishRequest, provider.KindImageLocation:
	}
}

// ofMachine returns the snapshots of a VM.
func (c *Controller) ofMachine(key types.NamespacedName) []*snapshot {
	return controller.Indexed[*snapshot](c.snapshots.GetIndexer(), indexByMachine, key.String())
}

// changed enqueues the snapshots of a VM that wait for a snapshot which was taken, refused or deleted.
func (c *Controller) changed(before, now *snapshot) {
	if before == nil || now != nil && isPending(before) == isPending(now) {
		return
	}
	for _, other := range c.ofMachine(types.NamespacedName{Namespace: before.Namespace, Name: before.Spec.VMName}) {
		if isPending(other) {
			c.enqueuer.EnqueueGeneric(controller.KeyOf(other))
		}
	}
}
