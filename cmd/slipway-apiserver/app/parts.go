// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // leader_election_master_status

	"github.com/slipway-dev/slipway/pkg/apiserver"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/cluster/management"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/fleet/connections"
	"github.com/slipway-dev/slipway/pkg/controller/fleet/vcenterevents"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/lease"
	"github.com/slipway-dev/slipway/pkg/networks"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/registry/vm/references"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
)

// newLeases returns the Leases that divide the work among replicas. embeddedStore is true for a process with a store
// of its own. It has no other replicas and succeeds a previous process by the store's identity.
func newLeases(o *Options, host kubernetes.Interface, embeddedStore bool, fail func(error)) (*lease.Leases, error) {
	if !o.Controllers.LeaderElect {
		return lease.New(nil), nil
	}
	l := lease.Options{Client: host, Namespace: o.Controllers.LeaderElectNamespace, Times: lease.SharedTimes, Patience: lease.Patience, Fail: fail}
	file := ""
	if embeddedStore {
		l.Times, l.Patience, file = lease.AloneTimes, 0, filepath.Join(o.DataDir, embedded.IdentityFile)
	}
	var err error
	l.Identity, err = lease.ReplicaName(file)
	return lease.New(&l), err
}

// newInformers returns the informers of all kinds of this API.
func newInformers(client versioned.Interface, stores *references.Readers) externalversions.SharedInformerFactory {
	f := externalversions.NewSharedInformerFactoryWithOptions(apiserver.WithoutWatchList(client), 0,
		externalversions.WithTransform(controller.StripManagedFields))
	apiserver.ShareObjects(f, stores)
	return f
}

// newManager returns the manager of the connections to vCenters.
func newManager(
	o *Options, informers externalversions.SharedInformerFactory, leases *lease.Leases, host kubernetes.Interface, owner func() string, happened *vcenterevents.Recorder,
) (*connections.Manager, error) {
	m := connections.Options{
		Informers: informers, Leases: leases, Host: host, SecretsNamespace: o.VCenter.SecretsNamespace, Defaults: o.VCenter.places(),
		Owner: owner, Events: happened, Limits: engine.Limits{
			Creates: o.Controllers.ConcurrentCreates, Reconfigurations: o.Controllers.ConcurrentReconfigurations,
			PowerChanges: o.Controllers.ConcurrentPowerChanges, Deletes: o.Controllers.ConcurrentDeletes, Publishes: o.Controllers.ConcurrentPublishes,
			ImageCopies: o.Controllers.ConcurrentImageCopies,
		},
	}
	if o.VCenter.URL != "" {
		flags, err := o.VCenter.config(host)
		if err != nil {
			return nil, err
		}
		m.Flags = &flags
	}
	return connections.New(m)
}

// newNetworks returns the networks that readiness probes and workload cluster clients may connect to. addresses are
// those of the management cluster, nil if flags specify all networks.
func newNetworks(o *Options, host kubernetes.Interface) (guests, clusters networks.Networks, addresses *management.Addresses, err error) {
	if guests.Allowed, err = o.Probes.networks(); err != nil {
		return guests, clusters, nil, err
	}
	if clusters.Allowed, err = o.Workloads.networks(); err != nil {
		return guests, clusters, nil, err
	}
	if len(guests.Allowed) > 0 && len(clusters.Allowed) > 0 {
		return guests, clusters, nil, nil
	}
	if addresses, err = management.New(host); err != nil {
		return guests, clusters, nil, err
	}
	guests.Management, clusters.Management = addresses.Networks, addresses.Networks
	return guests, clusters, addresses, nil
}

// newWorkloads returns the reader of the objects that Machines and Clusters refer to, and the connector to the
// workload clusters that to allows.
func newWorkloads(o *Options, c *clients, informers externalversions.SharedInformerFactory, to networks.Networks) (*contract.Resolver, *workload.Clusters, error) {
	ours, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return nil, nil, fmt.Errorf("creating the client for machines' objects in this API: %w", err)
	}
	labels, err := metadata.NewForConfig(c.hostConfig)
	if err != nil {
		return nil, nil, fmt.Errorf("creating the metadata client of the management cluster: %w", err)
	}
	watched := metadata.Interface(labels)
	if len(o.SecretNamespaces) > 0 {
		watched = nil // of all namespaces
	}
	kinds := contract.New(contract.Options{OwnClient: ours, ManagementClient: c.dynamic, Kinds: contract.Kinds{Discovery: c.host.Discovery().RESTClient(), Metadata: labels}})
	clusters := informers.Cluster().V1alpha1().Clusters().Lister()
	return kinds, workload.New(workload.Options{
		Host: c.host, Metadata: watched, Networks: to, Wrap: c.fence.WrapTransport, UserAgent: serverName + "/" + version, Grace: o.Workloads.Grace,
		IsNeeded: func(key types.NamespacedName) bool {
			_, err := clusters.Clusters(key.Namespace).Get(key.Name)
			return err == nil
		},
	}), nil
}

// namespaceLabels returns the labels of a namespace from a cache, or nil if it is not cached.
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

// informersSynced reports whether the informers that every reconcile needs have synced.
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
