// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Node returns the Node of a Cluster with the given provider ID and name, or nil if it does not exist. An error means
// that this is currently unknown.
func (c *Clusters) Node(of types.NamespacedName, providerID, name string) (*corev1.Node, error) {
	nodes, err := c.nodesOf(of, providerID, name)
	for _, node := range nodes {
		if node.Name == name {
			return &node.Node, err
		}
	}
	return nil, err
}

// HasNode reports whether a Cluster has a Node with a provider ID. An error means that this is currently unknown.
func (c *Clusters) HasNode(of types.NamespacedName, providerID string) (bool, error) {
	nodes, err := c.nodesOf(of, providerID, "")
	return len(nodes) > 0, err
}

func (c *Clusters) nodesOf(of types.NamespacedName, providerID, name string) ([]*Node, error) {
	connection, err := c.Connection(of)
	if err != nil {
		return nil, err
	}
	return connection.Nodes(providerID, name)
}

// IsSilent reports whether the last probe of a Cluster failed. Its Nodes are then the last known ones.
func (c *Clusters) IsSilent(of types.NamespacedName) bool {
	_, failures := c.Probe(of)
	return failures > 0
}

// ConnectionError returns nil if a Cluster is connected, and otherwise the reason why it is not.
func (c *Clusters) ConnectionError(of types.NamespacedName) error {
	_, err := c.Connection(of)
	return err
}
