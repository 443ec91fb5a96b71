// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/networks"
)

// reach is how what controls machines reaches what is not ours.
type reach struct {
	// kinds are those of bootstrap, infrastructure and control plane objects.
	kinds *contract.Resolver
	// clusters are the workload clusters.
	clusters *workload.Clusters
}

// newReach returns a reach that connects to the workload clusters that to allows.
func newReach(d *controllerDeps, c *clients, informers externalversions.SharedInformerFactory, to networks.Networks) (*reach, error) {
	ours, err := dynamic.NewForConfig(c.own)
	if err != nil {
		return nil, fmt.Errorf("making the client of machines' objects in our own API: %w", err)
	}
	labels, err := metadata.NewForConfig(c.hostConfig)
	if err != nil {
		return nil, fmt.Errorf("making the client of metadata of the host cluster: %w", err)
	}
	watched := metadata.Interface(labels)
	if len(d.options.SecretNamespaces) > 0 {
		watched = nil // of all namespaces
	}
	clusters := informers.Cluster().V1alpha1().Clusters().Lister()
	return &reach{
		kinds: contract.New(contract.Options{Own: ours, Host: c.dynamic, Kinds: contract.Kinds{Discovery: c.host.Discovery().RESTClient(), Metadata: labels}}),
		clusters: workload.New(workload.Options{
			Host: c.host, Metadata: watched, Networks: to, Wrap: c.fence.Transport, UserAgent: serverName + "/" + version, Grace: d.options.Workloads.Grace,
			Wanted: func(key types.NamespacedName) bool {
				_, err := clusters.Clusters(key.Namespace).Get(key.Name)
				return err == nil
			},
		}),
	}, nil
}

func newMachines(s *shared) (runnable, error) {
	o := s.options
	rules, err := o.Workloads.rules()
	if err != nil {
		return nil, err
	}
	c, err := machine.New(machine.Deps{
		Client: s.client, Informers: s.informers, Kinds: s.reach.kinds, Workloads: machine.Of(s.reach.clusters), Recorder: s.recorder,
		NodeRules: rules, Grace: o.Workloads.Grace, Workers: o.Workloads.Workers, ResyncPeriod: o.Controllers.ResyncPeriod,
		Queue: controller.QueueOptions{Aging: o.Controllers.QueueAging, Fairness: o.Controllers.QueueFairness},
	})
	if err != nil {
		return nil, err
	}
	s.reach.clusters.OnCluster(c.OnCluster)
	s.reach.clusters.OnNode(c.OnNode)
	s.reach.clusters.KeepNodes(c.HasMachine)
	return c, nil
}
