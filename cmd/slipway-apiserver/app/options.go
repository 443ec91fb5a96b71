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
	// defaultShutdownDelay leaves kube-proxy and the aggregator time to stop using the address of a terminating
	// replica.
	defaultShutdownDelay = 5 * time.Second
	maxShutdownDelay     = 10 * time.Minute
	// defaultMaxWatches is enough for a controller that watches ten kinds in fifty namespaces.
	defaultMaxWatches, maxMaxWatches = 500, 100_000
)

// Options holds the flags of the server.
type Options struct {
	// Recommended holds the flags that all aggregated API servers have.
	Recommended *genericoptions.RecommendedOptions
	// Logs holds the logging flags.
	Logs *logs.Options
	// ShutdownDelay is how long requests are still served after readiness fails.
	ShutdownDelay time.Duration
	// DataDir is the directory of the embedded etcd, which is used when no etcd servers are given.
	DataDir string
	// EtcdUnsafeNoFsync lets the embedded etcd acknowledge writes before they are on disk.
	EtcdUnsafeNoFsync bool
	// EtcdQuotaBytes limits the data of the embedded etcd. 0 derives the limit from the size of its file system.
	EtcdQuotaBytes int64
	// Snapshots configures the scheduled etcd snapshots.
	Snapshots SnapshotOptions
	// AnyNameFirst checks a user's permission on all objects of a kind before the permission on a single object.
	AnyNameFirst bool
	// MaxWatches is the number of watches that a user can have open.
	MaxWatches int
	// PrivilegedUsers may change protected keys.
	PrivilegedUsers []string
	// VCenter configures the connection to vSphere.
	VCenter VCenterOptions
	// Controllers configures the controllers.
	Controllers ControllerOptions
	// Probes configures the connections of readiness probes to guests.
	Probes ProbeOptions
	// Workloads configures the connections to workload clusters.
	Workloads WorkloadOptions
	// SecretNamespaces are the namespaces whose Secrets are read for users. Empty means all namespaces.
	SecretNamespaces []string
	// VMMetrics selects the metrics of individual virtual machines: none, state, conditions or usage.
	VMMetrics string
	// GCPercent is how much the heap may grow, in percent, before garbage is collected.
	GCPercent int
	// Host, if not nil, is the client that replaces that of the management cluster for reads by subresources and
	// admission checks. It has no flag; tests without a management cluster set it.
	Host kubernetes.Interface
}

// NewOptions returns the default options.
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
	// Without a certificate the server creates one in memory, not in the working directory.
	o.Recommended.SecureServing.ServerCert.CertDirectory = ""
	charge.AddTo(o.Recommended.Admission)
	return o
}

// NewStandaloneOptions returns the defaults of a server without a management cluster, for tests. It has no delegated
// authentication or authorization, no admission plugins of the cluster and no controllers. Only members of
// system:masters are authorized. It listens on a free loopback port.
func NewStandaloneOptions(dataDir string) (*Options, error) {
	listener, _, err := genericoptions.CreateListener("tcp", "127.0.0.1:0", net.ListenConfig{})
	if err != nil {
		return nil, fmt.Errorf("listening on a free port: %w", err)
	}
	o := NewOptions()
	o.DataDir, o.EtcdUnsafeNoFsync = dataDir, true
	o.ShutdownDelay = 0 // there is no readiness probe and no other replica
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
		"How long requests are still served after SIGTERM while /readyz fails, at most %s. Must exceed the time until the readiness probe fails.", maxShutdownDelay))
	o.Recommended.Authentication.AddFlags(sets.FlagSet("authentication"))
	o.Recommended.Authorization.AddFlags(sets.FlagSet("authorization"))
	sets.FlagSet("secure serving").IntVar(&o.MaxWatches, "max-watches-per-user", o.MaxWatches, "Maximum number of open watches per user in this server. Further watches are rejected with status 429.")
	sets.FlagSet("authorization").BoolVar(&o.AnyNameFirst, "authorization-any-name-first", o.AnyNameFirst,
		"Check permission on all objects of a kind before single objects, to save SubjectAccessReviews. Set to false if an authorizer can deny single objects.")
	o.Recommended.CoreAPI.AddFlags(sets.FlagSet("management cluster"))
	sets.FlagSet("management cluster").StringSliceVar(&o.SecretNamespaces, "secret-namespaces", o.SecretNamespaces,
		"Namespaces whose Secrets may hold bootstrap data and workload kubeconfigs. Empty means all. vCenter credentials are not affected.")
	o.Recommended.Admission.AddFlags(sets.FlagSet("admission"))
	o.Recommended.Audit.AddFlags(sets.FlagSet("auditing"))
	o.Recommended.Features.AddFlags(sets.FlagSet("features"))
	o.Recommended.EgressSelector.AddFlags(sets.FlagSet("egress selector"))
	o.Recommended.Traces.AddFlags(sets.FlagSet("traces"))

	etcd := sets.FlagSet("etcd")
	o.Recommended.Etcd.AddFlags(etcd)
	// The encoding is fixed by the design and is not configurable.
	_ = etcd.MarkHidden("storage-media-type")
	etcd.StringVar(&o.DataDir, "data-dir", o.DataDir, "Directory of the embedded etcd. Used when --etcd-servers is empty.")
	etcd.BoolVar(&o.EtcdUnsafeNoFsync, "etcd-unsafe-no-fsync", o.EtcdUnsafeNoFsync, "Acknowledge writes to the embedded etcd before they are on disk. For tests only.")

	etcd.Int64Var(&o.EtcdQuotaBytes, "etcd-quota-backend-bytes", o.EtcdQuotaBytes, fmt.Sprintf(
		"Size quota of the embedded etcd in bytes, %d to %d. 0 is half of the file system, within 256 MiB and 8 GiB. Creates are rejected at 95 percent.",
		maintenance.MinQuota, maintenance.MaxQuota))
	o.Snapshots.addFlags(etcd)

	o.VCenter.addFlags(sets.FlagSet("vCenter"))
	o.Controllers.addFlags(sets.FlagSet("controllers"))
	o.Probes.addFlags(sets.FlagSet("controllers"))
	o.Workloads.addFlags(sets.FlagSet("workload clusters"))
	sets.FlagSet("metrics").StringVar(&o.VMMetrics, "vm-metrics", o.VMMetrics,
		"Metrics per virtual machine: none, state, conditions (state and conditions) or usage (conditions and CPU and memory in use, read at most every 20 s).")
	sets.FlagSet("admission").StringSliceVar(&o.PrivilegedUsers, "privileged-users", o.PrivilegedUsers,
		"Users who, like members of system:masters, may set labels and annotations whose prefix ends with .protected, adopt VMs, set BIOS UUIDs and remove the finalizer of a VirtualMachine.")

	sets.FlagSet("memory").IntVar(&o.GCPercent, "gc-percent", o.GCPercent,
		"Heap growth in percent that triggers garbage collection, 10 to 1000. Small heaps may grow to 256 MB. The variable GOGC takes precedence.")

	utilfeature.DefaultMutableFeatureGate.AddFlag(sets.FlagSet("features"))
	logsapi.AddFlags(o.Logs, sets.FlagSet("logs"))
	return sets
}

// Validate returns all errors in the flags. Each error names its flag.
func (o *Options) Validate() error {
	var errs []error
	servers := o.Recommended.Etcd.StorageConfig.Transport.ServerList
	if len(servers) == 0 && o.DataDir == "" {
		errs = append(errs, errors.New("either --etcd-servers or --data-dir must be set"))
	}
	if len(servers) > 0 && o.EtcdUnsafeNoFsync {
		errs = append(errs, errors.New("--etcd-unsafe-no-fsync applies to the embedded etcd only and cannot be used with --etcd-servers"))
	}
	if q := o.EtcdQuotaBytes; q != 0 && (q < maintenance.MinQuota || q > maintenance.MaxQuota) {
		errs = append(errs, fmt.Errorf("--etcd-quota-backend-bytes %d: must be 0, or at least %d and at most %d", q, maintenance.MinQuota, maintenance.MaxQuota))
	}
	if len(servers) > 0 && o.EtcdQuotaBytes != 0 {
		errs = append(errs, errors.New("--etcd-quota-backend-bytes applies to the embedded etcd only and cannot be used with --etcd-servers"))
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
			errs = append(errs, fmt.Errorf("--secret-namespaces %q: must be a valid namespace name", name))
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
		errs = append(errs, errors.New("--vcenter-url requires a management cluster, which stores the Leases of the controllers"))
	}
	return utilerrors.NewAggregate(errs)
}

// limitSecrets returns a client that reads Secrets only from --secret-namespaces and from the namespaces that other
// flags specify for vCenter credentials.
func (o *Options) limitSecrets(management kubernetes.Interface) kubernetes.Interface {
	if management == nil || len(o.SecretNamespaces) == 0 {
		return management
	}
	allowed := append([]string{o.VCenter.SecretsNamespace}, o.SecretNamespaces...)
	if secret, err := o.VCenter.Secret(); err == nil {
		allowed = append(allowed, secret.Namespace)
	}
	return apiserver.LimitSecrets(management, allowed)
}

// validateRecommended validates everything except the etcd servers, which are not set for the embedded etcd.
func (o *Options) validateRecommended() []error {
	withServer := *o.Recommended
	etcd := *o.Recommended.Etcd
	if len(etcd.StorageConfig.Transport.ServerList) == 0 {
		etcd.StorageConfig.Transport.ServerList = []string{"unix://embedded"}
	}
	withServer.Etcd = &etcd
	if withServer.Admission == nil {
		// Validate of this type, unlike its other methods, does not accept nil.
		withServer.Admission = genericoptions.NewAdmissionOptions()
	}
	return withServer.Validate()
}

// usageWidth returns the terminal's width for --help, or 0 if the output is not a terminal.
func usageWidth() int {
	width, _, err := term.TerminalSize(nil)
	if err != nil {
		return 0
	}
	return width
}

// groups lists the API groups in the help text.
const groups = vmv1alpha1.GroupName + ", " + itv1alpha1.GroupName + " and " + clusterv1alpha1.GroupName

// minResync prevents a mistyped resync period from causing a busy loop.
const minResync = time.Second
