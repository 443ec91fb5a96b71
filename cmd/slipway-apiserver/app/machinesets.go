// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/cluster"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/healthcheck"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machinedeployment"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machineset"
)

// workloads are the workload clusters as those see them that look at Clusters and Nodes as a
// whole.
type workloads struct{ *workload.Clusters }

// Node implements machinehealthcheck.Nodes.
func (w workloads) Node(of types.NamespacedName, providerID, name string) (*corev1.Node, error) {
	nodes, err := w.nodes(of, providerID, name)
	for _, node := range nodes {
		if node.Name == name {
			return &node.Node, err
		}
	}
	return nil, err
}

// Registered implements machinehealthcheck.Nodes.
func (w workloads) Registered(of types.NamespacedName, providerID string) (bool, error) {
	nodes, err := w.nodes(of, providerID, "")
	return len(nodes) > 0, err
}

func (w workloads) nodes(of types.NamespacedName, providerID, name string) ([]*workload.Node, error) {
	connection, err := w.Connection(of)
	if err != nil {
		return nil, err
	}
	return connection.Nodes(providerID, name)
}

// Silent implements machinehealthcheck.Nodes.
func (w workloads) Silent(of types.NamespacedName) bool {
	_, failures := w.Probe(of)
	return failures > 0
}

// Connected implements cluster.Connections.
func (w workloads) Connected(of types.NamespacedName) error {
	_, err := w.Connection(of)
	return err
}

func newMachineSets(s *shared) (runnable, error) {
	return machineset.New(machineset.Deps{
		Client: s.client, Informers: s.informers, External: s.reach.kinds, Recorder: s.recorder, CreationsPerMinute: s.options.Workloads.MachineCreations,
	})
}

func newMachineDeployments(s *shared) (runnable, error) {
	return machinedeployment.New(machinedeployment.Deps{Client: s.client, Informers: s.informers, Recorder: s.recorder})
}

func newMachineHealthChecks(s *shared) (runnable, error) {
	return healthcheck.New(healthcheck.Deps{
		Client: s.client, Informers: s.informers, Nodes: workloads{s.reach.clusters}, External: s.reach.kinds, Recorder: s.recorder,
	})
}

func newClusters(s *shared) (runnable, error) {
	return cluster.New(cluster.Deps{
		Client: s.client, Informers: s.informers, Connections: workloads{s.reach.clusters}, Recorder: s.recorder, Grace: s.options.Workloads.Grace,
		External: func(ctx context.Context, handler cache.ResourceEventHandler) cluster.External {
			return contract.NewObjects(ctx, s.reach.kinds, handler)
		},
	})
}
