// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // the flag --logging-format=json
	"k8s.io/component-base/term"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apiserver"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/charge"
	"github.com/slipway-dev/slipway/pkg/controller/fleet/vmmetrics"
	"github.com/slipway-dev/slipway/pkg/store/identity"
	"github.com/slipway-dev/slipway/pkg/store/maintenance"
)

// etcdPrefix is the default prefix of the objects in etcd.
const etcdPrefix = identity.DefaultPrefix

const (
	// defaultShutdownDelay is what kube-proxy and the aggregator take to learn of an address
	// that is not to be used any more, with some room.
	defaultShutdownDelay = 5 * time.Second
	maxShutdownDelay     = 10 * time.Minute
	// defaultMaxWatches is enough for a controller that watches ten kinds in fifty namespaces.
	defaultMaxWatches, maxMaxWatches = 500, 100_000
)

// Options are the flags of the server.
type Options struct {
	// Recommended are the flags that all aggregated API servers have.
	Recommended *genericoptions.RecommendedOptions
	// Logs are the flags of logging.
	Logs *logs.Options
	// ShutdownDelay is how long requests are served on after readiness has ended.
	ShutdownDelay time.Duration
	// DataDir holds the embedded etcd when no etcd servers are given.
	DataDir string
	// EtcdUnsafeNoFsync makes the embedded etcd faster and unsafe.
	EtcdUnsafeNoFsync bool
	// EtcdQuotaBytes limits the data of the embedded etcd; 0 follows its file system.
	EtcdQuotaBytes int64
	// Snapshots are those that the server takes of etcd.
	Snapshots SnapshotOptions
	// AnyNameFirst asks for a user's rights on all objects before those on one.
	AnyNameFirst bool
	// MaxWatches is the number of watches that a user can have open.
	MaxWatches int
	// PrivilegedUsers may change protected keys.
	PrivilegedUsers []string
	// VCenter says how to reach vSphere.
	VCenter VCenterOptions
	// Controllers says how the controllers run.
	Controllers ControllerOptions
	// Probes says how readiness probes connect to guests.
	Probes ProbeOptions
	// Workloads says how the server connects to workload clusters.
	Workloads WorkloadOptions
	// SecretNamespaces are those whose Secrets are read for users; all if there are none.
	SecretNamespaces []string
	// VMMetrics is which metrics of single virtual machines are shown: none, state,
	// conditions or usage.
	VMMetrics string
	// GCPercent is how much the heap may grow, in percent, before garbage is collected.
	GCPercent int
	// Host, if not nil, stands for the host cluster where a subresource or an admission
	// check reads from it. It is no flag: tests without a host cluster set it.
	Host kubernetes.Interface
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	o := &Options{
		Recommended:  apiserver.NewRecommendedOptions(etcdPrefix),
		Logs:         logs.NewOptions(),
		VCenter:      newVCenterOptions(),
		Controllers:  newControllerOptions(),
		Probes:       newProbeOptions(),
		Workloads:    newWorkloadOptions(),
		AnyNameFirst: true,
		MaxWatches:   defaultMaxWatches,
		VMMetrics:    vmmetrics.State,
		Snapshots:    newSnapshotOptions(),

		ShutdownDelay: defaultShutdownDelay,
		GCPercent:     defaultGCPercent,
	}
	// Without a certificate the server makes one in memory, not in the working directory.
	o.Recommended.SecureServing.ServerCert.CertDirectory = ""
	charge.AddTo(o.Recommended.Admission)
	return o
}

// NewStandaloneOptions returns the defaults of a server without a host cluster: no
// delegated authentication and authorization, no admission plugins of the cluster, no
// controllers. Only members of system:masters are let in. It listens on a free port of
// the loopback interface and is meant for tests.
func NewStandaloneOptions(dataDir string) (*Options, error) {
	listener, _, err := genericoptions.CreateListener("tcp", "127.0.0.1:0", net.ListenConfig{})
	if err != nil {
		return nil, fmt.Errorf("listening on a free port: %w", err)
	}
	o := NewOptions()
	o.DataDir, o.EtcdUnsafeNoFsync = dataDir, true
	o.ShutdownDelay = 0 // there is no probe, and nobody else to go to
	o.Recommended.CoreAPI = nil
	o.Recommended.Admission = nil
	o.Recommended.Authentication.RemoteKubeConfigFileOptional = true
	o.Recommended.Authentication.SkipInClusterLookup = true
	o.Recommended.Authorization.RemoteKubeConfigFileOptional = true
	o.Recommended.Features.EnablePriorityAndFairness = false
	o.Recommended.SecureServing.BindAddress = net.IPv4(127, 0, 0, 1)
	o.Recommended.SecureServing.Listener = listener
	return o, nil
}

// Flags returns the flags in named sections.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sets cliflag.NamedFlagSets
	o.Recommended.SecureServing.AddFlags(sets.FlagSet("secure serving"))
	sets.FlagSet("secure serving").DurationVar(&o.ShutdownDelay, "shutdown-delay-duration", o.ShutdownDelay, fmt.Sprintf(
		"How long the server still serves requests after it received SIGTERM, at most %s. Meanwhile /readyz fails and each answer closes its connection, so that clients connect to other replicas. The controllers stop and return their Leases. The readiness probe must fail within this time.", maxShutdownDelay))
	o.Recommended.Authentication.AddFlags(sets.FlagSet("authentication"))
	o.Recommended.Authorization.AddFlags(sets.FlagSet("authorization"))
	sets.FlagSet("secure serving").IntVar(&o.MaxWatches, "max-watches-per-user", o.MaxWatches, "Number of watches that a user can have open in this server. More are refused with status 429.")
	sets.FlagSet("authorization").BoolVar(&o.AnyNameFirst, "authorization-any-name-first", o.AnyNameFirst,
		"Ask the host cluster first whether a user may do to all objects of a kind what is asked for one, and let a yes count: going over many objects then takes one SubjectAccessReview. To be false if the host cluster has an authorizer that refuses single objects to who has the right on all; those of Kubernetes do not.")
	o.Recommended.CoreAPI.AddFlags(sets.FlagSet("host cluster"))
	sets.FlagSet("host cluster").StringSliceVar(&o.SecretNamespaces, "secret-namespaces", o.SecretNamespaces,
		"Namespaces of the management cluster whose Secrets the server reads: bootstrap data of virtual machines and kubeconfigs of workload clusters. Empty means all. Credentials of vCenters are always read from the namespaces that other flags name.")
	o.Recommended.Admission.AddFlags(sets.FlagSet("admission"))
	o.Recommended.Audit.AddFlags(sets.FlagSet("auditing"))
	o.Recommended.Features.AddFlags(sets.FlagSet("features"))
	o.Recommended.EgressSelector.AddFlags(sets.FlagSet("egress selector"))
	o.Recommended.Traces.AddFlags(sets.FlagSet("traces"))

	etcd := sets.FlagSet("etcd")
	o.Recommended.Etcd.AddFlags(etcd)
	// The encoding is part of the design and not to be chosen.
	_ = etcd.MarkHidden("storage-media-type")
	etcd.StringVar(&o.DataDir, "data-dir", o.DataDir, "Directory of the embedded etcd, which is used when --etcd-servers is empty.")
	etcd.BoolVar(&o.EtcdUnsafeNoFsync, "etcd-unsafe-no-fsync", o.EtcdUnsafeNoFsync, "Let the embedded etcd acknowledge writes before they are on disk. For tests.")

	etcd.Int64Var(&o.EtcdQuotaBytes, "etcd-quota-backend-bytes", o.EtcdQuotaBytes, fmt.Sprintf(
		"Size of the data of the embedded etcd at which it refuses writes, in bytes, from %d to %d; 0 for half of the file system of --data-dir, at least 256 MiB and at most 8 GiB. New objects are refused from 95 percent of it on.",
		maintenance.MinQuota, maintenance.MaxQuota))
	o.Snapshots.addFlags(etcd)

	o.VCenter.addFlags(sets.FlagSet("vCenter"))
	o.Controllers.addFlags(sets.FlagSet("controllers"))
	o.Probes.addFlags(sets.FlagSet("controllers"))
	o.Workloads.addFlags(sets.FlagSet("workload clusters"))
	sets.FlagSet("metrics").StringVar(&o.VMMetrics, "vm-metrics", o.VMMetrics,
		"Metrics of single virtual machines: none, state (six for each: where it is, power, size, storage and whether it is ready), conditions (and one for each condition), or usage (and three of CPU and memory in use, which are read from vCenter when metrics are asked for, at most every 20 s).")
	sets.FlagSet("admission").StringSliceVar(&o.PrivilegedUsers, "privileged-users", o.PrivilegedUsers,
		"Users who, like members of system:masters, may change annotations and labels below a prefix that ends in .protected, name a VM of vSphere to take over, choose a BIOS UUID, and remove the finalizer of a VirtualMachine.")

	sets.FlagSet("memory").IntVar(&o.GCPercent, "gc-percent", o.GCPercent,
		"How much the heap may grow, in percent of what is in use, before garbage is collected, from 10 to 1000; less keeps memory small, more takes less processor time. A small one grows to 256 MB, or by 400, a minute after the start. GOGC in the environment goes before all of this. Whatever it is, garbage is collected before the memory limit of the container is reached.")

	utilfeature.DefaultMutableFeatureGate.AddFlag(sets.FlagSet("features"))
	logsapi.AddFlags(o.Logs, sets.FlagSet("logs"))
	return sets
}

// Validate returns every mistake in the flags, each with the flag named.
func (o *Options) Validate() error {
	var errs []error
	servers := o.Recommended.Etcd.StorageConfig.Transport.ServerList
	if len(servers) == 0 && o.DataDir == "" {
		errs = append(errs, errors.New("one of --etcd-servers and --data-dir must be given"))
	}
	if len(servers) > 0 && o.EtcdUnsafeNoFsync {
		errs = append(errs, errors.New("--etcd-unsafe-no-fsync is for the embedded etcd and excludes --etcd-servers"))
	}
	if q := o.EtcdQuotaBytes; q != 0 && (q < maintenance.MinQuota || q > maintenance.MaxQuota) {
		errs = append(errs, fmt.Errorf("--etcd-quota-backend-bytes %d: must be 0, or at least %d and at most %d", q, maintenance.MinQuota, maintenance.MaxQuota))
	}
	if len(servers) > 0 && o.EtcdQuotaBytes != 0 {
		errs = append(errs, errors.New("--etcd-quota-backend-bytes is for the embedded etcd and excludes --etcd-servers"))
	}
	if err := between("max-watches-per-user", o.MaxWatches, maxMaxWatches); err != nil {
		errs = append(errs, err)
	}
	if o.ShutdownDelay < 0 || o.ShutdownDelay > maxShutdownDelay {
		errs = append(errs, fmt.Errorf("--shutdown-delay-duration %s: must be at least 0s and at most %s", o.ShutdownDelay, maxShutdownDelay))
	}
	errs = append(errs, o.Snapshots.validate(o.DataDir)...)
	if o.GCPercent < 10 || o.GCPercent > 1000 {
		errs = append(errs, fmt.Errorf("--gc-percent %d: must be at least 10 and at most 1000", o.GCPercent))
	}
	errs = append(errs, o.validateRecommended()...)
	errs = append(errs, o.validateFiles()...)
	errs = append(errs, o.validateHost()...)
	for _, name := range o.SecretNamespaces {
		if len(apivalidation.ValidateNamespaceName(name, false)) > 0 {
			errs = append(errs, fmt.Errorf("--secret-namespaces %q: must be the name of a namespace", name))
		}
	}
	errs = append(errs, o.VCenter.validate()...)
	errs = append(errs, o.Controllers.validate()...)
	errs = append(errs, o.Probes.validate()...)
	errs = append(errs, o.Workloads.validate()...)
	if levels := []string{vmmetrics.None, vmmetrics.State, vmmetrics.Conditions, vmmetrics.Usage}; !slices.Contains(levels, o.VMMetrics) {
		errs = append(errs, fmt.Errorf("--vm-metrics %q: must be one of %s", o.VMMetrics, strings.Join(levels, ", ")))
	}
	if o.Recommended.CoreAPI == nil && o.VCenter.URL != "" {
		errs = append(errs, errors.New("--vcenter-url needs a host cluster, which keeps revisions and the Lease"))
	}
	return utilerrors.NewAggregate(errs)
}

// limitSecrets returns host, which reads no Secrets but those of --secret-namespaces and of the
// namespaces that other flags name for credentials of vCenters.
func (o *Options) limitSecrets(host kubernetes.Interface) kubernetes.Interface {
	if host == nil || len(o.SecretNamespaces) == 0 {
		return host
	}
	allowed := append([]string{o.VCenter.SecretsNamespace}, o.SecretNamespaces...)
	if secret, err := o.VCenter.Secret(); err == nil {
		allowed = append(allowed, secret.Namespace)
	}
	return apiserver.LimitSecrets(host, allowed)
}

// validateRecommended checks all but the etcd servers, which may be our own.
func (o *Options) validateRecommended() []error {
	withServer := *o.Recommended
	etcd := *o.Recommended.Etcd
	if len(etcd.StorageConfig.Transport.ServerList) == 0 {
		etcd.StorageConfig.Transport.ServerList = []string{"unix://embedded"}
	}
	withServer.Etcd = &etcd
	if withServer.Admission == nil {
		// Its Validate, unlike its other methods, does not allow for nil.
		withServer.Admission = genericoptions.NewAdmissionOptions()
	}
	return withServer.Validate()
}

// usageWidth is the width of the terminal for --help, 0 if there is none.
func usageWidth() int {
	width, _, err := term.TerminalSize(nil)
	if err != nil {
		return 0
	}
	return width
}

// groups names the API groups in the help text.
const groups = vmv1alpha1.GroupName + ", " + itv1alpha1.GroupName + " and " + clusterv1alpha1.GroupName

// minResync keeps a mistyped resync period from becoming a busy loop.
const minResync = time.Second
