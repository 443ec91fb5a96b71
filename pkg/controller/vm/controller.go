// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"cmp"
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/bootstrap"
	"github.com/slipway-dev/slipway/pkg/controller/vm/claims"
	"github.com/slipway-dev/slipway/pkg/controller/vm/group"
	"github.com/slipway-dev/slipway/pkg/controller/vm/image"
	"github.com/slipway-dev/slipway/pkg/controller/vm/imagecache"
	"github.com/slipway-dev/slipway/pkg/controller/vm/instance"
	"github.com/slipway-dev/slipway/pkg/controller/vm/owner"
	"github.com/slipway-dev/slipway/pkg/controller/vm/probe"
	"github.com/slipway-dev/slipway/pkg/controller/vm/revert"
	"github.com/slipway-dev/slipway/pkg/controller/vm/synchronizer"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Controller reconciles VirtualMachines.
type Controller struct {
	*controller.Loop[types.NamespacedName]
	enqueuer *enqueuer
	metrics  *createMetrics
}

// reconciler reconciles virtual machines.
type reconciler struct {
	vms       controller.Store[*vmv1alpha1.VirtualMachine]
	shard     controller.Shard
	vcenterOf func(*vmv1alpha1.VirtualMachine) string
	now       func() time.Time
	chain     chain
	writer    writer
	// The steps, in the order in which they run.
	machines   owner.Machines
	group      group.Reconciler
	addresses  claims.Addresses
	volumes    *claims.Volumes
	image      image.Reconciler
	bootstrap  bootstrap.Reconciler
	imageCache imagecache.Reconciler
	revert     revert.Reconciler
	probe      probe.Reconciler
	instance   instance.Reconciler
	// The provider and the inputs of its calls.
	provider        provider.Provider
	blocking        bool
	namespaceLabels func(namespace string) map[string]string
	classes         *claims.StorageClasses
	revisions       *revisionStore
}

// chain is implemented by synchronizer.Chain.
type chain interface {
	Sync(context.Context, *vmv1alpha1.VirtualMachine, *vmv1alpha1.VirtualMachineInstance) (synchronizer.Result, error)
}

// New returns a controller that does nothing until Run is called. Call New before the informers are started.
func New(d Deps) (*Controller, error) {
	if err := controller.CheckDeps(Name, d, "Prober", "NamespaceLabels", "Shard", "VCenterOf", "Now"); err != nil {
		return nil, err
	}
	d.setDefaults()
	informers := d.Informers.Vm().V1alpha1()
	vmInformer, cacheInformer := informers.VirtualMachines().Informer(), informers.VirtualMachineImageCaches().Informer()
	vms := controller.NewStore[*vmv1alpha1.VirtualMachine](vmInformer, false)
	// The VM's ID in vSphere must not be lost, so this write is not limited.
	vms.Urgent = func(stored, next *vmv1alpha1.VirtualMachine) bool {
		return stored.Status.UniqueID == "" && next.Status.UniqueID != ""
	}
	volumes, err := claims.NewVolumes(d.Host, vms)
	if err != nil {
		return nil, err
	}
	queue, own := controller.NewQueue(Name, d.Queue), newEchoes()
	e := newEnqueuer(queue, vms, own, d.Recorder, d.Provider.IsUnread)
	e.IsOwned = func(vm *vmv1alpha1.VirtualMachine) bool { return d.Shard.IsOwned(d.VCenterOf(vm)) }
	revisions := newRevisionStore(d.Client.InstancetypeV1alpha1(), d.Informers, d.Host.AppsV1())
	reader := newObjectReader(d.Client.InstancetypeV1alpha1(), d.Informers, revisions, d.Host.CoreV1())
	client := d.Client.VmV1alpha1()
	r := &reconciler{
		vms: vms, shard: d.Shard, vcenterOf: d.VCenterOf, now: d.Now,
		chain: synchronizer.New(synchronizer.Options{
			Reader: reader, Revisions: revisions, Policy: d.Policy,
		}),
		writer:    writer{vms: vms, client: client, echoes: own, revisions: revisions, recorder: d.Recorder, metrics: newCreateMetrics()},
		machines:  d.Machines,
		group:     group.Reconciler{Groups: informers.VirtualMachineGroups().Lister(), VMs: vms},
		addresses: claims.Addresses{Pools: d.Addresses},
		volumes:   volumes,
		image:     image.Reconciler{Reader: reader, VMs: vms},
		bootstrap: bootstrap.Reconciler{Secrets: secretsOf(d.Host)},
		imageCache: imagecache.Reconciler{
			Caches: controller.NewStore[*vmv1alpha1.VirtualMachineImageCache](cacheInformer, true), Client: client, Reader: reader, Default: d.FastDeploy,
		},
		revert:   revert.Reconciler{VMs: vms, Client: client, Snapshots: informers.VirtualMachineSnapshots().Lister(), Reader: reader, Revisions: revisions},
		probe:    probe.Reconciler{Connections: d.Prober},
		instance: instance.Reconciler{Instances: controller.NewStore[*vmv1alpha1.VirtualMachineInstance](informers.VirtualMachineInstances().Informer(), true), Client: client},
		provider: d.Provider, blocking: d.Blocking, namespaceLabels: d.NamespaceLabels,
		classes: claims.NewStorageClasses(d.Host), revisions: revisions,
	}
	b := controller.For[types.NamespacedName](Name, d.Informers).Workers(d.Workers).Queue(queue).Priority(e.RequeuePriority).Reconciler(r).
		Index(vmInformer, indexers).
		Index(cacheInformer, imagecache.Indexers)
	r.watch(b, d.Informers, e)
	r.runParallel(b, &d, e)
	c := &Controller{enqueuer: e, metrics: r.writer.metrics}
	if c.Loop, err = b.Build(); err == nil {
		d.Machines.Watch(e.machineHandlers())
	}
	return c, err
}

// watch adds the event handlers.
func (r *reconciler) watch(b *controller.Builder[types.NamespacedName], informers externalversions.SharedInformerFactory, e *enqueuer) {
	vm, it := informers.Vm().V1alpha1(), informers.Instancetype().V1alpha1()
	b.Watches(vm.VirtualMachines().Informer(), r.vms.Handler(), e.Handler(), e.RelatedHandler(indexByOrigin, byName), e.memberHandler(&r.group), e.macHandler()).
		Watches(vm.VirtualMachineInstances().Informer(), r.instance.Instances.Handler(), e.instanceHandler()).
		Watches(vm.VirtualMachineClasses().Informer(), e.RelatedHandler(indexByClass, byName)).
		Watches(vm.VirtualMachineImages().Informer(), e.RelatedHandler(indexByImage, byName)).
		Watches(vm.ClusterVirtualMachineImages().Informer(), e.RelatedHandler(indexByImage, byName)).
		Watches(vm.VirtualMachineImageCaches().Informer(), r.imageCache.Caches.Handler(), e.cacheHandler()).
		Watches(vm.VirtualMachineGroups().Informer(), e.groupHandler(vm.VirtualMachines().Informer().GetIndexer(), &r.group)).
		Watches(vm.VirtualMachineSnapshots().Informer(), e.RelatedHandler(indexBySnapshot, byName)).
		Watches(vm.Zones().Informer(), e.zoneHandler()).
		Watches(vm.VCenters().Informer(), e.zoneHandler()).
		Watches(it.VirtualMachineInstancetypes().Informer(), e.RelatedHandler(indexBySource, bySource(instancetype.KindInstancetype))).
		Watches(it.VirtualMachineClusterInstancetypes().Informer(), e.RelatedHandler(indexBySource, bySource(instancetype.KindClusterInstancetype))).
		Watches(it.VirtualMachinePreferences().Informer(), e.RelatedHandler(indexBySource, bySource(instancetype.KindPreference))).
		Watches(it.VirtualMachineClusterPreferences().Informer(), e.RelatedHandler(indexBySource, bySource(instancetype.KindClusterPreference))).
		Reads(it.ControllerRevisions().Informer())
}

// runParallel adds the functions that run in parallel with the workers.
func (r *reconciler) runParallel(b *controller.Builder[types.NamespacedName], d *Deps, e *enqueuer) {
	b.BeforeSync(func(ctx context.Context) (func(), error) {
		return r.volumes.Start(ctx, e.relatedBy(indexByClaim), e.EnqueueGeneric)
	}).
		BeforeSync(func(ctx context.Context) (func(), error) {
			return r.classes.Start(ctx, e.relatedBy(indexByStorageClass))
		}).
		Shard(d.Shard, func(vcenter string) {
			e.EnqueueGained(func(vm *vmv1alpha1.VirtualMachine) bool { return d.VCenterOf(vm) == vcenter })
		}).
		RunsInParallel(func(ctx context.Context) { e.Resync(ctx, d.ResyncPeriod) }).
		RunsInParallel(func(ctx context.Context) { d.Addresses.Run(ctx, e.EnqueueGeneric) }).
		RunsInParallel(func(ctx context.Context) {
			d.Provider.Watch(ctx, func(h provider.Event) {
				if h.Key.Kind == provider.KindVirtualMachine {
					e.EnqueueGeneric(h.Key.NamespacedName)
				}
			})
		})
	if d.Prober != nil {
		b.RunsInParallel(func(ctx context.Context) { d.Prober.Run(ctx, e.Has, e.EnqueueGeneric) })
	}
}

const (
	// Name is the controller's name in logs, metrics and its queue.
	Name = "virtualmachine"
	// DefaultWorkers is the number of workers if Deps.Workers is 0.
	DefaultWorkers = 16
)

// Deps has the dependencies of the controller. A field may be zero only if its comment gives a default.
type Deps struct {
	// Client writes virtual machines and their instances.
	Client versioned.Interface
	// Informers watch Slipway's kinds. New registers the informers that it needs, and Run starts them. They must not
	// resync on their own. Their only transform may be controller.StripManagedFields.
	Informers externalversions.SharedInformerFactory
	// Host is a client of the management cluster, which has the Secrets and claims. It also has the ControllerRevisions
	// that earlier versions of Slipway stored there.
	Host kubernetes.Interface
	// Provider calls vSphere.
	Provider provider.Provider
	// Recorder records events.
	Recorder events.EventRecorder
	// Prober runs readiness probes that connect to guests. If it is nil, these probes have no result.
	Prober probe.Connections
	// Addresses claims addresses from pools.
	Addresses claims.Pools
	// Machines reads the Machines that virtual machines are the infrastructure of.
	Machines owner.Machines
	// Policy determines how references to instance types are handled. The default is synchronizer.PolicyReference.
	Policy synchronizer.Policy
	// NamespaceLabels returns the labels of a namespace, or nil if they are not known. If it is nil, no labels are
	// known.
	NamespaceLabels func(namespace string) map[string]string
	// Shard divides virtual machines by their vCenters. The default is controller.Undivided.
	Shard controller.Shard
	// VCenterOf returns the name of a virtual machine's vCenter. By default the name is empty for all virtual machines.
	VCenterOf func(vm *vmv1alpha1.VirtualMachine) string
	// Workers is the number of concurrent reconciles. The default is DefaultWorkers.
	Workers int
	// ResyncPeriod is the time between two resyncs of one virtual machine. The default is
	// controller.DefaultResyncPeriod.
	ResyncPeriod time.Duration
	// Blocking makes workers wait until the provider's operations end.
	Blocking bool
	// FastDeploy is the mode in which disks are created if neither the virtual machine nor its class specifies one. The
	// default is vmv1alpha1.FastDeployOff.
	FastDeploy vmv1alpha1.FastDeployMode
	// Queue specifies the order of virtual machines that have the same priority.
	Queue controller.QueueOptions
	// Now returns the current time. The default is time.Now.
	Now func() time.Time
}

func (d *Deps) setDefaults() {
	d.Policy = cmp.Or(d.Policy, synchronizer.PolicyReference)
	d.Workers = cmp.Or(d.Workers, DefaultWorkers)
	d.ResyncPeriod = cmp.Or(d.ResyncPeriod, controller.DefaultResyncPeriod)
	d.FastDeploy = cmp.Or(d.FastDeploy, vmv1alpha1.FastDeployOff)
	d.Shard = cmp.Or[controller.Shard](d.Shard, controller.Undivided{})
	if d.NamespaceLabels == nil {
		d.NamespaceLabels = func(string) map[string]string { return nil }
	}
	if d.VCenterOf == nil {
		d.VCenterOf = func(*vmv1alpha1.VirtualMachine) string { return "" }
	}
	d.Now = controller.Clock(d.Now)
}

func secretsOf(host kubernetes.Interface) bootstrap.Secrets {
	return func(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
		return host.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	}
}
