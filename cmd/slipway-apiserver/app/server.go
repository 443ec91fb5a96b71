// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/apiserver"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/protectedkeys"
	"github.com/slipway-dev/slipway/pkg/apiserver/certs/servingcert"
	"github.com/slipway-dev/slipway/pkg/apiserver/inprocess"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/pkg/store/identity"
	"github.com/slipway-dev/slipway/pkg/store/maintenance"
)

// serverName is what the server calls itself to others.
const serverName = "slipway-apiserver"

// lockTimeout is how long the process that used the data directory before may take to end.
const lockTimeout = 2 * time.Second

// NewCommand returns the command line of the server, which runs until ctx is done.
func NewCommand(ctx context.Context) *cobra.Command {
	o := NewOptions()
	cmd := &cobra.Command{
		Use:   serverName,
		Short: "Serve virtual machines on vSphere as Kubernetes API objects",
		Long: "slipway-apiserver serves the API groups " + groups + ",\n" +
			"aggregated into the API of a host cluster, and makes vSphere follow the objects.\n" +
			"slipway-apiserver etcd --help tells how to save, restore and check the embedded etcd.",
		Version: version,
		Args:    cobra.NoArgs,
		// The help is some hundred lines: an error would be lost behind it.
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := applyLogs(o.Logs); err != nil {
				return err
			}
			if o.VCenter.Check {
				return checkVCenter(ctx, o, cmd.OutOrStdout())
			}
			cliflag.PrintFlags(cmd.Flags())
			if err := o.Validate(); err != nil {
				return err
			}
			limitMemory(memlimit.FromCgroup)
			collectGarbage(o.GCPercent)
			server, err := New(ctx, o)
			if err != nil && ctx.Err() != nil {
				klog.FromContext(ctx).Info("Told to stop before it served", "reason", err)
				return nil
			}
			if err != nil {
				return err
			}
			return server.Run(ctx)
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; %s --help lists the flags", err, cmd.Name())
	})
	sets := o.Flags()
	globalflag.AddGlobalFlags(sets.FlagSet("global"), cmd.Name(), logs.SkipLoggingConfigurationFlags())
	for _, set := range sets.FlagSets {
		cmd.Flags().AddFlagSet(set)
	}
	plain := &cobra.Command{}
	usage, help := plain.UsageFunc(), plain.HelpFunc()
	cliflag.SetUsageAndHelpFunc(cmd, sets, usageWidth())
	etcd := newEtcdCommand(ctx)
	etcd.SetUsageFunc(usage) // else it would show the flags of the server
	etcd.SetHelpFunc(help)
	cmd.AddCommand(etcd)
	return cmd
}

// Server is slipway-apiserver, not yet running.
type Server struct {
	generic *genericapiserver.GenericAPIServer
	etcd    *embedded.Server // nil with --etcd-servers
	// embedded makes the stores over etcd; nil without it.
	embedded *apiserver.Embedded
	// prober queries etcd for storeHealth; nil with an embedded etcd.
	prober      factory.Prober
	storeHealth *apiserver.StoreHealth
	failed      chan error
	// controllers waits until all of them have ended.
	controllers func()
	// store is compared with the one that the host cluster knows.
	store *identity.Gate
	// maintenance measures the space of etcd and takes snapshots.
	maintenance *maintenance.Store
	snapshots   SnapshotOptions
	// certificate is the serving one, nil when flags give it.
	certificate *servingcert.Manager
	// gcPercent is by how much the heap may grow before it is collected.
	gcPercent int
}

// New starts the embedded etcd, if there is to be one, waits until the host cluster
// answers, and makes the server. ctx bounds the making. The caller must call Run, also when ctx is done by then.
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

// The metrics of the store are one set in a process, which may start several servers in tests.
var (
	registerStoreMetrics    = sync.OnceFunc(func() { legacyregistry.RawMustRegister(maintenance.Metrics()...) })
	registerEmbeddedMetrics = sync.OnceFunc(func() { legacyregistry.RawMustRegister(embedded.Metrics()) })
)

func (s *Server) build(ctx context.Context, o *Options) error {
	i, err := awaitHost(ctx, o)
	if err != nil {
		return err
	}
	if s.certificate, err = manageCertificate(ctx, o); err != nil {
		return err
	}
	c, err := newConfig(o, s.etcd, s.maintenance, i)
	if err != nil {
		return err
	}
	s.embedded, s.store, s.storeHealth = c.embedded, c.store, c.storeHealth
	// An embedded etcd that answers late is busy: ending the requests in progress would only repeat them.
	if s.etcd == nil {
		if s.prober, err = factory.CreateProber(o.Recommended.Etcd.StorageConfig); err != nil {
			return fmt.Errorf("connecting to etcd: %w", err)
		}
	}
	s.generic, err = c.generic.New(serverName, genericapiserver.NewEmptyDelegate())
	if err != nil {
		return fmt.Errorf("making the server: %w", err)
	}
	shown := &consoles{}
	readers, err := apiserver.InstallGroups(s.generic, c.generic, c.host, shown, o.Workloads.MaxMachines)
	if err != nil {
		return err
	}
	c.charges.ReadFrom(readers)
	d := &controllerDeps{
		options: o, loopback: s.InProcessConfig(), stores: readers, hostConfig: c.hostConfig, host: o.limitSecrets(c.host),
		charges: c.charges, hostInformers: c.hostInformers,
		health: c.health, store: c.store, mux: s.generic.Handler.NonGoRestfulMux, orphans: &orphanReport{privileged: protectedkeys.New(o.PrivilegedUsers...).Privileged},
		consoles: shown, queues: &queueReport{},
	}
	if s.etcd != nil {
		d.dataDir, d.alone = o.DataDir, true
	}
	if err := errors.Join(d.orphans.install(s.generic), d.queues.install(s.generic)); err != nil {
		return err
	}
	if err := (&backups{s.maintenance}).install(s.generic); err != nil {
		return err
	}
	// Before it listens: what comes at once needs not come again. The gate keeps the error.
	_ = s.store.Compare(ctx)
	s.controllers, err = addControllers(s.generic, d, s.fail)
	return err
}

// InProcessConfig reaches the handlers of the server as a privileged user, through everything
// that judges and counts requests, and without a connection.
func (s *Server) InProcessConfig() *rest.Config {
	config := s.LoopbackClientConfig()
	config.TLSClientConfig = rest.TLSClientConfig{}
	config.Transport = inprocess.Transport(s.generic.Handler)
	return config
}

// LoopbackClientConfig reaches the server as a privileged user.
func (s *Server) LoopbackClientConfig() *rest.Config {
	return rest.CopyConfig(s.generic.LoopbackClientConfig)
}

// Run serves until told is done or a part fails, and returns when everything has
// stopped. Being told to stop is no error.
func (s *Server) Run(told context.Context) error {
	defer s.close()
	// What is to be known of a stop is written before it begins: only watch begins one.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(told))
	defer cancel(nil)
	go s.watch(ctx, told, cancel)
	var beside sync.WaitGroup
	beside.Go(func() {
		if err := s.store.Run(ctx); err != nil {
			s.fail(err)
		}
	})
	if s.prober != nil {
		beside.Go(func() { s.storeHealth.Run(ctx, s.prober.Probe) })
	}
	beside.Go(func() { tendMemory(ctx, s.gcPercent) })
	if s.certificate != nil {
		beside.Go(func() { s.certificate.Run(ctx) })
	}
	beside.Go(func() { s.maintenance.Run(ctx) })
	if schedule, ok := s.snapshots.schedule(s.maintenance.External()); ok {
		beside.Go(func() { s.maintenance.KeepSnapshots(ctx, schedule) })
	}

	err := s.generic.PrepareRun().RunWithContext(ctx)
	cancel(nil)
	s.controllers()
	beside.Wait()
	// The host cluster is told of the last writes; without it the server stops as well.
	_ = s.store.Compare(context.WithoutCancel(ctx))
	if err != nil {
		return fmt.Errorf("serving the API: %w", err)
	}
	var failure *partError
	if errors.As(context.Cause(ctx), &failure) {
		return failure
	}
	return nil
}

// partError says which part made the server stop.
type partError struct{ error }

// Unwrap returns the cause.
func (e *partError) Unwrap() error { return e.error }

// watch ends Run when it is told to or a part fails.
func (s *Server) watch(ctx, told context.Context, cancel context.CancelCauseFunc) {
	var etcd <-chan error
	if s.etcd != nil {
		etcd = s.etcd.Failed()
	}
	select {
	case <-ctx.Done():
	case <-told.Done():
		cancel(nil)
	case err := <-s.failed:
		s.generic.ShutdownDelayDuration = 0 // nobody is to be served on by what has failed
		cancel(&partError{err})
	case err := <-etcd:
		s.generic.ShutdownDelayDuration = 0
		cancel(&partError{fmt.Errorf("embedded etcd failed: %w", err)})
	}
}

// fail makes Run end with err. Only the first call counts.
func (s *Server) fail(err error) {
	select {
	case s.failed <- err:
	default:
		klog.Background().Error(err, "Another part failed while the server stops")
	}
}

func (s *Server) close() {
	if s.prober != nil {
		_ = s.prober.Close()
	}
	s.store.Close()
	if s.embedded != nil {
		s.embedded.Close()
	}
	if s.maintenance != nil {
		s.maintenance.Close()
	}
	if s.etcd != nil {
		s.etcd.Close()
	}
}
