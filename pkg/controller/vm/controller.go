// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

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
	"github.com/slipway-dev/slipway/pkg/controller/vm/synchronizer"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	vmlisters "github.com/slipway-dev/slipway/pkg/generated/listers/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/provider"
)

type loop = controller.Loop[types.NamespacedName]

// Controller reconciles VirtualMachines.
type Controller struct {
	loop
	deps      Deps
	enqueuer  *enqueuer
	vmis      controller.Store[*vmv1alpha1.VirtualMachineInstance]
	classes   *storageClasses
	revisions cache.InformerSynced
	claims    *claims
	caches    controller.Store[*vmv1alpha1.VirtualMachineImageCache]
	firsts    *firsts
}

// reconciler makes the passes.
type reconciler struct {
	vms       controller.Store[*vmv1alpha1.VirtualMachine]
	vmis      controller.Store[*vmv1alpha1.VirtualMachineInstance]
	own       *controller.Echoes[*vmv1alpha1.VirtualMachine]
	client    vmclient.VmV1alpha1Interface
	secrets   secretReader
	classes   *storageClasses
	addresses AddressClaims
	machines  Machines
	claims    *claims
	caches    controller.Store[*vmv1alpha1.VirtualMachineImageCache]
	cachesOf  func(item string) ([]*vmv1alpha1.VirtualMachineImageCache, error)
	groups    vmlisters.VirtualMachineGroupLister
	revisions *revisionStore
	snapshots vmlisters.VirtualMachineSnapshotLister
	reader    instancetype.Reader
	chain     chain
	provider  provider.Provider
	labels    func(namespace string) map[string]string
	shares    Shares
	prober    Prober
	recorder  events.EventRecorder
	firsts    *firsts
	blocking  bool
	// fastDeployDefault is for what says nothing else.
	fastDeployDefault vmv1alpha1.FastDeployMode
	now               func() time.Time
}

// chain is a synchronizer.Chain.
type chain interface {
	Sync(context.Context, *vmv1alpha1.VirtualMachine, *vmv1alpha1.VirtualMachineInstance) (synchronizer.Result, error)
}

// New makes a controller that does nothing until Run, and registers the informers
// and indexes that it needs. It must be called before the informers are started.
func New(d Deps) (*Controller, error) {
	if d.Client == nil || d.Informers == nil || d.Host == nil || d.Provider == nil || d.Recorder == nil || d.Addresses == nil || d.Machines == nil {
		return nil, errors.New("virtual machine controller: client, informers, host, provider, recorder, addresses and machines are required")
	}
	d.setDefaults()
	informers := d.Informers.Vm().V1alpha1()
	vmInformer := informers.VirtualMachines().Informer()
	if err := vmInformer.AddIndexers(indexers); err != nil {
		return nil, fmt.Errorf("indexing virtual machines: %w", err)
	}
	cacheInformer := informers.VirtualMachineImageCaches().Informer()
	if err := cacheInformer.AddIndexers(itemIndexer); err != nil {
		return nil, fmt.Errorf("indexing image caches: %w", err)
	}
	caches := controller.NewStore[*vmv1alpha1.VirtualMachineImageCache](cacheInformer, true)
	informers.Zones().Informer() // these two are started with the others
	informers.VCenters().Informer()
	revisions := newRevisionStore(d.Client.InstancetypeV1alpha1(), d.Informers, d.Host.AppsV1())
	vms := controller.NewStore[*vmv1alpha1.VirtualMachine](vmInformer, false)
	// What the VM is called in vSphere must not be lost.
	vms.Urgent = func(stored, next *vmv1alpha1.VirtualMachine) bool {
		return stored.Status.UniqueID == "" && next.Status.UniqueID != ""
	}
	vmis := controller.NewStore[*vmv1alpha1.VirtualMachineInstance](informers.VirtualMachineInstances().Informer(), true)
	queue := controller.NewQueue(Name, d.Queue)
	own := newEchoes()
	claims, err := newClaims(d.Host)
	if err != nil {
		return nil, err
	}
	e := newEnqueuer(queue, vms, own, d.Recorder, d.Provider.Unread)
	e.Mine = func(vm *vmv1alpha1.VirtualMachine) bool { return d.Shares.Held(d.Shares.Of(vm)) }
	d.Machines.Watch(e.machines())
	firsts := newFirsts()
	reader := newObjectReader(d.Client.InstancetypeV1alpha1(), d.Informers, revisions, d.Host.CoreV1())
	classes := newStorageClasses(d.Host)
	r := &reconciler{
		classes:   classes,
		vms:       vms,
		vmis:      vmis,
		own:       own,
		client:    d.Client.VmV1alpha1(),
		secrets:   secretsOf(d.Host),
		addresses: d.Addresses,
		machines:  d.Machines,
		claims:    claims,
		caches:    caches,
		cachesOf:  cachesOf(cacheInformer.GetIndexer(), caches),
		groups:    informers.VirtualMachineGroups().Lister(),
		revisions: revisions,
		snapshots: informers.VirtualMachineSnapshots().Lister(),
		reader:    reader,
		chain: synchronizer.New(synchronizer.Options{
			Reader:    reader,
			Revisions: revisions,
			Policy:    d.Policy,
			Now:       func() metav1.Time { return metav1.NewTime(d.Now().Truncate(time.Second)) },
		}),
		provider:          d.Provider,
		labels:            d.NamespaceLabels,
		shares:            d.Shares,
		prober:            d.Prober,
		recorder:          d.Recorder,
		firsts:            firsts,
		blocking:          d.Blocking,
		fastDeployDefault: d.FastDeploy,
		now:               d.Now,
	}
	passes := controller.NewLoop(queue, controller.Options[types.NamespacedName]{
		Name:       Name,
		Workers:    d.Workers,
		Reconciler: r,
		Priority:   e.Again,
	})
	return &Controller{loop: passes, deps: d, enqueuer: e, vmis: vmis, classes: classes, claims: claims, firsts: firsts, caches: caches,
		revisions: d.Informers.Instancetype().V1alpha1().ControllerRevisions().Informer().HasSynced}, nil
}

// Run starts the informers and reconciles until ctx is done. It returns when all
// that it started has ended, with an error when the caches could not be filled or
// the handlers not be registered. Only the informers of Deps, which others may use
// too, end by themselves with ctx. It must be called at most once.
func (c *Controller) Run(ctx context.Context) error {
	c.deps.Informers.StartWithContext(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer c.claims.factory.Shutdown()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	// Only virtual machines with claims wait until these are read.
	if err := c.claims.register(c.enqueuer); err != nil {
		return err
	}
	c.claims.factory.StartWithContext(ctx)
	synced, err := c.register()
	if err != nil {
		return err
	}
	defer c.classes.factory.Shutdown()
	if err := c.classes.start(ctx, c.enqueuer); err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), append(synced, c.revisions)...) {
		return fmt.Errorf("virtual machine controller stopped before its caches were filled: %w", context.Cause(ctx))
	}
	all.Go(func() { c.enqueuer.Resync(ctx, c.deps.ResyncPeriod) })
	all.Go(func() {
		shares := c.deps.Shares
		shares.Watch(ctx, func(share string) {
			c.enqueuer.Gained(func(vm *vmv1alpha1.VirtualMachine) bool { return shares.Of(vm) == share })
		})
	})
	all.Go(func() {
		c.deps.Provider.Watch(ctx, func(h provider.Hint) {
			if h.Key.Kind == provider.KindVirtualMachine {
				c.enqueuer.Generic(h.Key.NamespacedName)
			}
		})
	})
	if prober := c.deps.Prober; prober != nil {
		all.Go(func() { prober.Run(ctx, c.enqueuer.Has, c.enqueuer.Generic) })
	}
	all.Go(func() { c.deps.Addresses.Run(ctx, c.enqueuer.Generic) })
	c.loop.Run(ctx)
	return nil
}

// register adds the event handlers and returns what tells that each has seen the
// initial list.
func (c *Controller) register() ([]cache.InformerSynced, error) {
	e, vm, it := c.enqueuer, c.deps.Informers.Vm().V1alpha1(), c.deps.Informers.Instancetype().V1alpha1()
	return controller.Register([]controller.Source{
		{Informer: vm.VirtualMachines().Informer(), Handler: e.Objects.Handler()},
		{Informer: vm.VirtualMachines().Informer(), Handler: e.Handler()},
		{Informer: vm.VirtualMachines().Informer(), Handler: e.Related(indexByOrigin, byName)},
		{Informer: vm.VirtualMachineInstances().Informer(), Handler: c.vmis.Handler()},
		{Informer: vm.VirtualMachineInstances().Informer(), Handler: e.instances()},
		{Informer: vm.VirtualMachineClasses().Informer(), Handler: e.Related(indexByClass, byName)},
		{Informer: vm.VirtualMachineImages().Informer(), Handler: e.Related(indexByImage, byName)},
		{Informer: vm.ClusterVirtualMachineImages().Informer(), Handler: e.Related(indexByImage, byName)},
		{Informer: vm.VirtualMachineImageCaches().Informer(), Handler: c.caches.Handler()},
		{Informer: vm.VirtualMachineImageCaches().Informer(), Handler: e.caches()},
		{Informer: vm.VirtualMachineGroups().Informer(), Handler: e.groups(vm.VirtualMachines().Informer().GetIndexer(), vm.VirtualMachineGroups().Lister())},
		{Informer: vm.VirtualMachines().Informer(), Handler: e.members(vm.VirtualMachineGroups().Lister())},
		{Informer: vm.VirtualMachineSnapshots().Informer(), Handler: e.Related(indexBySnapshot, byName)},
		{Informer: vm.Zones().Informer(), Handler: e.zones()},
		{Informer: vm.VCenters().Informer(), Handler: e.zones()},
		{Informer: it.VirtualMachineInstancetypes().Informer(), Handler: e.Related(indexBySource, bySource(instancetype.KindInstancetype))},
		{Informer: it.VirtualMachineClusterInstancetypes().Informer(), Handler: e.Related(indexBySource, bySource(instancetype.KindClusterInstancetype))},
		{Informer: it.VirtualMachinePreferences().Informer(), Handler: e.Related(indexBySource, bySource(instancetype.KindPreference))},
		{Informer: it.VirtualMachineClusterPreferences().Informer(), Handler: e.Related(indexBySource, bySource(instancetype.KindClusterPreference))},
	}...)
}
