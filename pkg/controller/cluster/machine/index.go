// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"k8s.io/client-go/tools/cache"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
)

// Indexes of Machines. Each value starts with the namespace.
const (
	indexByCluster    = "machine/cluster"
	indexBySet        = "machine/set"
	indexByDeployment = "machine/deployment"
	// Nodes and provider IDs are indexed together with the Cluster.
	indexByNode     = "machine/node"
	indexByProvider = "machine/provider"
)

var indexers = cache.Indexers{
	indexByCluster: indexFunc(func(m *machine) string { return m.Spec.ClusterName }),
	indexBySet:     indexFunc(func(m *machine) string { return ownerName(m, step.MachineSetKind) }),
	indexByDeployment: indexFunc(func(m *machine) string {
		return m.Labels[clusterv1alpha1.MachineDeploymentNameLabel]
	}),
	indexByNode:     indexFunc(func(m *machine) string { return inCluster(m.Spec.ClusterName, m.Status.NodeRef.Name) }),
	indexByProvider: indexFunc(func(m *machine) string { return inCluster(m.Spec.ClusterName, workload.ProviderKey(m.Spec.ProviderID)) }),
}

// inCluster returns the index value for a value within a Cluster, or "" if value is empty.
func inCluster(cluster, value string) string {
	if value == "" {
		return ""
	}
	return cluster + "/" + value
}

func indexFunc(value func(*machine) string) cache.IndexFunc {
	return controller.IndexBy(func(m *machine) []string {
		if value(m) == "" {
			return nil
		}
		return []string{m.Namespace + "/" + value(m)}
	})
}
