// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/client-go/dynamic"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics/legacyregistry"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apiserver"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/reserve"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/clusterapi"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/healthcheck"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/infrastructure"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machinedeployment"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machineset"
	"github.com/slipway-dev/slipway/pkg/controller/fleet/vcenter"
	"github.com/slipway-dev/slipway/pkg/controller/fleet/zone"
	"github.com/slipway-dev/slipway/pkg/controller/group"
	cachecontroller "github.com/slipway-dev/slipway/pkg/controller/image/cache"
	"github.com/slipway-dev/slipway/pkg/controller/image/image"
	"github.com/slipway-dev/slipway/pkg/controller/image/library"
	"github.com/slipway-dev/slipway/pkg/controller/image/publish"
	"github.com/slipway-dev/slipway/pkg/controller/resourcequota"
	"github.com/slipway-dev/slipway/pkg/controller/revision"
	"github.com/slipway-dev/slipway/pkg/controller/snapshot"
	vmcontroller "github.com/slipway-dev/slipway/pkg/controller/vm"
	"github.com/slipway-dev/slipway/pkg/controller/vm/addressclaim"
	"github.com/slipway-dev/slipway/pkg/controller/vm/probe"
	"github.com/slipway-dev/slipway/pkg/controller/vm/synchronizer"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	clientscheme "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/scheme"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/priorityqueue"
	"github.com/slipway-dev/slipway/pkg/priorityqueue/exposition"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/registry/quota"
)

// shared is what controllers are made from. All of them have the same one.
type shared struct {
	options *Options
	// client reaches our own API, by own, and waits until this process may act before it writes;
	// informers watch it.
	own       *rest.Config
	client    versioned.Interface
	informers externalversions.SharedInformerFactory
	// host is the host cluster, likewise. The Lease is renewed by another client, whose
	// requests wait for nobody.
	host kubernetes.Interface
	// hostInformers watch the host cluster, and charges measure for its ResourceQuotas.
	hostInformers kubeinformers.SharedInformerFactory
	charges       *quota.Evaluators
	// clusters reads Machines and Clusters of our own API and of the host cluster.
	clusters *clusterapi.Reader
	// addresses claims those of the host cluster's pools.
	addresses *addressclaim.Claims
	provider  provider.Provider
	publisher publish.Provider
	snapshots snapshot.Provider
	// shard divides objects by vCenters, of which vcenterOf names that of a virtual machine.
	shard     controller.Shard
	vcenterOf func(*vmv1alpha1.VirtualMachine) string
	vcenters  vcenter.VCenters
	zones     zone.Zones
	// choice are the Zones that virtual machines may be made in.
	choice   func() (all []*vmv1alpha1.Zone, known bool)
	images   provider.Images
	copies   cachecontroller.VCenters
	recorder events.EventRecorder
	prober   *probe.Prober
	// reach leads to workload clusters and to objects of kinds that are not ours.
	reach *reach
}

// runnable is a controller. Run returns when ctx is done and all that it started has
// ended.
type runnable interface {
	Run(ctx context.Context) error
	Collectors() []prometheus.Collector
	Queue() priorityqueue.Snapshotter
	RecordTo(recorder events.EventRecorder)
}

// makers make the controllers. They register with the informers what they need, and start
// nothing.
var makers = []maker{
	{make: newVirtualMachines},
	{make: newControllerRevisions, lease: controllersLease},
	{make: newVCenterController},
	{make: newZoneController},
	// Images are asked for in all vCenters.
	{make: newVirtualMachineImages, lease: controllersLease},
	{make: newContentLibraries, lease: controllersLease, user: library.Name},
	{make: newImageCaches},
	{make: newResourceQuotas, lease: controllersLease},
	{make: newPublishRequests},
	{make: newVirtualMachineGroups, lease: controllersLease},
	{make: newSnapshots},
	{make: newMachines, lease: controllersLease},
	{make: newSlipwayClusters, lease: controllersLease},
	{make: newMachineSets, lease: controllersLease, user: machineset.Name},
	{make: newMachineDeployments, lease: controllersLease, user: machinedeployment.Name},
	{make: newMachineHealthChecks, lease: controllersLease, user: healthcheck.Name},
	{make: newClusters, lease: controllersLease},
}

// maker makes a controller, which runs from when a Lease is held on, and if none is named in
// every replica.
type maker struct {
	make  func(*shared) (runnable, error)
	lease string
	// user is set for a controller that creates objects for users: it has a user of its own.
	user string
}

// as returns s with clients of our own API for the user of a controller. Admission policies can
// distinguish what the controller creates for users from other writes of the server.
func (s *shared) as(name string) (*shared, error) {
	if name == "" {
		return s, nil
	}
	config := rest.CopyConfig(s.own)
	config.Impersonate = rest.ImpersonationConfig{UserName: reserve.ControllerUser(name), Groups: []string{user.SystemPrivilegedGroup}}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client of controller %s: %w", name, err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client of controller %s: %w", name, err)
	}
	other := *s
	other.client, other.reach = client, &reach{kinds: s.reach.kinds.As(objects), clusters: s.reach.clusters}
	return &other, nil
}

func newZoneController(s *shared) (runnable, error) {
	return zone.New(zone.Deps{Client: s.client, Informers: s.informers, Zones: s.zones})
}

func newVirtualMachineGroups(s *shared) (runnable, error) {
	return group.New(group.Deps{Client: s.client, Informers: s.informers})
}

func newResourceQuotas(s *shared) (runnable, error) {
	return resourcequota.New(resourcequota.Deps{Host: s.host, HostInformers: s.hostInformers, Informers: s.informers, Usage: s.charges.Usage})
}

func newImageCaches(s *shared) (runnable, error) {
	o := &s.options.Controllers
	return cachecontroller.New(cachecontroller.Deps{
		Client: s.client, Informers: s.informers, VCenters: s.copies, Recorder: s.recorder,
		Policy: cachecontroller.Policy{MaxAge: o.ImageCacheMaxAge, MinFree: o.ImageCacheMinFree, MinIdle: cachecontroller.DefaultMinIdle},
	})
}

func newPublishRequests(s *shared) (runnable, error) {
	return publish.New(publish.Deps{
		Client: s.client, Informers: s.informers, Provider: s.publisher, NamespaceLabels: namespaceLabels(s.hostInformers), Recorder: s.recorder,
		Shard: s.shard,
	})
}

func newSnapshots(s *shared) (runnable, error) {
	return snapshot.New(snapshot.Deps{
		Client: s.client, Informers: s.informers, Provider: s.snapshots, Shard: s.shard, VCenterOf: s.vcenterOf, Recorder: s.recorder,
	})
}

func newSlipwayClusters(s *shared) (runnable, error) {
	return infrastructure.New(infrastructure.Deps{
		Client: s.client, Informers: s.informers, Clusters: s.clusters, Zones: s.choice, NamespaceLabels: namespaceLabels(s.hostInformers),
	})
}

func newContentLibraries(s *shared) (runnable, error) {
	return library.New(library.Deps{Client: s.client, Informers: s.informers, Images: s.images, Shard: s.shard})
}

func newVirtualMachineImages(s *shared) (runnable, error) {
	return image.New(image.Deps{Client: s.client, Informers: s.informers, Images: s.images, Shard: s.shard})
}

func newVCenterController(s *shared) (runnable, error) {
	return vcenter.New(vcenter.Deps{Client: s.client, Informers: s.informers, VCenters: s.vcenters})
}

func newControllerRevisions(s *shared) (runnable, error) {
	return revision.New(revision.Deps{Client: s.client, Informers: s.informers})
}

func newVirtualMachines(s *shared) (runnable, error) {
	o := &s.options.Controllers
	return vmcontroller.New(vmcontroller.Deps{
		Client: s.client, Informers: s.informers, Host: s.host, Addresses: s.addresses, Machines: s.clusters, Provider: s.provider, Recorder: s.recorder, Shard: s.shard, VCenterOf: s.vcenterOf,
		Prober:          s.prober,
		NamespaceLabels: namespaceLabels(s.hostInformers),
		Policy:          synchronizer.Policy(o.InstancetypeReferencePolicy),
		Workers:         o.Workers, ResyncPeriod: o.ResyncPeriod,
		Queue: controller.QueueOptions{Aging: o.QueueAging, Fairness: o.QueueFairness}, Blocking: o.BlockingOperations,
		FastDeploy: vmv1alpha1.FastDeployMode(o.FastDeploy),
	})
}

// runControllers makes what controllers share, makes them and runs them until ctx is done
// or one of them fails. It returns when all of it has ended.
func runControllers(ctx context.Context, d *controllerDeps) error {
	d.leases.Contend(ctx, controllersLease, false)
	c, err := newClients(d)
	if err != nil {
		return err
	}
	client, host := c.client, c.host
	informers := newInformers(d, client)
	clusters, err := clusterapi.New(informers, c.dynamic, host.Discovery())
	if err != nil {
		return err
	}
	zones := newZoneSet(informers, &d.options.VCenter)
	used := newVCenters(d, zones)
	if err := used.followZones(); err != nil {
		return err
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: d.host.EventsV1()})
	defer broadcaster.Shutdown()
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("starting to record events: %w", err)
	}
	to, err := newDestinations(ctx, d.options, host)
	if err != nil {
		return err
	}
	defer to.stop()
	probes := probe.New(probe.Options{Connections: d.options.Probes.Connections, Networks: to.probes})
	reach, err := newReach(d, c, informers, to.workloads)
	if err != nil {
		return err
	}
	known := shard{leases: d.leases, known: zones.hasVCenter}
	all, err := makeControllers(&shared{
		options: d.options, own: c.own, client: client, informers: informers, host: host, clusters: clusters, addresses: addressclaim.New(c.dynamic, host.Discovery()),
		hostInformers: d.hostInformers, charges: d.charges,
		provider: used.fleet, publisher: used.fleet, snapshots: used.fleet, shard: used.shard, vcenterOf: zones.vcenterOf, vcenters: used, zones: zoneStates{known, used}, choice: zones.choice, images: used.images(), copies: copies{known, used},
		recorder: broadcaster.NewRecorder(clientscheme.Scheme, serverName),
		prober:   probes, reach: reach,
	})
	if err != nil {
		return err
	}
	d.health.set(informersSynced(informers), used.sessions)
	d.answerBy(used, informers)
	machines := newMachineCollector(d.options.VMMetrics, informers, func(vm *vmv1alpha1.VirtualMachine) bool { return used.Held(zones.vcenterOf(vm)) })
	expose(d.mux, d.queues, all, append(append(probes.Collectors(), reach.clusters.Collectors()...), &fleetCollector{used, informers}, used.told.told, used.took.calls, used.took.operations, machines)...)
	if d.options.VMMetrics == VMMetricsUsage {
		legacyregistry.RawMustRegister(newUsageCollector(used))
	}

	running, ctx := errgroup.WithContext(ctx)
	running.Go(func() error { used.fleet.Run(ctx); return nil })
	running.Go(func() error { used.askers.close(ctx); return nil })
	running.Go(func() error { used.told.Run(ctx); return nil })
	running.Go(func() error { clusters.Run(ctx); return nil })
	running.Go(func() error {
		if d.leases.Await(ctx, controllersLease) == nil {
			reach.clusters.Run(ctx)
		}
		return nil
	})
	for i, c := range all {
		running.Go(func() error {
			if lease := makers[i].lease; lease != "" && d.leases.Await(ctx, lease) != nil {
				return nil
			}
			return c.Run(ctx)
		})
	}
	return running.Wait()
}

// newInformers makes those of all kinds of our own.
func newInformers(d *controllerDeps, client versioned.Interface) externalversions.SharedInformerFactory {
	f := externalversions.NewSharedInformerFactoryWithOptions(apiserver.Listing(client), 0,
		externalversions.WithTransform(controller.AsKept))
	apiserver.ShareObjects(f, d.stores)
	return f
}

// answerBy tells the endpoints that ask vCenters which there are.
func (d *controllerDeps) answerBy(used *vcenters, informers externalversions.SharedInformerFactory) {
	orphans := func() map[string]engine.FindOrphans { return used.orphans(informers) }
	keepers := func() map[string]*keeper { return used.keepers(informers) }
	d.orphans.keep.Store(&keepers)
	d.orphans.find.Store(&orphans)
	d.consoles.used.Store(used)
}

func makeControllers(s *shared) ([]runnable, error) {
	var all []runnable
	for _, m := range makers {
		own, err := s.as(m.user)
		if err != nil {
			return nil, err
		}
		c, err := m.make(own)
		if err != nil {
			return nil, fmt.Errorf("making the controllers: %w", err)
		}
		c.RecordTo(s.recorder)
		all = append(all, c)
	}
	return all, nil
}

// expose shows what the controllers and more count, and what waits in their queues.
func expose(mux *mux.PathRecorderMux, report *queueReport, all []runnable, more ...prometheus.Collector) {
	legacyregistry.RawMustRegister(more...)
	var queues []priorityqueue.Snapshotter
	for _, c := range all {
		legacyregistry.RawMustRegister(c.Collectors()...)
		queues = append(queues, c.Queue())
	}
	mux.Handle("/debug/queue", exposition.Handler(queues...))
	report.all.Store(&queues)
}

// namespaceLabels tells the labels of a namespace as a cache has them, nil if it does not.
func namespaceLabels(f kubeinformers.SharedInformerFactory) func(name string) map[string]string {
	lister := f.Core().V1().Namespaces().Lister()
	return func(name string) map[string]string {
		namespace, err := lister.Get(name)
		if err != nil {
			return nil
		}
		return namespace.Labels
	}
}

// informersSynced asks the informers of the kinds that every pass needs.
func informersSynced(f externalversions.SharedInformerFactory) func() bool {
	vm := f.Vm().V1alpha1()
	synced := []func() bool{
		vm.VirtualMachines().Informer().HasSynced,
		vm.VirtualMachineInstances().Informer().HasSynced,
		vm.VirtualMachineClasses().Informer().HasSynced,
		vm.VirtualMachineImages().Informer().HasSynced,
		vm.ClusterVirtualMachineImages().Informer().HasSynced,
		vm.VirtualMachineSnapshots().Informer().HasSynced,
		vm.Zones().Informer().HasSynced,
		f.Instancetype().V1alpha1().ControllerRevisions().Informer().HasSynced,
	}
	return func() bool {
		for _, hasSynced := range synced {
			if !hasSynced() {
				return false
			}
		}
		return true
	}
}

// protobufConfig is config for a client that speaks protobuf and is not limited: the
// server on the other side is this process.
func protobufConfig(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.ContentType = runtime.ContentTypeProtobuf
	c.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	c.QPS = -1
	c.UserAgent = serverName + "/" + version
	// Warnings are for the author of an object, who got them; the log is not.
	c.WarningHandler = rest.NoWarnings{}
	return c
}
