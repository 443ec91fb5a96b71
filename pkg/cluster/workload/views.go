// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Node returns the Node of a Cluster with the given provider ID and name, or nil if it does not exist. An error means
// that this is currently unknown.
func (c *Clusters) Node(cluster types.NamespacedName, providerID, name string) (*corev1.Node, error) {
	nodes, err := c.nodesOf(cluster, providerID, name)
	for _, node := range nodes {
		if node.Name == name {
			return &node.Node, err
		}
	}
	return nil, err
}

// HasNode reports whether a Cluster has a Node with a provider ID. An error means that this is currently unknown.
func (c *Clusters) HasNode(cluster types.NamespacedName, providerID string) (bool, error) {
	nodes, err := c.nodesOf(cluster, providerID, "")
	return len(nodes) > 0, err
}

func (c *Clusters) nodesOf(cluster types.NamespacedName, providerID, name string) ([]*Node, error) {
	connection, err := c.Connection(cluster)
	if err != nil {
		return nil, err
	}
	return connection.Nodes(providerID, name)
}

// IsSilent reports whether the last probe of a Cluster failed, so that its cached Nodes may be outdated.
func (c *Clusters) IsSilent(cluster types.NamespacedName) bool {
	_, failures := c.Probe(cluster)
	return failures > 0
}

// ConnectionError returns nil if a Cluster is connected, and otherwise the reason why it is not.
func (c *Clusters) ConnectionError(cluster types.NamespacedName) error {
	_, err := c.Connection(cluster)
	return err
}
