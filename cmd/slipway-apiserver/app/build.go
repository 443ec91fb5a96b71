// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics/legacyregistry"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apiserver"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/protectedkeys"
	"github.com/slipway-dev/slipway/pkg/apiserver/certs/servingcert"
	"github.com/slipway-dev/slipway/pkg/apiserver/reports"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/cluster"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/clusterapi"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/healthcheck"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/infrastructure"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machinedeployment"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machineset"
	"github.com/slipway-dev/slipway/pkg/controller/fleet/connections"
	"github.com/slipway-dev/slipway/pkg/controller/fleet/vcenter"
	"github.com/slipway-dev/slipway/pkg/controller/fleet/vcenterevents"
	"github.com/slipway-dev/slipway/pkg/controller/fleet/vmmetrics"
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
	clientscheme "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/scheme"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/lease"
	"github.com/slipway-dev/slipway/pkg/priorityqueue"
	"github.com/slipway-dev/slipway/pkg/priorityqueue/exposition"
	"github.com/slipway-dev/slipway/pkg/registry/vm/references"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/pkg/store/identity"
	"github.com/slipway-dev/slipway/pkg/store/maintenance"
)

// Server is slipway-apiserver, not yet running.
type Server struct {
	// etcd is nil with --etcd-servers.
	etcd *embedded.Server
	// maintenance measures the space of etcd and takes snapshots.
	maintenance *maintenance.Store
	snapshots   SnapshotOptions
	// certificate is the serving one, nil when flags give it.
	certificate *servingcert.Manager
	// embedded creates the stores over etcd; nil without it.
	embedded *apiserver.Embedded
	// prober queries etcd for storeHealth; nil with an embedded etcd.
	prober      factory.Prober
	storeHealth *apiserver.StoreHealth
	// store is compared with the one that the management cluster knows; nil without one.
	store   *identity.Gate
	generic *genericapiserver.GenericAPIServer
	runner  runner
	failed  chan error
	// gcPercent is by how much the heap may grow before it is collected.
	gcPercent int
}

// New starts the embedded etcd, if there is to be one, waits until the management cluster
// answers, and creates the server. ctx bounds the creation. The caller must call Run, also when ctx is done by then.
func New(ctx context.Context, o *Options) (*Server, error) {
	s := &Server{failed: make(chan error, 1), snapshots: o.Snapshots, gcPercent: o.GCPercent}
	err := s.openStore(ctx, o)
	if err == nil {
		err = s.build(ctx, o)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// openStore starts the embedded etcd, or connects to the given servers.
func (s *Server) openStore(ctx context.Context, o *Options) error {
	registerStoreMetrics()
	transport := &o.Recommended.Etcd.StorageConfig.Transport
	if len(transport.ServerList) > 0 {
		config, err := etcdConfig(*transport)
		if err != nil {
			return fmt.Errorf("preparing the connection to etcd: %w", err)
		}
		s.maintenance, err = maintenance.Connect(config)
		return err
	}
	etcd, err := embedded.Start(ctx, embedded.Options{Dir: o.DataDir, UnsafeNoFsync: o.EtcdUnsafeNoFsync, QuotaBytes: o.EtcdQuotaBytes, LockTimeout: lockTimeout})
	if err != nil {
		return err
	}
	s.etcd, s.maintenance = etcd, etcd.Store()
	registerEmbeddedMetrics()
	transport.ServerList = []string{etcd.Endpoint()}
	return nil
}

// lockTimeout is how long to wait for the previous process to release the data directory.
const lockTimeout = 2 * time.Second

// The store's metrics are global to a process, which may run several servers in tests.
var (
	registerStoreMetrics    = sync.OnceFunc(func() { legacyregistry.RawMustRegister(maintenance.Metrics()...) })
	registerEmbeddedMetrics = sync.OnceFunc(func() { legacyregistry.RawMustRegister(embedded.Metrics()) })
)

// build creates the server's components in the order of their dependencies. The controllers do nothing before Run.
func (s *Server) build(ctx context.Context, o *Options) error {
	// Read the configuration of the management cluster before the server listens.
	authorities, err := awaitHost(ctx, o)
	if err != nil {
		return err
	}
	if s.certificate, err = manageCertificate(ctx, o); err != nil {
		return err
	}

	// Create the API server without resources.
	c, err := s.configure(o, authorities)
	if err != nil {
		return err
	}
	// A slow embedded etcd is busy: cancelling requests in progress would only make clients repeat them.
	if s.etcd == nil {
		if s.prober, err = factory.CreateProber(o.Recommended.Etcd.StorageConfig); err != nil {
			return fmt.Errorf("connecting to etcd: %w", err)
		}
	}
	if s.generic, err = c.generic.New(serverName, genericapiserver.NewEmptyDelegate()); err != nil {
		return fmt.Errorf("creating the server: %w", err)
	}

	// Create the controllers and the vCenter manager. They read the resources' stores, which are created below.
	var stores references.Readers
	c.charges.SetReader(&stores)
	s.runner.store, s.runner.fail = s.store, s.fail
	report := reports.Controllers{Running: s.runner.started.Load}
	health := apiserver.ControllerHealth{Running: s.runner.started.Load}
	var screens connections.Consoles
	if c.hostConfig != nil {
		a := &controllers{}
		if err := a.build(o, c, s, &stores); err != nil {
			return fmt.Errorf("creating the %s: %w", controllersHook, err)
		}
		s.runner.leases, s.runner.start = a.leases, a.run
		if err := s.runner.hook(s.generic.AddPostStartHook, s.generic.AddPreShutdownHook); err != nil {
			return fmt.Errorf("adding the %s: %w", controllersHook, err)
		}
		screens.Manager = a.vcenters
		report.OrphanFinders, report.Engines, report.Informers, report.Queues = a.vcenters.Orphans, a.vcenters.Engines, a.informers, a.queues
		health.Synced, health.Sessions = informersSynced(a.informers), a.vcenters.Sessions
		s.generic.Handler.NonGoRestfulMux.Handle("/debug/queue", exposition.Handler(report.Queues...))
	}

	// Create the resources and the APIs without stored objects.
	if err := apiserver.InstallGroups(s.generic, c.generic, c.host, screens, o.Workloads.MaxMachines, &stores); err != nil {
		return err
	}
	if err := reports.Install(s.generic, report, s.maintenance, protectedkeys.New(o.PrivilegedUsers...).Privileged); err != nil {
		return err
	}
	if err := s.generic.AddReadyzChecks(health.Checks()...); err != nil {
		return fmt.Errorf("adding the checks of the %s: %w", controllersHook, err)
	}

	// Compare the stores before the server listens, to avoid a second start. The gate keeps the error.
	_ = s.store.Compare(ctx)
	return nil
}

// controllers holds the controllers and their shared objects.
type controllers struct {
	leases *lease.Leases
	// clients write while the controllers' Lease is held. informers read the objects of this API.
	clients   *clients
	informers externalversions.SharedInformerFactory
	// broadcaster writes the events given to recorder.
	broadcaster events.EventBroadcaster
	recorder    events.EventRecorder
	vcenters    *connections.Manager
	// machines reads Machines and Clusters of this API and of Cluster API.
	machines *clusterapi.Reader
	probes   *probe.Prober
	// workloads connects to workload clusters. kinds reads the objects that Machines and Clusters refer to.
	workloads *workload.Clusters
	kinds     *contract.Resolver

	// parts are the components that run starts.
	parts      []part
	queues     []priorityqueue.Snapshotter
	collectors []prometheus.Collector
	errs       []error
}

// part runs until ctx is done. With a Lease, it runs while the Lease is held; otherwise it runs in every replica.
type part struct {
	lease string
	run   func(ctx context.Context) error
}

// build creates the controllers and their shared objects. It starts nothing.
func (a *controllers) build(o *Options, c *config, s *Server, stores *references.Readers) error {
	var err error
	if a.leases, err = newLeases(o, c.host, s.etcd != nil, s.fail); err != nil {
		return err
	}
	if a.clients, err = newClients(o, s.InProcessConfig(), c.hostConfig, a.leases.Fence(connections.ControllersLease)); err != nil {
		return err
	}
	a.informers = newInformers(a.clients.client, stores)
	host := o.limitSecrets(c.host) // reads do not wait for a Lease
	a.broadcaster = events.NewBroadcaster(&events.EventSinkImpl{Interface: host.EventsV1()})
	a.recorder = a.broadcaster.NewRecorder(clientscheme.Scheme, serverName)

	happened := vcenterevents.New(host, serverName)
	if a.vcenters, err = newManager(o, a.informers, a.leases, host, s.store.ID, happened); err != nil {
		return err
	}
	a.background("", a.vcenters.Run)
	a.background("", happened.Run)

	if a.machines, err = clusterapi.New(a.informers, a.clients.dynamic, a.clients.host.Discovery()); err != nil {
		return err
	}
	a.background("", a.machines.Run)

	guests, clusters, addresses, err := newNetworks(o, a.clients.host)
	if err != nil {
		return err
	}
	if addresses != nil {
		a.background("", addresses.Run)
	}
	a.probes = probe.New(probe.Options{Connections: o.Probes.Connections, Networks: guests})
	if a.kinds, a.workloads, err = newWorkloads(o, a.clients, a.informers, clusters); err != nil {
		return err
	}
	a.background(connections.ControllersLease, a.workloads.Run)

	a.collectors = slices.Concat(a.vcenters.Collectors(), a.probes.Collectors(), a.workloads.Collectors(), []prometheus.Collector{happened.Collector()},
		vmmetrics.New(o.VMMetrics, a.informers, func(vm *vmv1alpha1.VirtualMachine) bool { return a.vcenters.IsOwned(a.vcenters.VCenterOf(vm)) }, a.vcenters.Usage))
	a.create(o, c)
	return errors.Join(a.errs...)
}

// create creates the controllers.
func (a *controllers) create(o *Options, c *config) {
	client, informers, recorder, vcenters := a.clients.client, a.informers, a.recorder, a.vcenters
	provider, shard, images, labels := vcenters.Provider(), vcenters.Shard(), vcenters.Images(), namespaceLabels(c.hostInformers)
	queue := controller.QueueOptions{Aging: o.Controllers.QueueAging, Fairness: o.Controllers.QueueFairness}
	rules, err := o.Workloads.rules()
	a.errs = append(a.errs, err)
	// Controllers of vCenter objects run in every replica, the others in one.
	every, one := a.in(""), a.in(connections.ControllersLease)

	every(vmcontroller.New(vmcontroller.Deps{
		Client: client, Informers: informers, Host: a.clients.host, Addresses: addressclaim.New(a.clients.dynamic, a.clients.host.Discovery()), Machines: a.machines,
		Provider: provider, Recorder: recorder, Shard: shard, VCenterOf: vcenters.VCenterOf, Prober: a.probes, NamespaceLabels: labels,
		Policy:  synchronizer.Policy(o.Controllers.InstancetypeReferencePolicy),
		Workers: o.Controllers.Workers, ResyncPeriod: o.Controllers.ResyncPeriod, Queue: queue, Blocking: o.Controllers.BlockingOperations,
		FastDeploy: vmv1alpha1.FastDeployMode(o.Controllers.FastDeploy),
	}))
	one(revision.New(revision.Deps{Client: client, Informers: informers}))
	every(vcenter.New(vcenter.Deps{Client: client, Informers: informers, VCenters: vcenters}))
	every(zone.New(zone.Deps{Client: client, Informers: informers, Zones: vcenters.Zones()}))
	// Images are read in all vCenters.
	one(image.New(image.Deps{Client: client, Informers: informers, Images: images, Shard: shard}))
	one(library.New(library.Deps{Client: a.as(library.Name).client, Informers: informers, Images: images, Shard: shard}))
	every(cachecontroller.New(cachecontroller.Deps{
		Client: client, Informers: informers, VCenters: vcenters.Copies(), Recorder: recorder, Policy: cachecontroller.Policy{
			MaxAge: o.Controllers.ImageCacheMaxAge, MinFreePercent: o.Controllers.ImageCacheMinFree, MinIdle: cachecontroller.DefaultMinIdle,
		},
	}))
	one(resourcequota.New(resourcequota.Deps{Host: a.clients.host, HostInformers: c.hostInformers, Informers: informers, Usage: c.charges.Usage}))
	every(publish.New(publish.Deps{Client: client, Informers: informers, Provider: provider, NamespaceLabels: labels, Recorder: recorder, Shard: shard}))
	one(group.New(group.Deps{Client: client, Informers: informers}))
	every(snapshot.New(snapshot.Deps{Client: client, Informers: informers, Provider: provider, Shard: shard, VCenterOf: vcenters.VCenterOf, Recorder: recorder}))
	machines, err := machine.New(machine.Deps{
		Client: client, Informers: informers, Kinds: a.kinds, Workloads: machine.NewWorkloads(a.workloads), Recorder: recorder, NodeRules: rules,
		Grace: o.Workloads.Grace, Workers: o.Workloads.Workers, ResyncPeriod: o.Controllers.ResyncPeriod, Queue: queue,
	})
	if one(machines, err); err == nil {
		a.workloads.OnCluster(machines.OnCluster)
		a.workloads.OnNode(machines.OnNode)
		a.workloads.SetNodeFilter(machines.HasMachine)
	}
	one(infrastructure.New(infrastructure.Deps{Client: client, Informers: informers, Clusters: a.machines, Zones: vcenters.Choice, NamespaceLabels: labels}))
	sets := a.as(machineset.Name)
	one(machineset.New(machineset.Deps{
		Client: sets.client, Informers: informers, External: sets.kinds, Recorder: recorder, CreationsPerMinute: o.Workloads.MachineCreations,
	}))
	one(machinedeployment.New(machinedeployment.Deps{Client: a.as(machinedeployment.Name).client, Informers: informers, Recorder: recorder}))
	checks := a.as(healthcheck.Name)
	one(healthcheck.New(healthcheck.Deps{Client: checks.client, Informers: informers, Nodes: a.workloads, External: checks.kinds, Recorder: recorder}))
	one(cluster.New(cluster.Deps{
		Client: client, Informers: informers, Connections: a.workloads, Recorder: recorder, Grace: o.Workloads.Grace,
		External: func(ctx context.Context, handler cache.ResourceEventHandler) cluster.External {
			return contract.NewObjects(ctx, a.kinds, handler)
		},
	}))
}

// runnable is a controller. Run returns when ctx is done and all its goroutines have ended.
type runnable interface {
	Run(ctx context.Context) error
	Collectors() []prometheus.Collector
	Queue() priorityqueue.Snapshotter
	RecordTo(recorder events.EventRecorder)
}

// in returns a function that adds a controller that runs while a Lease is held.
func (a *controllers) in(lease string) func(runnable, error) {
	return func(c runnable, err error) {
		if err != nil {
			a.errs = append(a.errs, err)
			return
		}
		c.RecordTo(a.recorder)
		a.parts = append(a.parts, part{lease, c.Run})
		a.queues = append(a.queues, c.Queue())
		a.collectors = append(a.collectors, c.Collectors()...)
	}
}

// background adds a component that runs in addition to the controllers.
func (a *controllers) background(lease string, run func(ctx context.Context)) {
	a.parts = append(a.parts, part{lease, func(ctx context.Context) error { run(ctx); return nil }})
}

// run runs the components until ctx is done or one fails. It returns when all have ended.
func (a *controllers) run(ctx context.Context) error {
	a.leases.Contend(ctx, connections.ControllersLease, false)
	defer a.broadcaster.Shutdown()
	if err := a.broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("starting the event recorder: %w", err)
	}
	legacyregistry.RawMustRegister(a.collectors...)
	running, ctx := errgroup.WithContext(ctx)
	for _, p := range a.parts {
		running.Go(func() error {
			if p.lease != "" && a.leases.Await(ctx, p.lease) != nil {
				return nil
			}
			return p.run(ctx)
		})
	}
	return running.Wait()
}
